import Model
import Postgres

/// The subscriptions to items of a token that another installation registers. They follow the token.
///
/// These statements run in the transaction that gives the token to its new holder, under `PlannerSQL.throughKeys`. It locks
/// windows by rising registration, then subscriptions by rising id, then held pushes, as rounds and releases do. The
/// windows come before the statements that write registrations, because a change of their user ends subscriptions.
enum ItemAdoptionSQL {
    // The former and the new holder of each token whose former holder has subscriptions. A new registration has no id yet.
    private static let devices = """
        SELECT device.id FROM unnest(:registrations, :holders) AS input (former, holder)
        CROSS JOIN LATERAL (VALUES (input.former), (input.holder)) AS device (id)
        WHERE (SELECT true FROM item_subscriptions WHERE registration_id = input.former LIMIT 1)
        """

    /// Makes the windows of these devices that have none, in the order of their ids.
    static let makeWindows = Statement(
        "item_adoption_make_windows",
        """
        INSERT INTO device_windows (registration_id, opens_at)
        SELECT id, '-infinity' FROM registrations WHERE id = ANY (ARRAY(
            \(devices) AND (SELECT true FROM device_windows WHERE registration_id = device.id LIMIT 1) IS NULL))
        ORDER BY id
        ON CONFLICT DO NOTHING
        """)

    /// Waits for rounds and releases that decide on these devices, and lets later ones wait.
    static let lockWindows = Statement(
        "item_adoption_lock_windows",
        """
        SELECT registration_id FROM device_windows WHERE registration_id = ANY (ARRAY(\(devices)))
        ORDER BY registration_id FOR UPDATE
        """)

    // The registration that lost each token, and the one that holds it now. Only those of kind alert get pushes of items.
    private static let moved = """
        SELECT input.id AS former, r.id AS holder, r.user_id
        FROM unnest(:registrations, :providers, :tokens) AS input (id, provider, token) \(RegistrationSQL.holding)
        WHERE r.id <> input.id AND r.kind = \(TokenKind.alert.sql)
        """

    /// Locks the subscriptions of the former holders. Rounds and updates that have read them end before.
    static let lock = Statement(
        "item_adoption_lock",
        """
        SELECT id FROM item_subscriptions WHERE id = ANY (ARRAY(
            SELECT own.id FROM (\(moved)) AS moved
            CROSS JOIN LATERAL (
                SELECT id FROM item_subscriptions WHERE registration_id = moved.former LIMIT 1000000
            ) AS own))
        ORDER BY id FOR UPDATE
        """)

    /// Ends the subscriptions of a former holder whose user was somebody else than the new holder's.
    static let end = Statement(
        "item_adoption_end",
        """
        DELETE FROM item_subscriptions WHERE registration_id = ANY (ARRAY(
            SELECT moved.former FROM (\(moved)) AS moved
            CROSS JOIN LATERAL (SELECT user_id FROM registrations WHERE id = moved.former LIMIT 1) AS former
            WHERE former.user_id IS NOT NULL AND former.user_id IS DISTINCT FROM moved.user_id))
        """)

    /// Gives the other subscriptions to the new holder, with the pushes that they hold and the window of their device: the
    /// later opening time counts. The new holder gets no more than a device may have, and the others stay.
    static let move = Statement(
        "item_adoption_move",
        """
        WITH moved AS MATERIALIZED (\(moved)), chosen AS MATERIALIZED (
            SELECT own.id, moved.former, moved.holder FROM moved
            CROSS JOIN LATERAL (
                SELECT count(*) AS count FROM (
                    SELECT FROM item_subscriptions WHERE registration_id = moved.holder LIMIT :limit) AS counted
            ) AS present
            CROSS JOIN LATERAL (
                SELECT id FROM item_subscriptions WHERE registration_id BETWEEN moved.former AND moved.former
                ORDER BY registration_id, status, id LIMIT :limit - present.count
            ) AS own
        ), followed AS (
            UPDATE item_subscriptions s SET registration_id = chosen.holder FROM chosen WHERE s.id = chosen.id
        ), held AS (
            UPDATE held_pushes h SET registration_id = chosen.holder FROM chosen WHERE h.subscription_id = chosen.id
        )
        INSERT INTO device_windows AS known (registration_id, opens_at)
        SELECT device.holder, w.opens_at FROM (SELECT DISTINCT former, holder FROM chosen) AS device
        CROSS JOIN LATERAL (SELECT opens_at FROM device_windows WHERE registration_id = device.former LIMIT 1) AS w
        ON CONFLICT (registration_id) DO UPDATE SET opens_at = excluded.opens_at
        WHERE known.opens_at < excluded.opens_at
        """)
}
