import Basis
import Postgres

extension MessageStore {
    /// Messages for which one transaction makes plans.
    private static let fallenMax: Int64 = 500

    /// Makes plans for the messages whose due time has come; returns how many. They reach every registration that
    /// exists now.
    @discardableResult
    package func fallDue(now: WallInstant? = nil) async throws(StoreFault) -> Int {
        let query = Query(ScheduleSQL.fallDue) {
            $0.instant(now)
            $0.int64(Self.fallenMax)
        }
        let (pool, steps) = (pool, steps)
        var count = 0
        while true {
            let fallen = try await translating { () throws(PostgresError) in
                try await pool.retryingConflicts { () throws(PostgresError) in
                    try await pool.count(of: query, announcing: .scheduleWritten, to: steps) {
                        rows throws(PostgresError) in Int(try rows.int64(0, 0))
                    }
                }
            }
            guard fallen > 0 else { break }
            steps?.reached(.scheduleCommitted)
            count += fallen
            notifier.notify(.plan)
        }
        return count
    }

    /// Returns the time until the next message falls due; nil: none waits for its due time.
    package func nextDue(now: WallInstant? = nil) async throws(StoreFault) -> Duration? {
        let query = Query(ScheduleSQL.next) { $0.instant(now) }
        let pool = pool
        return try await translating { () throws(PostgresError) in
            try await pool.read(query).int64OrNil(0, 0).map { .microseconds($0) }
        }
    }
}
