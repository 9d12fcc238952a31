import Basis

/// Judges, from what attempts to connect and failed calls report, what the log says about the database.
///
/// An outage is reported when it begins, again when it has lasted for `errorAfter`, and when it ends. Calls that fail
/// meanwhile are part of it. Calls that fail while the database can be reached are reported once for each kind of work,
/// and again each `repeatAfter` while they go on.
package struct DatabaseStatus: Sendable {
    /// The next line of the log.
    package enum News: Equatable, Sendable {
        /// Warning: no session can be opened.
        case lost
        /// Error: the database has been lost for so long.
        case stillLost(for: Duration)
        /// The database can be reached again.
        case back(after: Duration)
        /// Warning: this work fails although the database can be reached.
        case failed
    }

    package enum Failure: Equatable, Sendable {
        /// The connection broke, or there was none. An attempt to connect soon tells whether this is an outage.
        case connection
        /// The database did not answer in time, or a lock was held.
        case delay
        /// The database answered, and the call can't succeed.
        case refusal
    }

    private enum Reachability {
        /// The database can be reached, as far as anyone knows. → lost
        case reached
        /// The last attempt to connect failed. → reached
        case lost(since: MonotonicInstant, isErrorReported: Bool)
    }

    /// Failures of one kind of work, without a long pause between them.
    private struct Series {
        let began: MonotonicInstant
        var last: MonotonicInstant
        var reportedAt: MonotonicInstant?
    }

    /// Longer than a restart of PostgreSQL takes.
    package static let errorAfter: Duration = .seconds(30)
    /// Failures that an attempt to connect may explain wait for it this long. A caller waits as long for a connection.
    package static let patience: Duration = .seconds(5)
    package static let repeatAfter: Duration = .seconds(60)
    /// Failures further apart are not connected. Longer than the pause between two rounds of upkeep.
    package static let seriesPause: Duration = .seconds(300)

    private var reachability = Reachability.reached
    private var series: [String: Series] = [:]  // lookup only

    package init() {}

    /// Records an attempt to connect that failed.
    package mutating func connectFailed(_ now: MonotonicInstant) -> News? {
        guard case .lost(let since, let isErrorReported) = reachability else {
            reachability = .lost(since: now, isErrorReported: false)
            return .lost
        }
        guard !isErrorReported, now - since >= Self.errorAfter else { return nil }
        reachability = .lost(since: since, isErrorReported: true)
        return .stillLost(for: now - since)
    }

    /// Records an attempt to connect that succeeded.
    package mutating func connected(_ now: MonotonicInstant) -> News? {
        guard case .lost(let since, _) = reachability else { return nil }
        reachability = .reached
        series.removeAll()
        return .back(after: now - since)
    }

    /// Records a failed call.
    /// - Parameter work: a fixed text, of which there are few.
    package mutating func callFailed(_ work: String, _ failure: Failure, _ now: MonotonicInstant) -> News? {
        if failure != .refusal, case .lost = reachability { return nil }
        var own = series[work] ?? Series(began: now, last: now)
        if now - own.last > Self.seriesPause { own = Series(began: now, last: now) }
        own.last = now
        let isDue =
            if let reportedAt = own.reportedAt {
                now - reportedAt >= Self.repeatAfter
            } else {
                failure != .connection || now - own.began >= Self.patience
            }
        if isDue { own.reportedAt = now }
        series[work] = own
        return isDue ? .failed : nil
    }
}
