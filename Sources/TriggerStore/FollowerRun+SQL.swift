import Postgres
import Store
import TriggerRules

/// Rounds of followers: due items, read and cut into messages. They run under `PlannerSQL.inKeyOrder`.
enum FollowerSQL {
    // A claim is the first statement of its transaction. `clock_timestamp()` would be asked for each row.
    private static let start = "coalesce(:now, now())"

    /// Claims due items. Apps take turns, beginning after the last one; of each, those that have been due longest come
    /// first.
    static let claim = Statement(
        "follower_claim",
        """
        \(ItemPushSQL.appsInTurn("item_due"))
        SELECT due.item_id, due.app_id, due.after_subscription, due.round_seq, \(start)
        FROM (SELECT app_id FROM ahead UNION ALL SELECT app_id FROM again) AS served
        CROSS JOIN LATERAL (
            SELECT item_id, app_id, after_subscription, round_seq FROM item_due
            WHERE (app_id, due_at) >= (served.app_id, '-infinity') AND (app_id, due_at) <= (served.app_id, \(start))
            ORDER BY app_id, due_at, item_id LIMIT :limit FOR UPDATE SKIP LOCKED
        ) AS due
        LIMIT :limit
        """)

    /// The next followers of items, by rising id. At most so many of each; in the order of the items.
    ///
    /// A follower whose subscription is being removed counts too: it moves the cursor.
    static let next = Statement(
        "follower_next",
        """
        SELECT asked.place, f.subscription_id, f.sent_seq, s.registration_id, s.fields, s.follows_several
        FROM unnest(:items, :after) WITH ORDINALITY AS asked (item_id, after, place)
        CROSS JOIN LATERAL (
            SELECT subscription_id, sent_seq FROM item_followers
            WHERE (item_id, subscription_id) > (asked.item_id, asked.after) AND item_id <= asked.item_id
            ORDER BY item_id, subscription_id LIMIT :limit
        ) AS f
        LEFT JOIN LATERAL (
            SELECT registration_id, fields, cardinality(items) > 1 AS follows_several
            FROM item_subscriptions WHERE id = f.subscription_id LIMIT 1
        ) AS s ON true
        ORDER BY asked.place, f.subscription_id
        """)

    static let makeWindows = ItemPushSQL.makeWindows(
        "follower_make_windows", of: "SELECT id FROM unnest(:registrations) AS each (id)")

    /// Locks windows by rising registration, and returns them.
    static let lockWindows = MemberStatement("follower_lock_windows", key: "registration_id") {
        """
        SELECT registration_id, opens_at FROM device_windows WHERE \($0) ORDER BY registration_id FOR UPDATE
        """
    }

    /// Followers whose subscription and window are locked, in the order of the parameters. The last columns are the push
    /// that the subscription holds.
    static let read = Statement(
        "follower_read",
        """
        SELECT asked.place, f.sent_seq, s.template_id, s.fields, s.mode, s.pause_seconds, s.when_paused,
            s.is_shown, s.expires_at <= :now IS TRUE, s.registration_id, r.route_id, r.provider, r.state, held.item_id,
            held.is_triggered
        FROM unnest(:items, :subscriptions) WITH ORDINALITY AS asked (item_id, subscription_id, place)
        CROSS JOIN LATERAL (
            SELECT sent_seq FROM item_followers
            WHERE item_id = asked.item_id AND subscription_id = asked.subscription_id LIMIT 1
        ) AS f
        CROSS JOIN LATERAL (
            SELECT registration_id, template_id, fields, mode, is_shown, pause_seconds, when_paused, expires_at
            FROM item_subscriptions WHERE id = asked.subscription_id LIMIT 1
        ) AS s
        CROSS JOIN LATERAL (
            SELECT route_id, provider, state FROM registrations WHERE id = s.registration_id LIMIT 1
        ) AS r
        LEFT JOIN LATERAL (
            SELECT item_id, is_triggered FROM held_pushes WHERE subscription_id = asked.subscription_id LIMIT 1
        ) AS held ON true
        ORDER BY asked.place
        """)

    /// When the first of the pushes falls due that each device holds. Devices that hold none are missing.
    ///
    /// A device may have many followers, and is asked for once.
    static let firstHeld = Statement(
        "follower_first_held",
        """
        SELECT asked.registration_id, h.due_at
        FROM unnest(:registrations) AS asked (registration_id)
        CROSS JOIN LATERAL (
            SELECT due_at FROM held_pushes
            WHERE (registration_id, due_at) >= (asked.registration_id, '-infinity')
                AND registration_id <= asked.registration_id
            ORDER BY registration_id, due_at LIMIT 1
        ) AS h
        """)

    /// The other items of subscriptions that have updates which the follower misses, with the number and the time of the
    /// last one. They come in the order of the parameters.
    ///
    /// It runs after windows and subscriptions were locked, and locks no item. An item that is updated later is due again.
    ///
    /// Equality would make the ORDER BY redundant, and another index of followers could be read from end to end.
    static let others = Statement(
        "follower_others",
        """
        SELECT asked.place, f.item_id, i.seq, i.updated_at
        FROM unnest(:items, :subscriptions) WITH ORDINALITY AS asked (item_id, subscription_id, place)
        CROSS JOIN LATERAL (
            SELECT fields FROM item_subscriptions WHERE id = asked.subscription_id LIMIT 1
        ) AS s
        CROSS JOIN LATERAL (
            SELECT item_id, sent_seq FROM item_followers
            WHERE subscription_id BETWEEN asked.subscription_id AND asked.subscription_id
                AND item_id <> asked.item_id
            ORDER BY subscription_id LIMIT \(SubscriptionTerms.namesMax)
        ) AS f
        CROSS JOIN LATERAL (
            SELECT seq, updated_at, field_names, field_seqs FROM items WHERE id = f.item_id LIMIT 1
        ) AS i
        WHERE i.seq > f.sent_seq AND EXISTS (
            SELECT FROM unnest(i.field_names, i.field_seqs) AS field (name, seq)
            WHERE field.name = ANY (s.fields) AND field.seq > f.sent_seq)
        ORDER BY asked.place
        """)

    // The time of an item's last update.
    private static func updatedAt(_ item: String) -> String {
        "(SELECT updated_at FROM items WHERE id = \(item) LIMIT 1)"
    }

    /// Holds pushes, whose texts are read when they go. A push takes the place of the one that its subscription holds,
    /// unless a trigger made that one, or its item was updated later.
    static let hold = Statement(
        "follower_hold",
        """
        INSERT INTO held_pushes AS known
            (subscription_id, app_id, registration_id, item_id, is_triggered, texts, ready_at, due_at)
        SELECT subscription_id, app_id, registration_id, item_id, false, NULL, :now, due_at
        FROM unnest(:subscriptions, :apps, :registrations, :items, :due_at)
            AS held (subscription_id, app_id, registration_id, item_id, due_at)
        ON CONFLICT (subscription_id) DO UPDATE SET item_id = excluded.item_id
        WHERE NOT known.is_triggered
            AND \(updatedAt("known.item_id")) > \(updatedAt("excluded.item_id")) IS NOT TRUE
        """)

    /// Forgets items that were removed.
    static let forget = Statement("follower_forget", "DELETE FROM item_due WHERE item_id = ANY (:items)")

    /// Ends slices of rounds. An item whose last update was reported to all is not due any more. One that was updated
    /// meanwhile is due again after the gathering, because the update left the row as it was.
    ///
    /// It locks an item before it deletes its row in item_due, as updates do. So an update that comes later writes the
    /// row anew, and one that came before has raised the item's number. The items come in the order of their apps and
    /// names, in which updates lock them.
    ///
    /// The lock is shared, because a modification has the same one when it waits for a subscription that the round keeps.
    static let end = Statement(
        "follower_end",
        """
        WITH ended AS MATERIALIZED (
            SELECT * FROM unnest(:items, :complete, :round_seqs, :after) AS ended (id, is_complete, round_seq, after)
        ), locked AS MATERIALIZED (
            SELECT i.id, i.seq FROM unnest(:items, :complete) AS asked (id, is_complete)
            CROSS JOIN LATERAL (
                SELECT id, seq FROM items WHERE id = asked.id AND asked.is_complete LIMIT 1 FOR SHARE
            ) AS i
        ), done AS (
            DELETE FROM item_due d USING ended, locked
            WHERE d.item_id = ended.id AND locked.id = ended.id AND locked.seq = ended.round_seq
        )
        UPDATE item_due d
        SET due_at = CASE WHEN ended.is_complete THEN :now + :gathering_us * interval '1 microsecond' ELSE :now END,
            after_subscription = ended.after, round_seq = CASE WHEN ended.is_complete THEN NULL ELSE ended.round_seq END
        FROM ended LEFT JOIN locked ON locked.id = ended.id
        WHERE d.item_id = ended.id AND (NOT ended.is_complete OR locked.seq <> ended.round_seq)
        """)
}
