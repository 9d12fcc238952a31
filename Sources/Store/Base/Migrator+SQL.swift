import Postgres

/// The schema's own history.
enum MigrationSQL {
    /// A lock that is held to the end of the transaction. The number is "carillon" in ASCII.
    static let lock = Statement(unprepared: "SELECT pg_advisory_xact_lock(x'636172696c6c6f6e'::bigint)")

    static let ownTable = """
        SET LOCAL client_min_messages = warning;
        CREATE TABLE IF NOT EXISTS schema_migrations (
            position   integer     PRIMARY KEY,
            name       text        NOT NULL UNIQUE,
            checksum   bytea       NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """

    static let hasHistory = Statement(unprepared: "SELECT to_regclass('schema_migrations') IS NOT NULL")

    static let applied = Statement(unprepared: "SELECT name, checksum FROM schema_migrations ORDER BY position")

    static let checksums = Statement(
        unprepared: "SELECT sha256(sql) FROM unnest(:files) WITH ORDINALITY AS files (sql, place) ORDER BY place")

    static let record = Statement(
        unprepared: "INSERT INTO schema_migrations (position, name, checksum) VALUES (:position, :name, :checksum)")

    /// Transactions that hold tables of this schema for longer than a time, oldest first, with their age in seconds. With
    /// `only_blocking`, only those of other programs that keep work waiting, or would, such as a forgotten transaction
    /// that has locked rows. The activity of other roles is null if this role may not see it.
    static let holders = Statement(
        unprepared: """
            SELECT l.pid, coalesce(nullif(a.application_name, ''), a.backend_type, ''), l.tables, coalesce(a.state, ''),
                extract(epoch FROM clock_timestamp() - a.xact_start)::bigint
            FROM (
                SELECT held.pid, array_agg(DISTINCT c.relname::text ORDER BY c.relname::text) AS tables,
                    bool_or(held.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
                        AS keeps_writes_out,
                    bool_or(held.mode IN ('RowShareLock', 'RowExclusiveLock')) AS locks_rows
                FROM pg_locks held
                JOIN pg_class c ON c.oid = held.relation AND c.relkind IN ('r', 'p')
                JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
                WHERE held.granted AND held.locktype = 'relation' AND held.pid <> pg_backend_pid()
                    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                GROUP BY held.pid
            ) AS l
            JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE coalesce(a.xact_start < clock_timestamp() - :age_us * interval '1 microsecond', true)
                AND (NOT :only_blocking OR coalesce(a.application_name <> current_setting('application_name'), true)
                    AND (l.keeps_writes_out OR l.locks_rows AND a.state = 'idle in transaction' OR l.pid = ANY (ARRAY(
                        SELECT unnest(pg_blocking_pids(waiting.pid)) FROM pg_stat_activity waiting
                        WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock'))))
            ORDER BY a.xact_start NULLS LAST, l.pid LIMIT :limit
            """)
}
