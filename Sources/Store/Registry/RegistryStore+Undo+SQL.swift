import Model
import Postgres

/// The return of a retired token. It runs under `PlannerSQL.throughKeys`.
enum UndoSQL {
    /// A simultaneous undo of the same entry waits here.
    static let retirement = Statement(
        "undo_retirement",
        """
        SELECT registration_id, generation, verdict, undone_at IS NOT NULL FROM feedback
        WHERE app_id = :app AND id = :feedback FOR NO KEY UPDATE
        """)

    static let lock = Statement(
        "undo_lock",
        """
        SELECT installation, kind, state, generation FROM registrations WHERE app_id = :app AND id = :registration
        FOR NO KEY UPDATE
        """)

    /// Whether another live registration holds its token.
    static let holder = Statement(
        "undo_holder",
        """
        SELECT EXISTS (
            SELECT FROM (SELECT provider, token FROM registrations WHERE app_id = :app AND id = :registration) AS input
            \(RegistrationSQL.holding)
            WHERE r.id <> :registration)
        """)

    static let revive = Statement(
        "undo_revive",
        """
        UPDATE registrations SET state = \(RegistrationState.active.sql), generation = :generation
        WHERE id = :registration
        """)

    /// Marks the entry and adds one to the feed.
    static let undone = Statement(
        "undo_undone",
        """
        WITH marked AS (
            UPDATE feedback SET undone_at = coalesce(:now, clock_timestamp()) WHERE id = :feedback
            RETURNING app_id, registration_id, installation, kind, provider
        )
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
        SELECT app_id, registration_id, :generation, installation, kind, provider, \(FeedbackVerdict.undone.sql),
            'undone', coalesce(:now, clock_timestamp())
        FROM marked
        """)
}
