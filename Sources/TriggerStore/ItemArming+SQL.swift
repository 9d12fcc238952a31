import Postgres
import Store

/// The rows that lead from an item to its subscriptions. The statements run under `PlannerSQL.throughKeys`, with the subscription locked.
enum ItemArmingSQL {
    /// Waits for updates under way, and lets later ones wait, until the transaction ends. So an update either comes
    /// before the subscription or finds it. It takes items in the order of their names, as updates do.
    static let lockItems = Statement(
        "item_arming_lock_items",
        """
        SELECT i.id FROM unnest(:items) AS asked (id)
        CROSS JOIN LATERAL (SELECT id FROM items WHERE id = asked.id LIMIT 1 FOR SHARE) AS i
        """)

    /// Lets a subscription follow its items. It is notified of later updates only. Items that it follows already stay as
    /// they are.
    static let follow = Statement(
        "item_arming_follow",
        """
        INSERT INTO item_followers (item_id, subscription_id, sent_seq)
        SELECT id, :subscription, seq FROM items WHERE id = ANY (:items) ORDER BY id
        ON CONFLICT DO NOTHING
        """)

    static let arm = Statement(
        "item_arming_arm",
        """
        INSERT INTO armed (item_id, mode, field, conversion, comparison, bound, subscription_id)
        SELECT asked.id, :mode, threshold.field, threshold.conversion, threshold.comparison, threshold.bound, :subscription
        FROM unnest(:items) AS asked (id)
        CROSS JOIN unnest(:fields, :conversions, :comparisons, :bounds)
            AS threshold (field, conversion, comparison, bound)
        """)

    static let armOther = Statement(
        "item_arming_arm_other",
        """
        INSERT INTO armed_other (item_id, expression, subscription_id)
        SELECT asked.id, sha256(:expression), :subscription FROM unnest(:items) AS asked (id)
        """)

    static let unfollow = Statement(
        "item_arming_unfollow", "DELETE FROM item_followers WHERE subscription_id = :subscription")
    static let disarm = Statement("item_arming_disarm", "DELETE FROM armed WHERE subscription_id = :subscription")
    static let disarmOther = Statement(
        "item_arming_disarm_other", "DELETE FROM armed_other WHERE subscription_id = :subscription")

    /// Whether one of the items has so many expressions besides this one.
    ///
    /// It jumps from expression to expression, so that it passes no subscription.
    static let isFull = Statement(
        "item_arming_is_full",
        """
        SELECT EXISTS (
            SELECT FROM unnest(:items) AS asked (id)
            CROSS JOIN LATERAL (
                WITH RECURSIVE hop AS (
                    SELECT (\(next(after: nil))) AS expression
                    UNION ALL
                    SELECT (\(next(after: "hop.expression"))) FROM hop WHERE hop.expression IS NOT NULL
                )
                SELECT count(*) AS others FROM (
                    SELECT FROM hop WHERE expression <> sha256(:expression) LIMIT :limit
                ) AS counted
            ) AS item
            WHERE item.others >= :limit)
        """)

    private static func next(after last: String?) -> String {
        """
        SELECT expression FROM armed_other
                        WHERE item_id = asked.id\(last.map { " AND expression > \($0)" } ?? "")
                        ORDER BY item_id, expression LIMIT 1
        """
    }

    /// The push that a subscription holds, if its trigger has made it: the texts of its fields.
    static let held = Statement(
        "item_arming_held",
        """
        SELECT h.texts
        FROM item_subscriptions s
        CROSS JOIN LATERAL (SELECT texts FROM held_pushes WHERE subscription_id = s.id LIMIT 1) AS h
        WHERE s.key = :key AND s.registration_id = :registration AND h.texts IS NOT NULL
        """)

    /// Gives the held push of a trigger its texts in the order of other fields.
    static let rewriteHeld = Statement(
        "item_arming_rewrite_held",
        "UPDATE held_pushes SET texts = :texts WHERE subscription_id = :subscription AND is_triggered")

    /// Drops the held push of a subscription that does not follow the push's item any more. One that a trigger has made
    /// stays.
    static let dropHeld = Statement(
        "item_arming_drop_held",
        """
        DELETE FROM held_pushes
        WHERE subscription_id = :subscription AND NOT is_triggered AND NOT item_id = ANY (:items)
        """)
}
