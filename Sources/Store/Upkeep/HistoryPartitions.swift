import Basis
import Encodings
import Postgres

/// The partitions of the history: one for each day's messages, made ahead of their day, dropped when all that they tell
/// of is older than its retention.
struct HistoryPartitions: Sendable {
    /// So many days ahead of today: a gateway may be away for that long without its rows lying in the last partition.
    static let daysAhead: Int64 = 3
    /// What a settle may wait behind the change of a partition: about as long as its own commit on a slow disk.
    private static let lockWait = "100ms"
    /// A gateway that was away for a month finds many: each locks the table, and settles come between.
    private static let dropsMax = 5
    /// Days are written once and dropped whole. The first vacuum that comes freezes them, so that no later one reads them
    /// again to save transaction numbers.
    private static let settings = "autovacuum_freeze_min_age = 0, toast.autovacuum_freeze_min_age = 0"
    /// Rows of the last partition that go at once.
    private static let rowsMax: Int64 = 5_000

    private let pool: PostgresPool
    init(pool: PostgresPool) { self.pool = pool }

    /// Makes what is missing and drops what is over; returns how many rows went that no partition took with it.
    ///
    /// Making and dropping locks the table for a moment, and while it waits for that all settles wait behind it: after
    /// `lockWait` it gives up, and the next call tries again. There are days for it.
    func maintain(daysKept: Int64, now: WallInstant?) async throws(PostgresError) -> Int {
        precondition(daysKept > 0)
        let rows = try await pool.read(Query(HistorySQL.partitions) { $0.instant(now) })
        let today = try rows.int64(0, 0)
        let known = try rows.textArray(0, 1).compactMap(Self.day)
        let missing = (today...today + Self.daysAhead).filter { !known.contains($0) }
        for day in missing where try await !hasStrays(on: day) {
            guard try await change(Self.making(day)) else { break }
        }
        for day in known.filter({ $0 < today - daysKept }).sorted().prefix(Self.dropsMax) {
            guard try await change("DROP TABLE IF EXISTS \(Self.name(day))") else { break }
        }
        return try await pool.run(
            Query(HistorySQL.sweepRemaining) {
                $0.uuid(Self.first(of: today - daysKept))
                $0.int64(Self.rowsMax)
            }
        ).affectedRows
    }

    /// A partition can't be made beside rows that belong to it: those of the day of an upgrade.
    private func hasStrays(on day: Int64) async throws(PostgresError) -> Bool {
        try await pool.read(
            Query(HistorySQL.strays) {
                $0.uuid(Self.first(of: day))
                $0.uuid(Self.first(of: day + 1))
            }
        ).bool(0, 0)
    }

    /// One process at a time; where another was faster, or the lock is not to be had, nothing happens.
    ///
    /// - Returns: false where locks are not to be had now; the next one's would not be either.
    private func change(_ script: String) async throws(PostgresError) -> Bool {
        do throws(PostgresError) {
            return try await pool.transaction { transaction throws(PostgresError) -> Bool in
                guard try await transaction.run(Query(HistorySQL.lockPartitions)).bool(0, 0) else { return false }
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

    /// Attached, not made in place: that locks only the last partition against writers.
    private static func making(_ day: Int64) -> String {
        """
        CREATE TABLE \(name(day)) (LIKE push_history INCLUDING CONSTRAINTS INCLUDING STORAGE)
            WITH (\(settings));
        ALTER TABLE push_history ATTACH PARTITION \(name(day))
            FOR VALUES FROM ('\(first(of: day).text)') TO ('\(first(of: day + 1).text)')
        """
    }

    private static let prefix = "push_history_d"

    /// Days since 1970.
    static func name(_ day: Int64) -> String { prefix + String(day) }

    private static func day(_ name: String) -> Int64? {
        name.hasPrefix(prefix) ? Int64(name.dropFirst(prefix.count)) : nil
    }

    /// The lowest id that a message of that day can have: 48 bits of milliseconds, and nothing behind.
    static func first(of day: Int64) -> UniversalID {
        UniversalID(high: UInt64(max(0, day) * 86_400_000) << 16, low: 0)
    }
}
