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
            $0.instant("now", now)
            $0.int64("limit", Self.fallenMax)
        }
        var count = 0
        while true {
            let fallen = Int(try await translated(await pool.retryingRun(query).one(Int64.init)))
            guard fallen > 0 else { break }
            steps?.reached(.scheduleCommitted)
            count += fallen
            notifier.notify(.plan)
        }
        return count
    }

    /// Returns the time until the next message falls due; nil: none waits for its due time.
    package func nextDue(now: WallInstant? = nil) async throws(StoreFault) -> Duration? {
        let query = Query(ScheduleSQL.next) { $0.instant("now", now) }
        let micros = try await translated(await pool.read(query).first { row throws(PostgresError) in try row.int64() })
        return micros.map { .microseconds($0) }
    }
}
