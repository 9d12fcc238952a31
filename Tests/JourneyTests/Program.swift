import Foundation
import JSON
import Synchronization
import TestSupport

/// A gateway as a separate process: its output, its memory, and a way to kill it. It never outlives its owner.
final class Program: Sendable {
    private let exitStatus: ExitStatusBox
    let processID: Int32
    private let errorLog: URL
    /// A file, because a pipe would be read by Foundation's callbacks, which race with its closing.
    private let output: URL

    enum ExitStatus: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// The products lie beside the test bundle.
    private static let products = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    /// The environment inherits little: no variable of the user who runs the tests has an effect.
    private static let inherited = ProcessInfo.processInfo.environment.filter { name, _ in
        ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CARILLON_RUN_FOLDER"].contains(name)
    }

    /// The program to run.
    enum Release {
        case this
        /// The previous release, which scripts/test built from the commit that Tests/Upgrade/previous-release names.
        case previous
    }

    /// nil if there is none here.
    static let previousExecutable = ProcessInfo.processInfo.environment["CARILLON_PREVIOUS_PROGRAM"].map {
        URL(filePath: $0)
    }
    static let whyNoPrevious =
        ProcessInfo.processInfo.environment["CARILLON_NO_PREVIOUS_PROGRAM"]
        ?? "CARILLON_PREVIOUS_PROGRAM names no program of the previous release; scripts/test builds it"

    /// - Parameters:
    ///   - tool: the program's name among the products.
    ///   - settings: names without the prefix `CARILLON_`.
    init(
        _ arguments: [String], tool: String = "carillon", of release: Release = .this,
        in network: NetworkNamespace? = nil, settings: [String: String], logs: URL
    ) throws {
        let name = "carillon-\(UUID().uuidString.prefix(8))"
        // A command shows on standard error what it is asked about, a message's text too. A gateway's log may not.
        errorLog = logs.appending(path: name + (arguments.first == "serve" ? ".log" : ".err"))
        output = logs.appending(path: name + ".out")
        for file in [errorLog, output] {
            _ = FileManager.default.createFile(atPath: file.path(percentEncoded: false), contents: nil)
        }
        let process = Process()
        process.executableURL = release == .this ? Self.products.appending(path: tool) : Self.previousExecutable
        process.arguments = arguments
        if let network { try network.enter(process) }
        var environment = Self.inherited
        for (name, value) in settings { environment["CARILLON_" + name] = value }
        process.environment = environment
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errorLog)
        process.standardInput = FileHandle.nullDevice
        let exitStatus = ExitStatusBox()
        self.exitStatus = exitStatus
        process.terminationHandler = { process in
            let status = process.terminationStatus
            exitStatus.end(process.terminationReason == .exit ? .exited(status) : .killed(signal: status))
        }
        try process.run()
        processID = process.processIdentifier
    }

    deinit { kill(SIGKILL) }

    var isAlive: Bool { exitStatus.terminalStatus == nil }

    /// Only complete lines.
    private var lines: [String] {
        let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Everything that it printed, once it has ended.
    var printed: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

    /// Sends the signal to this one process, by its id.
    func kill(_ signal: Int32) {
        guard isAlive else { return }
        _ = Glibc.kill(processID, signal)
    }

    func line(beginningWith prefix: String) async throws -> String {
        try await foundEventually("a line \"\(prefix)...\" of the gateway; its log: \(loggedLast)") {
            if let line = lines.first(where: { $0.hasPrefix(prefix) }) { return line }
            guard isAlive else { throw TookTooLong(description: "the gateway ended: \(loggedLast)") }
            return nil
        }
    }

    /// Waits until the gateway reports where it listens.
    func address(isLogInJSON: Bool) async throws -> String {
        if isLogInJSON { return "http://" + (try await loggedObject("Started")["listen"]?.string ?? "") }
        return String(try await line(beginningWith: "carillon is ready on ").split(separator: " ").last ?? "")
    }

    /// A line of a log in JSON.
    func loggedObject(_ message: String) async throws -> JSONObject {
        try await foundEventually("a line \"\(message)\" in the log: \(loggedLast)") {
            let lines = logged.split(separator: "\n").compactMap { try? JSONReader.read(Array($0.utf8)).object }
            if let line = lines.first(where: { $0["message"]?.string == message }) { return line }
            guard isAlive else { throw TookTooLong(description: "the gateway ended: \(loggedLast)") }
            return nil
        }
    }

    func end() async throws -> ExitStatus {
        try await foundEventually("the gateway to end") { exitStatus.terminalStatus }
    }

    /// The most memory that it has held.
    func residentPeakMiB() throws -> Int { try mebibytes("VmHWM:") }

    /// The memory that it holds.
    func residentMiB() throws -> Int { try mebibytes("VmRSS:") }

    private func mebibytes(_ field: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
        guard let text = line?.split(separator: " ").dropLast().last, let kilobytes = Int(text) else {
            throw TookTooLong(description: "the kernel has no \(field) of process \(processID)")
        }
        return (kilobytes + 1_023) / 1_024
    }

    /// Everything that it has logged so far.
    var logged: String { (try? String(contentsOf: errorLog, encoding: .utf8)) ?? "" }

    /// The end of its log, for the message of a failure.
    var loggedLast: String {
        logged.split(separator: "\n").suffix(12).joined(separator: "\n")
    }
}

/// Receives Foundation's callback about a process.
private final class ExitStatusBox: Sendable {
    private let state = Mutex<Program.ExitStatus?>(nil)

    func end(_ terminalStatus: Program.ExitStatus) { state.withLock { $0 = terminalStatus } }
    var terminalStatus: Program.ExitStatus? { state.withLock { $0 } }
}
