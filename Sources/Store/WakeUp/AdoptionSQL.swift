import Basis
import Model
import Postgres

/// The subscriptions of a token that another installation registers, and of one that comes back.
///
/// An app may subscribe with a token before its backend registers it: the subscriptions follow it then. These statements
/// run in the transaction that gives the token to its new holder, or revives it, behind the statements that do so.
enum AdoptionSQL {
    // The registration that lost each token, and the one that holds it now.
    private static let moved = """
        SELECT input.id AS former, r.id AS holder
        FROM unnest(:registrations, :providers, :tokens) AS input (id, provider, token) \(RegistrationSQL.holding)
        WHERE r.id <> input.id
        """

    // Makes the watches of these subscriptions due. They are locked after the rows of subscription_progress, as in a
    // fan-out: so `forgotten` must have run.
    private static func makeDue(_ subscriptions: String) -> String {
        """
        locked AS MATERIALIZED (
                SELECT id FROM watches
                WHERE id = ANY (ARRAY(SELECT watch_id FROM \(subscriptions))) AND (SELECT count(*) FROM forgotten) >= 0
                ORDER BY id FOR NO KEY UPDATE
            ), counted AS (
                UPDATE watches SET moves = moves + 1
                WHERE id = ANY (ARRAY(SELECT id FROM locked)) RETURNING id, app_id
            ), early AS (
                SELECT own.* FROM counted CROSS JOIN LATERAL (
                    SELECT watch_id FROM due_watches
                    WHERE watch_id = counted.id AND due_at > coalesce(:now, clock_timestamp()) FOR UPDATE SKIP LOCKED
                ) AS own
            ), forward AS (
                UPDATE due_watches d SET due_at = coalesce(:now, clock_timestamp())
                FROM early WHERE d.watch_id = early.watch_id
            )
            INSERT INTO due_watches (watch_id, app_id, due_at)
            SELECT id, app_id, coalesce(:now, clock_timestamp()) FROM counted ORDER BY id ON CONFLICT DO NOTHING
        """
    }

    /// Ends subscriptions that the former holder's user made, unless the new holder has the same user or is the user that
    /// made them. A device without a user keeps its own, except those of users who had the new holder before.
    static let endOfOthers = Statement(
        "adoption_end_of_others",
        """
        WITH moved AS MATERIALIZED (
            SELECT input.id AS former, r.id AS holder, r.user_id
            FROM unnest(:registrations, :providers, :tokens) AS input (id, provider, token) \(RegistrationSQL.holding)
            WHERE r.id <> input.id
        )
        SELECT end_subscriptions_of_others(moved.former, moved.holder, former.user_id, moved.user_id) FROM moved
        CROSS JOIN LATERAL (SELECT user_id FROM registrations WHERE id = moved.former LIMIT 1) AS former
        """)

    /// Removes the older of two subscriptions to one path that would become one.
    static let unite = Statement(
        "adoption_unite",
        """
        DELETE FROM subscriptions WHERE id = ANY (ARRAY(
            SELECT CASE WHEN (one.created_at, one.id) < (other.created_at, other.id) THEN one.id ELSE other.id END
            FROM (\(moved)) AS moved
            CROSS JOIN LATERAL (
                SELECT id, watch_id, created_at FROM subscriptions WHERE registration_id = moved.former LIMIT 1000000
            ) AS one
            CROSS JOIN LATERAL (
                SELECT id, created_at FROM subscriptions
                WHERE watch_id = one.watch_id AND registration_id = moved.holder LIMIT 1
            ) AS other))
        """)

    /// Gives subscriptions to the new holder. A push to the former one may be lost, so they are notified once more.
    ///
    /// A fan-out that has read them keeps the watch due, because the watch counts moves. Watches are locked before
    /// their rows in due_watches are read, as in writes and fan-outs.
    static let adopt = Statement(
        "adoption_adopt",
        """
        WITH moved AS MATERIALIZED (\(moved)), followed AS (
            UPDATE subscriptions s SET registration_id = moved.holder
            FROM moved WHERE s.registration_id = moved.former RETURNING s.id, s.watch_id
        ), forgotten AS (
            UPDATE subscription_progress p SET sent_seq = -1, message_id = NULL
            FROM followed WHERE p.subscription_id = followed.id RETURNING p.subscription_id
        ), \(makeDue("followed"))
        """)

    /// Lets the subscriptions of revived registrations be notified once more, unless nothing has ever changed. They got
    /// nothing while the token was retired, and the push that showed its death reached nobody.
    static let awaken = Statement(
        "adoption_awaken",
        """
        WITH behind AS MATERIALIZED (
            SELECT s.id, s.watch_id FROM subscriptions s
            CROSS JOIN LATERAL (
                SELECT sent_seq, message_id FROM subscription_progress WHERE subscription_id = s.id LIMIT 1
            ) AS p
            CROSS JOIN LATERAL (SELECT seq FROM watches WHERE id = s.watch_id LIMIT 1) AS w
            WHERE s.registration_id = ANY (:registrations) AND (p.sent_seq < w.seq OR p.message_id IS NOT NULL)
        ), forgotten AS (
            UPDATE subscription_progress SET sent_seq = -1, message_id = NULL
            WHERE subscription_id = ANY (ARRAY(SELECT id FROM behind ORDER BY id)) RETURNING subscription_id
        ), \(makeDue("behind"))
        """)

    /// Removes registrations that only subscriptions had made, once their tokens have other holders.
    static let forgetNameless = Statement(
        "adoption_forget_nameless",
        """
        DELETE FROM registrations WHERE id = ANY (:registrations) AND kind = \(TokenKind.wakeUp.sql)
            AND state = \(RegistrationState.retired.sql)
        """)
}

extension Query {
    /// Lets the subscriptions of these revived registrations be notified once more. It runs behind the statement that
    /// revives them, in the same transaction, and under `PlannerSQL.throughKeys`.
    package init(awakening registrations: [RegistrationID], now: WallInstant?) {
        self.init(AdoptionSQL.awaken) {
            $0.int64Array("registrations", registrations.map(\.value))
            $0.instant("now", now)
        }
    }
}
