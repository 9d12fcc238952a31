import Foundation
import Synchronization
import TestSupport

/// A program that a test started: its output, its exit, and a way to kill it. It never outlives its owner.
final class Child: Sendable {
    private let exitStatus = Mutex<ExitStatus?>(nil)
    private let process: Locked<Process>
    let name: String
    /// The file of its standard error, for reading after a failure.
    let errorLog: URL
    /// A file, because a pipe would be read by Foundation's callbacks, which race with its closing.
    private let output: URL

    enum ExitStatus: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    init(_ name: String, _ executable: URL, _ arguments: [String], environment: [String: String], logs: URL) throws {
        self.name = name
        let file = "\(name)-\(UUID().uuidString.prefix(8))"
        errorLog = logs.appending(path: file + ".log")
        output = logs.appending(path: file + ".out")
        for file in [errorLog, output] {
            _ = FileManager.default.createFile(atPath: file.path(percentEncoded: false), contents: nil)
        }
        let process = Process()
        self.process = Locked(process)
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errorLog)
        // Children that ask for it exit when this pipe closes: when the test dies for any reason.
        process.standardInput = Pipe()
        process.terminationHandler = { [weak self] process in
            let status = process.terminationStatus
            self?.ended(process.terminationReason == .exit ? .exited(status) : .killed(signal: status))
        }
        try process.run()
    }

    deinit {
        if isAlive { kill(SIGKILL) }
    }

    var processID: Int32 { process.withLock { $0.processIdentifier } }
    var terminalStatus: ExitStatus? { exitStatus.withLock { $0 } }
    var isAlive: Bool { terminalStatus == nil }
    /// Only complete lines.
    var lines: [String] {
        let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Sends the signal to this one process, by its id.
    func kill(_ signal: Int32) {
        guard isAlive else { return }
        _ = Glibc.kill(processID, signal)
    }

    func line(beginningWith prefix: String, within bound: Duration = .seconds(60)) async throws -> String {
        try await eventually("\(name) to print \(prefix)...; it \(summary)", within: bound) {
            self.hasLine(prefix) || !self.isAlive
        }
        guard let line = lines.first(where: { $0.hasPrefix(prefix) }) else {
            throw TookTooLong(
                description:
                    "\(name) ended (\(String(describing: terminalStatus))) without printing \(prefix)...; \(summary)")
        }
        return line
    }

    func end(within bound: Duration = .seconds(60)) async throws -> ExitStatus {
        try await eventually("\(name) to end", within: bound) { !self.isAlive }
        return terminalStatus ?? .exited(-1)
    }

    /// Waits until the kernel reports the process as stopped.
    func frozen(within bound: Duration = .seconds(60)) async throws {
        try await eventually("\(name) to freeze", within: bound) {
            let stat = (try? String(contentsOfFile: "/proc/\(self.processID)/stat", encoding: .utf8)) ?? ""
            return stat.split(separator: ")").last?.split(separator: " ").first == "T"
        }
    }

    private var summary: String { "wrote to \(errorLog.path(percentEncoded: false))" }
    private func hasLine(_ prefix: String) -> Bool { lines.contains { $0.hasPrefix(prefix) } }

    private func ended(_ terminalStatus: ExitStatus) { exitStatus.withLock { $0 = terminalStatus } }
}

/// Foundation's Process is not Sendable; only one of its methods is called at a time here.
private final class Locked<Value>: @unchecked Sendable {
    private let value: Value
    private let lock = NSLock()
    init(_ value: Value) { self.value = value }
    func withLock<R>(_ body: (Value) -> R) -> R { lock.withLock { body(value) } }
}
