import Foundation
import Synchronization
import UnixSignals

/// Programs that a command starts: the gateway's executable in its roles. They end with the command.
package final class ChildPrograms: Sendable {
    package let executable: String
    private struct State {
        var children: [Child] = []
        /// The signal that asked for the end. After it no program is started.
        var asked: Int32?
    }

    private let state = Mutex(State())

    /// - Parameter name: an executable in this program's folder; nil: this program itself.
    private init(_ name: String?) {
        let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        executable = (name.map { own.deletingLastPathComponent().appending(path: $0) } ?? own).path
    }

    private static let timeout: Duration = .seconds(120)
    private static let pause: Duration = .milliseconds(50)

    package struct Child: Sendable {
        package let name: String
        package let process: ProcessHandle
        package let output: String
        package let log: String

        package var lastOutput: String {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").suffix(3).joined(separator: "; ")
        }
    }

    /// A Foundation process that can be queried from any thread.
    package final class ProcessHandle: Sendable {
        private let process: Mutex<Process>

        package let id: Int32

        package init(_ process: sending Process) {
            id = process.processIdentifier
            self.process = Mutex(process)
        }

        package var isRunning: Bool { process.withLock { $0.isRunning } }
        /// nil: it is running.
        package var exitCode: Int32? { process.withLock { $0.isRunning ? nil : $0.terminationStatus } }
        package func terminate() { process.withLock { if $0.isRunning { $0.terminate() } } }
    }

    package func start(
        _ name: String, _ arguments: [String], _ environment: [String: String], in folder: OwnFolder
    ) throws(CommandFault) -> Child {
        let (output, log) = (folder.file(name + ".out"), folder.file(name + ".log"))
        for file in [output, log] { _ = FileManager.default.createFile(atPath: file, contents: nil) }
        let process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
        process.environment = Self.inherited.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: log)
        do { try process.run() } catch { throw CommandFault(.failed, "\(executable) can't be started: \(error)") }
        let child = Child(name: name, process: ProcessHandle(process), output: output, log: log)
        let (ids, isTooLate) = state.withLock { state in
            state.children.append(child)
            return (state.children.map { String($0.process.id) }, state.asked != nil)
        }
        if isTooLate {
            child.process.terminate()
            throw CommandFault(.failed, "\(name) was stopped while it was starting")
        }
        try? Data(ids.joined(separator: "\n").utf8).write(to: URL(filePath: folder.file(Self.idsFile)))
        return child
    }

    private static let idsFile = "children"

    /// Ends the programs that a killed command left behind. They would go on delivering to stand-ins that are gone.
    package static func endLeftovers(in folder: OwnFolder) async {
        let text = (try? String(contentsOfFile: folder.file(idsFile), encoding: .utf8)) ?? ""
        for id in text.split(separator: "\n").compactMap({ Int32($0) }) where isLeftover(id, of: folder) {
            kill(id, SIGTERM)
            while isLeftover(id, of: folder) { try? await Task.sleep(for: pause) }
        }
    }

    /// Whether the id belongs to a process that has this folder's output open. Process ids are reused.
    private static func isLeftover(_ id: Int32, of folder: OwnFolder) -> Bool {
        let output = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/fd/1")) ?? ""
        return output.hasPrefix(URL(filePath: folder.path).resolvingSymlinksInPath().path + "/")
    }

    /// This process's own gateway settings must not affect the children.
    private static let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("CARILLON_") }

    /// Waits until `probe` returns a value, and returns it; nil if the child ended first.
    package func wait<Found>(for child: Child, _ probe: () -> Found?) async throws -> Found? {
        let clock = ContinuousClock()
        let limit = clock.now + Self.timeout
        while clock.now < limit {
            if let found = probe() { return found }
            guard child.process.isRunning else { return probe() }
            try await Task.sleep(for: Self.pause)
        }
        throw CommandFault(.failed, "\(child.name) was not ready within two minutes; its log is \(child.log)")
    }

    /// Takes a program off the list whose end is expected: it found its port taken, and another one has its place.
    func forget(_ child: Child) {
        state.withLock { state in state.children.removeAll { $0.process.id == child.process.id } }
    }

    /// Runs the body, and ends the programs that it started, also if it throws.
    package static func running(
        executable name: String? = nil, _ body: (ChildPrograms) async throws -> Void
    ) async throws {
        let children = ChildPrograms(name)
        let outcome = await Result(of: { try await body(children) })
        await children.stop()
        // The signal's task ends this program. The body's failure is then expected and not reported.
        while children.state.withLock({ $0.asked }) != nil { try? await Task.sleep(for: Self.timeout) }
        try outcome.get()
    }

    /// Stops the last started first: the gateway before the stand-ins that it sends to.
    private func stop() async {
        // The next round finds a program that was started meanwhile.
        while let child = state.withLock({ $0.children.last(where: \.process.isRunning) }) {
            child.process.terminate()
            while child.process.isRunning { try? await Task.sleep(for: Self.pause) }
        }
    }

    /// On SIGINT or SIGTERM, ends the children and this program. For commands that have nothing else to clean up.
    package func endWhenAsked() async {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        // Runs until this program ends.
        Task {
            for await signal in signals {
                state.withLock { $0.asked = signal.rawValue }
                await stop()
                // The exit code that shells give a command that a signal ended.
                exit(128 + signal.rawValue)
            }
        }
    }

    /// Waits until a signal asks for the end, or a child ends by itself.
    package func stayUp() async throws {
        let (asked, end) = AsyncStream.makeStream(of: Void.self)
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let reader = Task {
            for await _ in signals { end.yield() }
        }
        let children = state.withLock { $0.children }
        let watching = Task {
            while children.allSatisfy(\.process.isRunning) { try await Task.sleep(for: .milliseconds(500)) }
            end.yield()
        }
        for await _ in asked { break }
        watching.cancel()
        reader.cancel()
        if let ended = children.first(where: { !$0.process.isRunning }), !ended.lastOutput.isEmpty {
            throw CommandFault(.failed, "\(ended.name) ended: \(ended.lastOutput)")
        }
    }
}
