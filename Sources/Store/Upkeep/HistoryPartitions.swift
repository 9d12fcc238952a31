import Basis
import Encodings
import Postgres

/// The partitions of the history: one for each day's messages. A partition is made ahead of its day, and dropped when
/// all its messages are older than their retention.
struct HistoryPartitions: Sendable {
    /// The days that are made ahead of today. A gateway may be off for that long before rows lie in the default
    /// partition.
    static let daysAhead: Int64 = 3
    /// The longest that a settle may wait behind a change of partitions: about its own commit on a slow disk.
    private static let lockWait = "100ms"
    /// A gateway that was off for a month finds many partitions. Each drop locks the table, and settles come between.
    private static let dropsMax = 5
    /// Days are written once and dropped whole. The first vacuum freezes them, so that no later one reads them again to
    /// save transaction numbers.
    private static let settings = "autovacuum_freeze_min_age = 0, toast.autovacuum_freeze_min_age = 0"
    /// The rows of the default partition that go at once.
    private static let rowsMax: Int64 = 5_000

    let pool: PostgresPool

    /// Makes missing partitions and drops old ones; returns the number of rows that were deleted one by one.
    ///
    /// Making and dropping lock the table for a moment, and all settles wait behind that lock. After `lockWait` this
    /// gives up, and the next call tries again. There are days for it.
    func maintain(daysKept: Int64, now: WallInstant?) async throws(PostgresError) -> Int {
        precondition(daysKept > 0)
        let (today, names) = try await pool.read(Query(HistorySQL.partitions) { $0.instant("now", now) })
            .one { row throws(PostgresError) in (try row.int64(), try row.textArray()) }
        let known = names.compactMap(Self.day)
        let missing = (today...today + Self.daysAhead).filter { !known.contains($0) }
        for day in missing where try await !hasStrays(on: day) {
            guard try await change(Self.making(day)) else { break }
        }
        for day in known.filter({ $0 < today - daysKept }).sorted().prefix(Self.dropsMax) {
            guard try await change("DROP TABLE IF EXISTS \(Self.name(day))") else { break }
        }
        return try await pool.run(
            Query(HistorySQL.sweepRemaining) {
                $0.uuid("end", Self.first(of: today - daysKept))
                $0.int64("end_day", today - daysKept)
                $0.int64("limit", Self.rowsMax)
            }
        ).affectedRows
    }

    /// A partition can't be made beside rows that belong to it: those of the day of an upgrade.
    private func hasStrays(on day: Int64) async throws(PostgresError) -> Bool {
        try await pool.read(
            Query(HistorySQL.strays) {
                $0.uuid("first", Self.first(of: day))
                $0.uuid("end", Self.first(of: day + 1))
            }
        ).one(Bool.init)
    }

    /// Runs a script in one process at a time. If another was faster, or the lock is not available, nothing happens.
    ///
    /// - Returns: false if locks are not available now; the next change would not get them either.
    private func change(_ script: String) async throws(PostgresError) -> Bool {
        do throws(PostgresError) {
            return try await pool.transaction { transaction throws(PostgresError) -> Bool in
                let isLocked = try await transaction.run(Query(HistorySQL.lockPartitions)).one(Bool.init)
                guard isLocked else { return false }
                try await transaction.script("SET LOCAL lock_timeout = '\(Self.lockWait)'; " + script)
                return true
            }
        } catch .refused(let refusal) where Self.passing.contains(refusal.sqlState.code) {
            return refusal.sqlState.code != Self.lockNotAvailable
        }
    }

    private static let lockNotAvailable = "55P03"
    // Besides: duplicate_table, wrong_object_type (it is a partition by now), check_violation (strays).
    private static let passing = [lockNotAvailable, "42P07", "42809", "23514"]

    /// Attaches a table: making it in place would lock more than the default partition against writers.
    private static func making(_ day: Int64) -> String {
        """
        CREATE TABLE \(name(day)) (LIKE push_history INCLUDING CONSTRAINTS INCLUDING STORAGE)
            WITH (\(settings));
        ALTER TABLE push_history ATTACH PARTITION \(name(day))
            FOR VALUES FROM ('\(first(of: day).text)') TO ('\(first(of: day + 1).text)')
        """
    }

    private static let prefix = "push_history_d"

    /// - Parameter day: the days since 1970.
    static func name(_ day: Int64) -> String { prefix + String(day) }

    private static func day(_ name: String) -> Int64? {
        name.hasPrefix(prefix) ? Int64(name.dropFirst(prefix.count)) : nil
    }

    /// The lowest id that a message of that day can have: 48 bits of milliseconds, then zeros.
    static func first(of day: Int64) -> UniversalID {
        UniversalID(high: UInt64(max(0, day) * 86_400_000) << 16, low: 0)
    }
}
