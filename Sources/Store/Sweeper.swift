import DeliveryRules
import Postgres
import PushModel

/// Retention: takes away what has served its time, and what is left of deleted apps, a bounded number of rows a call.
package struct Sweeper: Sendable {
    /// A repeated request finds its first answer for this long (P10).
    package static let idempotencyKept: Duration = .seconds(48 * 3_600)
    /// Longer than the longest window of a suspicion, by as much as its judge may be away.
    package static let routeMinutesKept: Duration = SuspicionRule.windowMax + .seconds(7 * 86_400)
    /// What a message said, and the tokens that it named itself, once it is over: as long as the longest time to live,
    /// and two days to look into it.
    package static let contentsKept: Duration = .seconds(30 * 86_400)
    /// Rows of one table a call: a sweep never holds many locks.
    static let rowsMax: Int64 = 5_000

    private let pool: PostgresPool
    package init(pool: PostgresPool) { self.pool = pool }

    /// How long the history of a message's pushes is kept, unless the settings say otherwise: a support case comes weeks
    /// after its push.
    package static let historyDays: Int64 = 30

    /// How many rows went. Worth repeating at once while it is as many as `rowsMax`.
    package func sweep(
        historyDays: Int64 = Sweeper.historyDays, now: WallInstant? = nil
    ) async throws(StoreFault) -> Int {
        let queries = [
            Query(HousekeepingSQL.sweepIdempotencyKeys) {
                $0.instant(now)
                $0.int64(Self.idempotencyKept.wholeMicroseconds)
                $0.int64(Self.rowsMax)
            },
            Query(HousekeepingSQL.sweepRouteMinutes) {
                $0.instant(now)
                $0.int64(Self.routeMinutesKept.wholeMicroseconds)
                $0.int64(Self.rowsMax)
            },
            Query(HousekeepingSQL.sweepContents) { $0.contents(now) },
            Query(HousekeepingSQL.sweepInlineTargets) { $0.contents(now) },
            Query(HousekeepingSQL.sweepLaneBlocks) {
                $0.instant(now)
                $0.int64(Self.rowsMax)
            },
        ]
        let pool = pool
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.run(queries)
            let strays = try await HistoryPartitions(pool: pool).keep(daysKept: historyDays, now: now)
            let removed = try await AppRemover(pool: pool).removeSome()
            return answers.reduce(strays + removed) { $0 + $1.affectedRows }
        }
    }
}

extension Parameters {
    fileprivate mutating func contents(_ now: WallInstant?) {
        instant(now)
        int64(Sweeper.contentsKept.wholeMicroseconds)
        int64(Sweeper.rowsMax)
    }
}

extension Duration {
    /// As the statements take durations. Saturates with `wholeNanoseconds`.
    var wholeMicroseconds: Int64 { wholeNanoseconds / 1_000 }
}
