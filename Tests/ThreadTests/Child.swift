import Foundation
import Synchronization

/// A program that a test started: its lines, its end, and its end by our hand. Never outlives its owner.
final class Child: Sendable {
    private let state = Mutex(State())
    private let process: Locked<Process>
    let name: String
    /// Where its standard error goes, for whoever reads a failure.
    let errorLog: URL

    private struct State {
        var lines: [String] = []
        var partial: [UInt8] = []
        var ending: Ending?
    }

    enum Ending: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    init(_ name: String, _ executable: URL, _ arguments: [String], environment: [String: String], logs: URL) throws {
        self.name = name
        errorLog = logs.appending(path: "\(name)-\(UUID().uuidString.prefix(8)).log")
        _ = FileManager.default.createFile(atPath: errorLog.path(percentEncoded: false), contents: nil)
        let process = Process()
        self.process = Locked(process)
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errorLog)
        // Children that ask for it end when this pipe does: when the test dies, however it dies.
        process.standardInput = Pipe()
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let bytes = handle.availableData
            if bytes.isEmpty { handle.readabilityHandler = nil }
            self?.take(Array(bytes))
        }
        process.terminationHandler = { [weak self] process in
            let status = process.terminationStatus
            self?.ended(process.terminationReason == .exit ? .exited(status) : .killed(signal: status))
        }
        try process.run()
    }

    deinit {
        if state.withLock({ $0.ending == nil }) { kill(SIGKILL) }
    }

    var processID: Int32 { process.withLock { $0.processIdentifier } }
    var ending: Ending? { state.withLock { $0.ending } }
    var isAlive: Bool { ending == nil }
    var lines: [String] { state.withLock { $0.lines } }

    /// The signal goes to this one process, by its id.
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
                description: "\(name) ended (\(String(describing: ending))) without printing \(prefix)...; \(summary)")
        }
        return line
    }

    func end(within bound: Duration = .seconds(60)) async throws -> Ending {
        try await eventually("\(name) to end", within: bound) { !self.isAlive }
        return ending ?? .exited(-1)
    }

    /// Waits for the very state of a stopped process, as the kernel tells it.
    func frozen(within bound: Duration = .seconds(60)) async throws {
        try await eventually("\(name) to freeze", within: bound) {
            let stat = (try? String(contentsOfFile: "/proc/\(self.processID)/stat", encoding: .utf8)) ?? ""
            return stat.split(separator: ")").last?.split(separator: " ").first == "T"
        }
    }

    private var summary: String { "wrote to \(errorLog.path(percentEncoded: false))" }
    private func hasLine(_ prefix: String) -> Bool { lines.contains { $0.hasPrefix(prefix) } }

    private func take(_ bytes: [UInt8]) {
        state.withLock { state in
            state.partial += bytes
            while let end = state.partial.firstIndex(of: UInt8(ascii: "\n")) {
                state.lines.append(String(decoding: state.partial[..<end], as: UTF8.self))
                state.partial.removeSubrange(...end)
            }
        }
    }

    private func ended(_ ending: Ending) { state.withLock { $0.ending = ending } }
}

/// Foundation's Process is no Sendable; only one of its methods at a time is called here.
private final class Locked<Value>: @unchecked Sendable {
    private let value: Value
    private let lock = NSLock()
    init(_ value: Value) { self.value = value }
    func withLock<R>(_ body: (Value) -> R) -> R { lock.withLock { body(value) } }
}
