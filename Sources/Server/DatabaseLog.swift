import Logging
import Store

extension Logger {
    /// Logs what became of the database.
    func note(_ report: DatabaseWatch.Report) {
        switch report.news {
        case .lost: warning("Database lost: pushes wait and requests get 503", metadata: ["reason": "\(report.reason)"])
        case .stillLost(let duration):
            error(
                "Database still lost: pushes wait and requests get 503",
                metadata: ["lost_for": "\(duration.logText)", "reason": "\(report.reason)"])
        case .back(let duration):
            notice("Database is back: work continues", metadata: ["lost_for": "\(duration.logText)"])
        case .failed:
            warning(
                "Database failure: \(report.consequence ?? "work delayed")", metadata: ["fault": "\(report.reason)"])
        }
    }
}
