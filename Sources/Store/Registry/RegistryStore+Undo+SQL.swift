import Postgres

/// The return of a retired token. It runs under `PlannerSQL.throughKeys`.
enum UndoSQL {
    /// $1 app, $2 the feedback's id. A simultaneous undo of the same entry waits here.
    static let retirement = Statement(
        "undo_retirement",
        """
        SELECT registration_id, generation, verdict, undone_at IS NOT NULL FROM feedback
        WHERE app_id = $1 AND id = $2 FOR NO KEY UPDATE
        """)

    /// $1 app, $2 registration.
    static let lock = Statement(
        "undo_lock",
        """
        SELECT installation, kind, state, generation FROM registrations WHERE app_id = $1 AND id = $2
        FOR NO KEY UPDATE
        """)

    /// $1 app, $2 registration. Whether another live registration holds its token.
    static let holder = Statement(
        "undo_holder",
        """
        SELECT EXISTS (
            SELECT FROM (SELECT provider, token FROM registrations WHERE app_id = $1 AND id = $2) AS said
            \(RegistrationSQL.holding)
            WHERE r.id <> $2)
        """)

    /// $1 registration, $2 generation.
    static let revive = Statement(
        "undo_revive", "UPDATE registrations SET state = 1, generation = $2 WHERE id = $1")

    /// $1 the feedback's id, $2 generation, $3 now. Marks the entry and adds one to the feed.
    static let undone = Statement(
        "undo_undone",
        """
        WITH marked AS (
            UPDATE feedback SET undone_at = coalesce($3, clock_timestamp()) WHERE id = $1
            RETURNING app_id, registration_id, installation, kind, provider
        )
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
        SELECT app_id, registration_id, $2, installation, kind, provider, 5, 'undone', coalesce($3, clock_timestamp())
        FROM marked
        """)
}
