import Postgres

/// The row that assigns each process its part of a project's quota.
enum QuotaSQL {
    /// $1 project.
    static let add = Statement(
        "project_quota_add", "INSERT INTO project_quotas (project) VALUES ($1) ON CONFLICT DO NOTHING")

    /// $1 project, $2 now.
    static let lock = Statement(
        "project_quota_lock",
        """
        SELECT coalesce($2, clock_timestamp()), ramp_since, written_at, processes, numbers, wants, parts, reported_at
        FROM project_quotas WHERE project = $1 FOR UPDATE
        """)

    /// $1 project, $2 ramp since, $3 written at, $4 processes, $5 numbers, $6 wants, $7 parts, $8 reported at.
    static let write = Statement(
        "project_quota_write",
        """
        UPDATE project_quotas SET ramp_since = $2, written_at = $3, processes = $4, numbers = $5, wants = $6, parts = $7,
            reported_at = $8
        WHERE project = $1
        """)

    /// Deletes the quotas of projects that no process sends to any more. Parameters: $1 now, $2 rows at most.
    static let sweep = Statement(
        "sweep_project_quotas",
        """
        DELETE FROM project_quotas WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM project_quotas WHERE written_at < coalesce($1, clock_timestamp()) - interval '1 day'
            LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
