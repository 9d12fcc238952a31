import Foundation
import Synchronization
import UnixSignals

/// Ends a command at Ctrl-C with lines that say which messages go on without it, and how to stop them.
final class Interruption: Sendable {
    /// The exit code that shells give a command that SIGINT ended.
    static let exitCode: Int32 = 130

    private let lines = Mutex<[String]>([])

    /// A message is on its way to the gateway.
    func mayLeave(app: String) {
        lines.withLock { $0 = ["The message may have been accepted. To see: carillon messages list --app \(app)"] }
    }

    /// - Parameter ids: the messages that go on if the command ends now.
    func willLeave(_ ids: [String], app: String) {
        let text = ids.flatMap { id in
            [
                "The message continues. To stop it: carillon messages cancel \(id) --app \(app)",
                "To follow it: carillon messages watch \(id) --app \(app)",
            ]
        }
        lines.withLock { $0 = text }
    }

    /// Traps SIGINT for the rest of the program: once trapped, the signal does nothing by itself any more.
    func trap() async -> Task<Void, Never> {
        let signals = await UnixSignalsSequence(trapping: .sigint)
        return Task {
            for await _ in signals {
                Console.remark("")
                for line in lines.withLock({ $0 }) { Console.remark(line) }
                Foundation.exit(Self.exitCode)
            }
        }
    }
}
