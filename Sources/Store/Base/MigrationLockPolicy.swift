import Basis
import Postgres

/// The policy by which a migration waits for its table locks while programs run.
///
/// A requested lock blocks everybody who comes later. The locks that the step already holds stay held while it waits
/// for the next one. So one try can block a program for `lockWait`, once for each table that it locks.
package struct MigrationLockPolicy: Equatable, Sendable {
    /// Half of a registration's lock timeout, so that the first tries fail no request.
    package var lockWaitFirst: Duration = .milliseconds(250)
    /// Longer than PostgreSQL's `deadlock_timeout` (a second): an autovacuum gives way only to a session that has
    /// waited for that long.
    package var lockWaitMax: Duration = .milliseconds(1_500)
    /// Time for everybody who had to wait to get through.
    package var pauseFirst: Duration = .milliseconds(250)
    /// A longer pause would miss free moments. At this length, programs lose little time to the tries.
    package var pauseMax: Duration = .seconds(10)
    /// A backup or a forgotten session may hold the tables for hours. The start fails sooner and says so.
    package var total: Duration = .seconds(300)

    package init() {}

    func lockWait(afterTries tries: Int) -> Duration { Self.doubled(lockWaitFirst, tries, lockWaitMax) }

    func pause(afterTries tries: Int) -> Duration { Self.doubled(pauseFirst, tries - 1, pauseMax) }

    private static func doubled(_ first: Duration, _ times: Int, _ most: Duration) -> Duration {
        var length = first
        for _ in 0..<max(0, times) where length < most { length *= 2 }
        return min(length, most)
    }
}

/// A migration that found its tables locked.
package struct MigrationWait: Equatable, Sendable {
    package let name: String
    package let tries: Int
    /// The sessions that probably hold the locks.
    package let holders: [LockHolder]

    package var whoHolds: String {
        guard !holders.isEmpty else { return "other sessions locked them first" }
        return holders.map(\.description).joined(separator: "; ")
    }
}

/// A session of PostgreSQL that holds table locks. Its statement is left out, because it may contain secrets.
package struct LockHolder: Equatable, Sendable, CustomStringConvertible {
    /// The most holders that are reported.
    static let shownMax = 3
    private static let tablesShownMax = 5

    package let process: Int32
    /// The session's `application_name`, or the kind of its process.
    package let program: String
    package let tables: [String]
    /// PostgreSQL's `state`, such as "idle in transaction"; empty if this role may not see it.
    package let doing: String
    /// The time since its transaction began; nil if this role may not see it.
    package let heldFor: Duration?

    package init(process: Int32, program: String, tables: [String], doing: String, heldFor: Duration?) {
        (self.process, self.program, self.tables, self.doing, self.heldFor) = (process, program, tables, doing, heldFor)
    }

    /// Reads the sessions that have held tables of this schema for longer than a time, the oldest first.
    ///
    /// - Parameter onlyBlocking: leaves out sessions that keep nobody waiting, and those of gateways.
    package static func read(
        _ pool: PostgresPool, since age: Duration, onlyBlocking: Bool
    ) async throws(PostgresError) -> [LockHolder] {
        let query = Query(MigrationSQL.holders) {
            $0.int64("age_us", age.wholeMicroseconds)
            $0.int64("limit", Int64(shownMax))
            $0.bool("only_blocking", onlyBlocking)
        }
        return try await pool.read(query).map { row throws(PostgresError) in
            LockHolder(
                process: try row.int32(), program: try row.text(), tables: try row.textArray(),
                doing: try row.text(), heldFor: try row.int64OrNil().map { .seconds($0) })
        }
    }

    package var description: String {
        var text = "PostgreSQL's process \(process)"
        if !program.isEmpty { text += " (\(program))" }
        text += " holds " + tables.prefix(Self.tablesShownMax).joined(separator: ", ")
        if tables.count > Self.tablesShownMax { text += " and \(tables.count - Self.tablesShownMax) more tables" }
        if let heldFor { text += " for \(heldFor.components.seconds) s" }
        if !doing.isEmpty { text += ", \(doing)" }
        return text
    }
}
