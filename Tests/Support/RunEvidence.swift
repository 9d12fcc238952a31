import Foundation
import Synchronization

/// The evidence that scripts/test searches after all tests: logs of the programs that they started, and secrets that no
/// log may contain. Outside of such a run nothing is kept. The files are named after the calling suite.
package enum RunEvidence {
    private static let folder = ProcessInfo.processInfo.environment["CARILLON_RUN_FOLDER"].map { URL(filePath: $0) }
    /// The secrets written so far, by suite.
    private static let known = Mutex<[Substring: Set<String>]>([:])

    /// Records tokens, keys and payloads that a test uses. For many that begin or end alike, the common part is enough.
    package static func secrets(_ secrets: [String], fileID: String = #fileID) {
        guard let folder else { return }
        let suite = suite(of: fileID)
        known.withLock { known in
            let new = secrets.filter { known[suite, default: []].insert($0).inserted && !$0.isEmpty }
            guard !new.isEmpty else { return }
            let place = folder.appending(path: "secrets")
            try? FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let file = place.appending(path: "\(suite)-\(ProcessInfo.processInfo.processIdentifier)")
            // Writes the whole list each time: a process has few secrets.
            try? Data(known[suite, default: []].sorted().map { $0 + "\n" }.joined().utf8).write(to: file)
        }
    }

    /// Moves the logs out of a folder that is about to be removed. PostgreSQL's log may lie one folder deeper.
    package static func keep(logsBelow path: String, fileID: String = #fileID) {
        guard let folder else { return }
        let place = URL(filePath: path)
        let reported = folder.appending(path: "told")
        try? FileManager.default.createDirectory(at: reported, withIntermediateDirectories: true)
        for name in names(in: place) {
            let inside = place.appending(path: name)
            for log in [inside] + (name == "postgres" ? [] : names(in: inside).map { inside.appending(path: $0) })
            where log.pathExtension == "log" {
                let kept = "\(suite(of: fileID))-\(UUID().uuidString.prefix(8))-\(log.lastPathComponent)"
                try? FileManager.default.moveItem(at: log, to: reported.appending(path: kept))
            }
        }
    }

    private static func suite(of fileID: String) -> Substring { fileID.prefix { $0 != "/" } }

    private static func names(in place: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: place.path(percentEncoded: false))) ?? []
    }
}
