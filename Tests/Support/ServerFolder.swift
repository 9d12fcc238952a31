import Foundation
import Glibc
import Synchronization

/// The folder of a private PostgreSQL of the tests. It is removed when the test process ends.
package enum ServerFolder {
    /// The path before the unique part of the name. A run of scripts/test has a folder for it.
    private static let prefix = (folderOfRound ?? "/tmp") + "/carillon-server-"
    private static let folderOfRound: String? = {
        let environment = ProcessInfo.processInfo.environment
        return environment["CARILLON_RUN_FOLDER"] == nil ? nil : environment["TMPDIR"]
    }()

    /// Makes a folder that the server's user can read. Its name contains this process's id, so that a later run
    /// recognises leftovers.
    package static func make() throws -> String {
        var template = Array("\(prefix)\(getpid())-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, 0o755)
        return path
    }

    /// The folders to remove when this process ends, each with the suite that keeps its logs.
    private static let leftAtExit = Mutex<[(folder: String, evidence: String?)]>([])

    /// - Parameter evidence: the file of the suite that keeps the server's log (`RunEvidence`); nil: the log is not
    ///   kept.
    package static func removeAtExit(_ folder: String, evidence: String? = nil) {
        leftAtExit.withLock { folders in
            if folders.isEmpty {
                atexit {
                    ServerFolder.leftAtExit.withLock { folders in
                        for left in folders { ServerFolder.leave(left.folder, evidence: left.evidence) }
                    }
                }
            }
            folders.append((folder, evidence))
        }
    }

    /// Kills the server of the folder, and removes everything.
    package static func destroy(_ folder: String) { end(folder, alsoRemoving: folder) }

    /// Kills the server. Removing hundreds of databases takes a minute: scripts/test does it beside the next round.
    private static func leave(_ folder: String, evidence: String?) {
        end(folder, evidence: evidence, alsoRemoving: folderOfRound == nil ? folder : "")
    }

    private static func end(_ folder: String, evidence: String? = nil, alsoRemoving removed: String) {
        let file = PostmasterFile(in: folder)
        if let process = file?.process { kill(process, SIGKILL) }
        if let evidence { RunEvidence.keep(logsBelow: folder, fileID: evidence) }
        _ = unsafe system("rm -rf '\(removed)' '\(file?.socketFolder ?? "")'")
    }

    /// Removes what a killed run has left: its folders, and the servers that run in them.
    package static func sweep() {
        let script = """
            for folder in \(prefix)*; do
                owner=${folder#\(prefix)}; [ -d "/proc/${owner%%-*}" ] && continue
                server=$(head -n 1 "$folder/postgres/postmaster.pid" 2>/dev/null)
                [ "$(readlink "/proc/$server/cwd")" = "$folder/postgres" ] && kill -9 "$server"
                rm -rf "$folder"
            done
            """
        _ = unsafe system(script)
    }
}

/// The contents of a running server's `postmaster.pid`.
package struct PostmasterFile {
    package let process: Int32
    package let socketFolder: String

    /// - Parameter dataFolder: the parent of the server's folder `postgres`.
    /// - Returns: nil where no server runs, or its file is not complete yet.
    package init?(in dataFolder: String) {
        guard let text = try? String(contentsOfFile: dataFolder + "/postgres/postmaster.pid", encoding: .utf8)
        else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 4, let process = Int32(lines[0]) else { return nil }
        self.process = process
        socketFolder = String(lines[4])
    }
}
