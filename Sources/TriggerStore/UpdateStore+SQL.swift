import Model
import Postgres
import Store
import TriggerRules

/// Updates of items, and the triggers that they fire. They run under `PlannerSQL.inKeyOrder`.
enum UpdateSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    /// The number of an app's items.
    static let countItems = Statement(
        "update_count_items",
        """
        SELECT count(*) FROM (
            SELECT FROM items WHERE app_id BETWEEN :app AND :app ORDER BY app_id, name LIMIT :limit) AS counted
        """)

    /// Makes items that there are not yet. Takes the names by rising bytes, each once.
    static let makeItems = Statement(
        "update_make_items",
        """
        INSERT INTO items (app_id, name, updated_at)
        SELECT :app, missing.name, \(now) FROM (
            SELECT asked.name FROM unnest(:names) AS asked (name)
            WHERE NOT EXISTS (SELECT FROM items WHERE app_id = :app AND name = asked.name) LIMIT :room
        ) AS missing
        ON CONFLICT DO NOTHING
        """)

    /// Locks items in the order of the names, and returns them. With a list of names, the index would be read from the
    /// app's first item to its last.
    static let lockItems = Statement(
        "update_lock_items",
        """
        SELECT i.id, i.name, i.seq, i.field_names, i.field_texts, i.field_seqs FROM unnest(:names) AS asked (name)
        CROSS JOIN LATERAL (
            SELECT id, name, seq, field_names, field_texts, field_seqs FROM items
            WHERE app_id = :app AND name = asked.name LIMIT 1 FOR NO KEY UPDATE
        ) AS i
        """)

    private static let itemsOfNames = """
        unnest(:names) AS asked (name)
            CROSS JOIN LATERAL (SELECT id FROM items WHERE app_id = :app AND name = asked.name LIMIT 1) AS i
        """

    private static let group = "mode, field, conversion, comparison"

    /// The groups of thresholds at items: at most so many of each item. It jumps from group to group, whatever the number
    /// of thresholds in one.
    static let thresholdGroups = Statement(
        "update_threshold_groups",
        """
        WITH RECURSIVE step AS (
            SELECT i.id AS item_id, own.mode, own.field, own.conversion, own.comparison, 1 AS number
            FROM \(itemsOfNames)
            CROSS JOIN LATERAL (
                SELECT \(group) FROM armed WHERE item_id = i.id ORDER BY item_id, \(group) LIMIT 1
            ) AS own
            UNION ALL
            SELECT step.item_id, own.mode, own.field, own.conversion, own.comparison, step.number + 1
            FROM step CROSS JOIN LATERAL (
                SELECT \(group) FROM armed
                WHERE (item_id, \(group))
                        > (step.item_id, step.mode, step.field, step.conversion, step.comparison)
                    AND item_id <= step.item_id
                ORDER BY item_id, \(group) LIMIT 1
            ) AS own
            WHERE step.number < :groups_max
        )
        SELECT item_id, \(group) FROM step
        """)

    /// The groups of thresholds of fields, asked for each item, mode and conversion once. It jumps from group to group.
    static let fieldGroups = Statement(
        "update_field_groups",
        """
        WITH RECURSIVE step AS (
            SELECT own.* FROM unnest(:items, :modes, :fields, :conversions) AS asked (item_id, mode, field, conversion)
            CROSS JOIN LATERAL (
                SELECT item_id, \(group) FROM armed
                WHERE item_id = asked.item_id AND mode = asked.mode AND field = asked.field
                    AND conversion = asked.conversion
                ORDER BY item_id, \(group) LIMIT 1
            ) AS own
            UNION ALL
            SELECT own.* FROM step
            CROSS JOIN LATERAL (
                SELECT item_id, \(group) FROM armed
                WHERE item_id = step.item_id AND mode = step.mode AND field = step.field
                    AND conversion = step.conversion AND comparison > step.comparison
                ORDER BY item_id, \(group) LIMIT 1
            ) AS own
        )
        SELECT item_id, \(group) FROM step
        """)

    /// The different expressions at items, each with the terms of one of its subscriptions.
    static let expressions = Statement(
        "update_expressions",
        """
        WITH RECURSIVE step AS (
            SELECT i.id AS item_id, own.expression, own.subscription_id
            FROM \(itemsOfNames)
            CROSS JOIN LATERAL (
                SELECT expression, subscription_id FROM armed_other
                WHERE item_id = i.id ORDER BY item_id, expression LIMIT 1
            ) AS own
            UNION ALL
            SELECT step.item_id, own.expression, own.subscription_id
            FROM step CROSS JOIN LATERAL (
                SELECT expression, subscription_id FROM armed_other
                WHERE (item_id, expression) > (step.item_id, step.expression) AND item_id <= step.item_id
                ORDER BY item_id, expression LIMIT 1
            ) AS own
        )
        SELECT step.item_id, step.expression, s.mode, s.fields, s.trigger FROM step
        CROSS JOIN LATERAL (
            SELECT mode, fields, trigger FROM item_subscriptions WHERE id = step.subscription_id LIMIT 1
        ) AS s
        """)

    /// The subscriptions of thresholds whose bounds are in ranges.
    static let ofThresholds = Statement(
        "update_of_thresholds",
        """
        SELECT a.subscription_id
        FROM unnest(:items, :modes, :fields, :conversions, :comparisons, :lowest, :highest)
            AS asked (item_id, mode, field, conversion, comparison, lowest, highest)
        CROSS JOIN LATERAL (
            SELECT subscription_id FROM armed
            WHERE item_id = asked.item_id AND mode = asked.mode AND field = asked.field
                AND conversion = asked.conversion AND comparison = asked.comparison
                AND bound BETWEEN asked.lowest AND asked.highest
            ORDER BY item_id, \(group), bound
        ) AS a
        """)

    /// The subscriptions with an expression at an item.
    static let ofExpressions = Statement(
        "update_of_expressions",
        """
        SELECT a.subscription_id FROM unnest(:items, :expressions) AS asked (item_id, expression)
        CROSS JOIN LATERAL (
            SELECT subscription_id FROM armed_other
            WHERE item_id = asked.item_id AND expression = asked.expression ORDER BY item_id, expression
        ) AS a
        """)

    /// Reads, by rising id, those of the subscriptions whose triggers may fire.
    static let readArmed = Statement("update_read_armed", mayFire)

    /// Locks them too. Their terms are those after the lock.
    static let lockArmed = Statement("update_lock_armed", "\(mayFire) FOR NO KEY UPDATE OF s")

    /// Equality would make the ORDER BY redundant, and another index of held pushes could be read from end to end.
    private static let mayFire = """
        SELECT s.id, s.registration_id, s.mode, s.items, s.fields, s.trigger FROM item_subscriptions s
        CROSS JOIN LATERAL (SELECT state FROM registrations WHERE id = s.registration_id LIMIT 1) AS r
        WHERE s.id = ANY (:subscriptions) AND s.status = \(SubscriptionStatus.active.sql) AND s.trigger IS NOT NULL
            AND r.state < \(RegistrationState.retired.sql) AND (s.expires_at IS NULL OR s.expires_at > \(now))
            AND (
                SELECT subscription_id FROM held_pushes WHERE subscription_id BETWEEN s.id AND s.id
                ORDER BY subscription_id LIMIT 1
            ) IS NULL
        ORDER BY s.id
        """

    /// Fires the triggers of subscriptions, which are locked and active: each has a held push then, is triggered, and isn't
    /// armed any more. Returns how many. One that holds a push meanwhile stays armed.
    static let fire = Statement(
        "update_fire",
        """
        WITH held AS (
            INSERT INTO held_pushes
                (subscription_id, app_id, registration_id, item_id, is_triggered, texts, ready_at, due_at)
            SELECT fired.id, :app, fired.registration_id, fired.item_id, true,
                ARRAY(SELECT jsonb_array_elements_text(fired.texts)), fired.at, fired.at
            FROM (
                SELECT *, \(now) AS at FROM unnest(:subscriptions, :registrations, :items, :texts)
                    AS fired (id, registration_id, item_id, texts)
            ) AS fired
            ON CONFLICT DO NOTHING RETURNING subscription_id
        ), triggered AS (
            UPDATE item_subscriptions SET status = \(SubscriptionStatus.triggered.sql)
            WHERE id = ANY (ARRAY(SELECT subscription_id FROM held))
        ), disarmed AS (
            DELETE FROM armed WHERE subscription_id = ANY (ARRAY(SELECT subscription_id FROM held))
        ), disarmed_other AS (
            DELETE FROM armed_other WHERE subscription_id = ANY (ARRAY(SELECT subscription_id FROM held))
        )
        SELECT count(*) FROM held
        """)

    /// Writes items. Their times differ in the order of their last updates in the batch, by which rounds of followers tell
    /// the item that was updated last. The clock is read once. An item's time never goes back.
    static let write = Statement(
        "items_write",
        """
        UPDATE items i SET seq = input.seq, field_names = ARRAY(SELECT jsonb_array_elements_text(input.names)),
            field_texts = ARRAY(SELECT jsonb_array_elements_text(input.texts)),
            field_seqs = ARRAY(SELECT jsonb_array_elements_text(input.seqs)::bigint),
            updated_at = greatest(i.updated_at, (SELECT \(now)) + input.last_order * interval '1 microsecond')
        FROM unnest(:items, :item_seqs, :names, :texts, :seqs, :last_orders)
            AS input (id, seq, names, texts, seqs, last_order)
        WHERE i.id = input.id
        """)

    /// Makes items with followers due, once the gathering is over. One that is due already stays so.
    ///
    /// The item was locked before its row in item_due is looked at, as in a round. So a round that deletes the row has
    /// seen this update, or this statement waits for it and writes the row again.
    static let makeDue = Statement(
        "update_make_due",
        """
        INSERT INTO item_due (item_id, app_id, due_at)
        SELECT item.id, :app, \(now) + :gathering_us * interval '1 microsecond' FROM unnest(:items) AS item (id)
        WHERE EXISTS (SELECT FROM item_followers WHERE item_id = item.id)
        ON CONFLICT DO NOTHING
        """)

    static let addProducer = Statement(
        "update_add_producer",
        """
        INSERT INTO update_producers (app_id, producer, last_line) VALUES (:app, :producer, 0) ON CONFLICT DO NOTHING
        """)

    static let lockProducer = Statement(
        "update_lock_producer",
        "SELECT last_line FROM update_producers WHERE app_id = :app AND producer = :producer FOR NO KEY UPDATE")

    static let lastLine = Statement(
        "update_last_line", "SELECT last_line FROM update_producers WHERE app_id = :app AND producer = :producer")

    static let setLine = Statement(
        "update_set_line",
        "UPDATE update_producers SET last_line = :line WHERE app_id = :app AND producer = :producer")
}
