import Foundation
import Reactor

/// The folder in which a command keeps its files. Only one command at a time may use it.
package struct OwnFolder: Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    package func file(_ name: String) -> String { path + "/" + name }

    package func locked(_ body: (OwnFolder) async throws -> Void) async throws {
        do { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) } catch {
            throw CommandFault(.usage, "the folder \(path) can't be created")
        }
        // Links there would make root create and truncate any file.
        guard geteuid() != 0 || TrustedLinks.owner(ofFolder: path) == 0 else {
            throw CommandFault(
                .usage,
                "the folder \(path) belongs to another user, or is such a user's link, and root does not write there. Run "
                    + "the command as that user, or give another --folder")
        }
        if !FileManager.default.fileExists(atPath: file("lock")) {
            _ = FileManager.default.createFile(atPath: file("lock"), contents: nil)
        }
        guard let lock = FileHandle(forUpdatingAtPath: file("lock")) else {
            throw CommandFault(.usage, "\(path) can't be written to")
        }
        defer { try? lock.close() }
        guard flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw CommandFault(.failed, "another process is using \(path); end it, or give another --folder")
        }
        await ChildPrograms.endLeftovers(in: self)
        try await body(self)
    }
}
