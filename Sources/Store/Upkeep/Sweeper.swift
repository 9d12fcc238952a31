import Basis
import Model
import Postgres
import RegistryRules

/// Retention: removes outlived rows and the rows of deleted apps, a bounded number per call.
package struct Sweeper: Sendable {
    /// The time for which a repeated request finds its first answer (P10).
    package static let idempotencyKept: Duration = .seconds(48 * 3_600)
    /// Longer than the longest window of a suspicion, by as much as its judge may be away.
    package static let routeMinutesKept: Duration = SuspicionRule.windowMax + .seconds(7 * 86_400)
    /// The time for which the gateway's own messages can be looked at, and the registrations that they go to are kept.
    package static let wakeUpsKept: Duration = .seconds(3 * 86_400)
    /// The rows of one table per call: a sweep never holds many locks.
    static let rowsMax: Int64 = 5_000

    let pool: PostgresPool

    /// Sweeps until nothing is left, at most `rounds` times.
    ///
    /// - Returns: whether something may be left. An app of ten million devices takes thousands of rounds, and the
    ///   caller has other work.
    package func sweep(_ retention: Retention, rounds: Int, now: WallInstant? = nil) async throws(StoreFault) -> Bool {
        for _ in 0..<rounds where !Task.isCancelled {
            if try await sweep(retention, now: now) == 0 { return false }
        }
        return true
    }

    /// Returns the number of removed rows. While it is not zero, repeating at once is worthwhile.
    package func sweep(_ retention: Retention, now: WallInstant? = nil) async throws(StoreFault) -> Int {
        precondition(retention.contentDays > 0 && retention.feedbackDays > 0)
        let contentKept = Self.days(retention.contentDays)
        let aged = [
            Query(HousekeepingSQL.sweepIdempotencyKeys) { $0.rows(olderThan: Self.idempotencyKept, now) },
            Query(HousekeepingSQL.sweepRouteMinutes) { $0.rows(olderThan: Self.routeMinutesKept, now) },
            Query(HousekeepingSQL.sweepContents) { $0.rows(olderThan: contentKept, now) },
            Query(HousekeepingSQL.sweepWakeUps) { $0.rows(olderThan: Self.wakeUpsKept, now) },
            Query(HousekeepingSQL.sweepIdleSubscribers) { $0.rows(olderThan: Self.wakeUpsKept, now) },
            Query(HousekeepingSQL.sweepInlineTargets) { $0.rows(olderThan: contentKept, now) },
        ]
        let ended = [LimitSQL.sweep, HousekeepingSQL.sweepLaneBlocks, ProgressSQL.sweepOutages].map { statement in
            Query(statement) {
                $0.instant("now", now)
                $0.int64("limit", Self.rowsMax)
            }
        }
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.run(aged + ended)
            let strays = try await HistoryPartitions(pool: pool).maintain(daysKept: retention.historyDays, now: now)
            let entries = try await sweepFeedback(retention.feedbackDays, now)
            let removed = try await AppRemover(pool: pool).removeSome()
            let values = try await sweepOwnValues()
            return answers.reduce(strays + entries + removed + values) { $0 + $1.affectedRows }
        }
    }
}

extension Sweeper {
    /// An entry that was never read has no number yet, so a reader could not see that it is missing. It gets its number
    /// before it goes.
    private func sweepFeedback(_ days: Int64, _ now: WallInstant?) async throws(PostgresError) -> Int {
        let kept = Self.days(days)
        let outlived = try await pool.read(Query(FeedbackSQL.outlived) { $0.rows(olderThan: kept, now) })
            .one { row throws(PostgresError) in (count: try row.int64(), unnumbered: try row.int64Array()) }
        guard outlived.count > 0 else { return 0 }
        let feedback = FeedbackStore(pool: pool)
        for app in outlived.unnumbered { try await feedback.number(AppID(app)) }
        let sweep = Query(FeedbackSQL.sweep) { $0.rows(olderThan: kept, now) }
        return Int(try await pool.retryingRun(sweep).one(Int64.init))
    }

    /// Own values go as soon as their message is over: they may be as large as all else that is kept of it.
    private func sweepOwnValues() async throws(PostgresError) -> Int {
        try await pool.retryingRun([
            Query(PlannerSQL.throughKeys),
            Query(OwnValueSQL.sweep) { $0.int64("limit", OwnValueSQL.chunksPerSweepMax) },
            Query(OwnValueSQL.forget) { $0.int64("limit", Self.rowsMax) },
        ])[1].affectedRows
    }

    private static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}

extension Parameters {
    fileprivate mutating func rows(olderThan age: Duration, _ now: WallInstant?) {
        instant("now", now)
        int64("age_us", age.wholeMicroseconds)
        int64("limit", Sweeper.rowsMax)
    }
}

extension Duration {
    /// A duration in the unit of the statements. Saturates with `wholeNanoseconds`.
    package var wholeMicroseconds: Int64 { wholeNanoseconds / 1_000 }
}
