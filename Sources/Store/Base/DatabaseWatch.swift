import Postgres
import QueueRules
import Reactor
import Synchronization

/// Receives what all services of the process learn about the database, and reports each change once (`DatabaseStatus`).
package final class DatabaseWatch: Sendable {
    package struct Report: Sendable {
        package let news: DatabaseStatus.News
        /// Why the database can't be reached, or why the call failed; empty if it is back.
        package let reason: String
        /// The consequence of a failed call, such as "planning delayed"; nil: the report is about the database.
        package let consequence: String?
    }

    private let status = Mutex(DatabaseStatus())
    private let report: @Sendable (Report) -> Void
    /// Called whenever a call was too slow, or found no session: another session may hold a lock.
    package let delayed: @Sendable () -> Void

    package init(
        report: @escaping @Sendable (Report) -> Void = { _ in }, delayed: @escaping @Sendable () -> Void = {}
    ) { (self.report, self.delayed) = (report, delayed) }

    /// Follows the pool's attempts to connect.
    package func follow(_ pool: PostgresPool) async {
        await pool.report { [self] reason in
            let now = Clocks.monotonicNow()
            let news = status.withLock { reason == nil ? $0.connected(now) : $0.connectFailed(now) }
            if let news { report(Report(news: news, reason: reason?.text ?? "", consequence: nil)) }
        }
    }

    /// Records that a call failed, with its consequence in fixed words: "planning delayed".
    package func failed(_ consequence: String, _ fault: StoreFault) {
        guard let failure = DatabaseStatus.Failure(fault) else { return }
        if failure != .refusal { delayed() }
        let news = status.withLock { $0.callFailed(consequence, failure, Clocks.monotonicNow()) }
        if let news { report(Report(news: news, reason: "\(fault)", consequence: consequence)) }
    }
}

extension DatabaseStatus.Failure {
    /// nil: the caller gave up, and the database did not fail, or its condition is reported once by another part.
    fileprivate init?(_ fault: StoreFault) {
        switch fault {
        case .unavailable, .commitUnknown: self = .connection
        case .contended: self = .delay
        case .conflict, .invalid, .unknownApp, .damaged, .unsuited: self = .refusal
        case .impaired, .cancelled: return nil
        }
    }
}
