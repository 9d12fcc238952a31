import Postgres

/// The schema's own history.
enum MigrationSQL {
    /// Held to the end of the transaction. The number is "carillon" in ASCII.
    static let lock = Statement(unprepared: "SELECT pg_advisory_xact_lock(x'636172696c6c6f6e'::bigint)")

    static let ownTable = """
        SET LOCAL client_min_messages = warning;
        CREATE TABLE IF NOT EXISTS schema_migrations (
            position       integer     PRIMARY KEY,
            name           text        NOT NULL UNIQUE,
            checksum       bytea       NOT NULL,
            oldest_program integer     NOT NULL,
            applied_at     timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """

    static let hasHistory = Statement(unprepared: "SELECT to_regclass('schema_migrations') IS NOT NULL")

    static let applied = Statement(
        unprepared: "SELECT name, checksum, oldest_program FROM schema_migrations ORDER BY position")

    static let checksums = Statement(
        unprepared: "SELECT sha256(sql) FROM unnest($1) WITH ORDINALITY AS files (sql, place) ORDER BY place")

    static let record = Statement(
        unprepared: "INSERT INTO schema_migrations (position, name, checksum, oldest_program) VALUES ($1, $2, $3, $4)")
}
