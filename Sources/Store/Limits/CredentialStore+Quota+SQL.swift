import LaneRules
import Postgres

/// The processes that send to a project.
enum QuotaSQL {
    /// Writes the time of the process's heartbeat, forgets other rows that are outdated, and counts the project's
    /// processes.
    ///
    /// A row from the future was written before the database's clock was set back. Its process has ended, or writes the
    /// row again soon. The process holds its own row before it forgets others, and skips locked ones: there is no
    /// deadlock.
    static let heartbeat = Statement(
        "project_heartbeat",
        """
        WITH clock AS (SELECT coalesce(:now, clock_timestamp()) AS now),
        heartbeat AS (
            INSERT INTO project_senders (project, process, heard_at) SELECT :project, :process, now FROM clock
            ON CONFLICT (project, process) DO UPDATE SET heard_at = EXCLUDED.heard_at RETURNING process
        ),
        forgotten AS (
            DELETE FROM project_senders WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM heartbeat CROSS JOIN clock
                JOIN project_senders old ON old.process <> heartbeat.process
                    AND old.heard_at NOT BETWEEN now - interval '1 minute' AND now + interval '1 minute'
                FOR UPDATE OF old SKIP LOCKED))
        )
        SELECT 1 + count(*) FROM project_senders other, clock
        WHERE other.project = :project AND other.process <> :process
            AND other.heard_at > now - \(counted) AND other.heard_at < now + \(counted)
        """)

    private static let counted = "interval '\(SharedPace.countedFor.components.seconds) seconds'"
}
