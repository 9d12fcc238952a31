import Logging
import Postgres

/// Whether committed transactions survive a crash of the database's machine, by the server's configuration.
///
/// The gateway's sessions wait for the disk whatever `synchronous_commit` says (`PostgresConnection`). No session can
/// make up for the other settings.
package struct DatabaseDurability: Equatable, Sendable {
    /// The `synchronous_commit` with which sessions begin: that of the server, the database, the role or the address.
    package let commitLevel: String
    /// The settings with which a crash may lose or damage what was answered, such as `fsync`. They are off.
    package let dangers: [String]

    package init(commitLevel: String, dangers: [String]) { (self.commitLevel, self.dangers) = (commitLevel, dangers) }

    /// Whether the gateway's sessions had to raise the level.
    package var isRaised: Bool { commitLevel != "on" && commitLevel != "remote_apply" }

    private static let names = ["fsync", "full_page_writes"]

    /// The level that a session began with is what RESET would bring back.
    private static let statement = Statement(
        unprepared: """
            SELECT (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
                \(names.map { "current_setting('\($0)')::boolean" }.joined(separator: ", "))
            """)

    static func read(_ pool: PostgresPool) async throws(PostgresError) -> DatabaseDurability {
        try await pool.read(Query(statement)).one { row throws(PostgresError) in
            let level = try row.text()
            var dangers: [String] = []
            for name in names { if try !row.bool() { dangers.append(name) } }
            return DatabaseDurability(commitLevel: level, dangers: dangers)
        }
    }

    /// Logs what an operator should know about it at the start.
    static func report(_ pool: PostgresPool, _ log: Logger) async {
        // A database that does not answer now is reported by others.
        guard let found = try? await read(pool) else { return }
        if !found.dangers.isEmpty {
            log.warning(
                "PostgreSQL may lose what was answered: a crash of its machine is not survived",
                metadata: ["off": "\(found.dangers.joined(separator: ", "))"])
        }
        if found.isRaised {
            log.notice(
                "PostgreSQL does not wait for its disk by default: the gateway's sessions do",
                metadata: ["synchronous_commit": "\(found.commitLevel)"])
        }
    }
}
