import Foundation
import Glibc
import Synchronization

/// A folder for a private PostgreSQL of the tests, gone with the test process.
package enum ServerFolder {
    /// What stands before the name that is unique. A run of scripts/test has a folder for it.
    private static let prefix = (folderOfRound ?? "/tmp") + "/carillon-server-"
    private static let folderOfRound: String? = {
        let environment = ProcessInfo.processInfo.environment
        return environment["CARILLON_RUN_FOLDER"] == nil ? nil : environment["TMPDIR"]
    }()

    /// Readable by the server's user; named after this process, so that a later run can tell what is left over.
    package static func make() throws -> String {
        var template = Array("\(prefix)\(getpid())-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, 0o755)
        return path
    }

    /// The folders to remove at this process's end, and the suite that wants its logs kept.
    private static let leftAtExit = Mutex<[(folder: String, evidence: String?)]>([])

    /// - Parameter evidence: the file of the suite that keeps the server's log (`RunEvidence`); nil: nobody does.
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

    /// Kills the server that lives there, and removes everything.
    package static func destroy(_ folder: String) { end(folder, alsoRemoving: folder) }

    /// Hundreds of databases take a minute to remove: scripts/test does it beside the next round.
    private static func leave(_ folder: String, evidence: String?) {
        end(folder, evidence: evidence, alsoRemoving: folderOfRound == nil ? folder : "")
    }

    private static func end(_ folder: String, evidence: String? = nil, alsoRemoving removed: String) {
        let file = PostmasterFile(in: folder)
        if let process = file?.process { kill(process, SIGKILL) }
        if let evidence { RunEvidence.keep(logsBelow: folder, fileID: evidence) }
        _ = unsafe system("rm -rf '\(removed)' '\(file?.socketFolder ?? "")'")
    }

    /// Removes what a run that was killed has left: its folders, and the servers that live in them.
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

/// What a running server's own file says.
package struct PostmasterFile {
    package let process: Int32
    package let socketFolder: String

    /// - Parameter dataFolder: the parent of the server's folder `postgres`.
    /// - Returns: nil where no server runs, or its file is not whole yet.
    package init?(in dataFolder: String) {
        guard let text = try? String(contentsOfFile: dataFolder + "/postgres/postmaster.pid", encoding: .utf8)
        else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 4, let process = Int32(lines[0]) else { return nil }
        self.process = process
        socketFolder = String(lines[4])
    }
}
