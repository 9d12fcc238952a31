import Model
import Postgres
import Store
import TriggerRules

/// Subscriptions to items: found, written, removed. They run under `PlannerSQL.throughKeys`.
///
/// A transaction locks the device, then items, then the subscription, then its other rows. An update locks items before
/// subscriptions too.
enum ItemSubscriptionSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    /// Whether a subscription has not expired. An expired one is removed within seconds.
    private static func isLive(_ subscription: String) -> String {
        "(\(subscription).expires_at IS NULL OR \(subscription).expires_at > \(now))"
    }

    /// Makes the requests about one device's subscriptions wait for each other, until the transaction ends.
    static let lockDevice = Statement(
        "item_subscription_lock_device",
        "SELECT pg_advisory_xact_lock(x'6974656d'::integer, hashint8(:registration))")

    /// The app of a registration. It runs by itself.
    static let app = Statement("item_subscription_app", "SELECT app_id FROM registrations WHERE id = :registration")

    /// Keeps a registration and its user as they are until the transaction ends. A change of its user waits, and then
    /// ends the new subscription too.
    static let keepDevice = Statement(
        "item_subscription_keep_device",
        """
        SELECT id FROM registrations
        WHERE id = :registration AND app_id = :app AND (:user IS NULL OR user_id = :user) FOR SHARE
        """)

    /// Makes the items that don't exist, in the order of their names, as updates do.
    static let addItems = Statement(
        "item_subscription_add_items",
        """
        INSERT INTO items (app_id, name, updated_at)
        SELECT :app, asked.name, \(now) FROM unnest(:names) AS asked (name)
        WHERE NOT EXISTS (SELECT FROM items WHERE app_id = :app AND name = asked.name)
        ORDER BY asked.name COLLATE "C"
        ON CONFLICT DO NOTHING
        """)

    /// Keeps items from being removed until the transaction ends. It locks out no update.
    static let keepItems = Statement(
        "item_subscription_keep_items",
        """
        SELECT i.id FROM unnest(:names) AS asked (name)
        CROSS JOIN LATERAL (
            SELECT id FROM items WHERE app_id = :app AND name = asked.name LIMIT 1 FOR KEY SHARE
        ) AS i
        """)

    /// An app's items, up to a limit.
    static let countItems = Statement(
        "item_subscription_count_items",
        """
        SELECT count(*) FROM (
            SELECT FROM items WHERE app_id BETWEEN :app AND :app ORDER BY app_id, name LIMIT :limit) AS counted
        """)

    // The length comes first, so that no two templates have the same hash.
    private static let templateHash = "sha256(int4send(octet_length(:given)) || :given || :content)"

    static let addTemplate = Statement(
        "item_subscription_add_template",
        """
        INSERT INTO push_templates (app_id, sha256, given, content)
        SELECT :app, hash, :given, :content FROM (SELECT \(templateHash) AS hash) AS own
        WHERE NOT EXISTS (SELECT FROM push_templates WHERE app_id = :app AND sha256 = own.hash)
        ON CONFLICT DO NOTHING
        """)

    /// Keeps a template from being removed until the transaction ends.
    static let keepTemplate = Statement(
        "item_subscription_keep_template",
        "SELECT id FROM push_templates WHERE app_id = :app AND sha256 = \(templateHash) FOR KEY SHARE")

    /// Locks the oldest of a device's subscriptions with the same items, fields and trigger.
    ///
    /// Equality would make the ORDER BY redundant, and another index would give the order of ids: hence BETWEEN.
    static let alike = Statement(
        "item_subscription_alike",
        """
        SELECT id, key, status, user_id, fields, revision, created_at FROM item_subscriptions s
        WHERE registration_id BETWEEN :registration AND :registration
            AND identity_hash BETWEEN sha256(:identity) AND sha256(:identity) AND \(isLive("s"))
        ORDER BY registration_id, identity_hash, id LIMIT 1 FOR UPDATE
        """)

    /// Locks one of a device's subscriptions. The sum keeps the planner from reading all of the device's.
    static let lock = Statement(
        "item_subscription_lock",
        """
        SELECT id, key, status, user_id, fields, revision, created_at FROM item_subscriptions s
        WHERE key = :key AND registration_id + 0 = :registration AND \(isLive("s")) FOR UPDATE
        """)

    /// A device's subscriptions, up to a limit.
    static let count = Statement(
        "item_subscription_count",
        """
        SELECT count(*) FROM (
            SELECT FROM item_subscriptions WHERE registration_id BETWEEN :registration AND :registration
            ORDER BY registration_id, status, id LIMIT :limit) AS own
        """)

    static let add = Statement(
        "item_subscription_add",
        """
        INSERT INTO item_subscriptions (key, app_id, registration_id, user_id, items, fields, mode, trigger, template_id,
            is_shown, pause_seconds, when_paused, identity_hash, expires_at, created_at)
        VALUES (:key, :app, :registration, :user, :items, :fields, :mode, :trigger, :template, :is_shown,
            :pause_seconds, :when_paused, sha256(:identity), :expires_at, \(now))
        RETURNING id, created_at
        """)

    static let change = Statement(
        "item_subscription_change",
        """
        UPDATE item_subscriptions SET status = :status, user_id = :user, items = :items, fields = :fields, mode = :mode,
            trigger = :trigger, template_id = :template,
            template_changed_at = CASE WHEN template_id = :template THEN template_changed_at ELSE \(now) END, is_shown = :is_shown, pause_seconds = :pause_seconds,
            when_paused = :when_paused, identity_hash = sha256(:identity), expires_at = :expires_at,
            revision = revision + 1
        WHERE id = :subscription
        """)

    static let remove = Statement(
        "item_subscription_remove",
        """
        DELETE FROM item_subscriptions s
        WHERE key = :key AND registration_id = :registration AND \(isLive("s"))
        RETURNING registration_id
        """)

    /// Removes a device's subscriptions, locked in the order of their ids.
    static let removeAll = Statement(
        "item_subscription_remove_all",
        """
        DELETE FROM item_subscriptions WHERE id = ANY (ARRAY(
            SELECT id FROM item_subscriptions WHERE id = ANY (ARRAY(
                SELECT id FROM item_subscriptions s
                WHERE registration_id BETWEEN :registration AND :registration
                    AND (:status IS NULL OR status = :status) AND \(isLive("s"))
                ORDER BY registration_id, status, id))
            ORDER BY id FOR UPDATE))
        RETURNING registration_id
        """)

    /// Subscriptions that have expired, those that expired first.
    static let findExpired = Statement(
        "item_subscription_find_expired",
        """
        SELECT id, registration_id FROM item_subscriptions WHERE expires_at <= coalesce(:now, now())
        ORDER BY expires_at, id LIMIT :limit
        """)

    /// Removes those of some subscriptions that have expired still.
    static let removeExpired = Statement(
        "item_subscription_remove_expired",
        """
        DELETE FROM item_subscriptions WHERE id = ANY (ARRAY(
            SELECT id FROM item_subscriptions WHERE id = ANY (:subscriptions) AND expires_at <= coalesce(:now, now())
            ORDER BY id FOR UPDATE SKIP LOCKED))
        RETURNING registration_id
        """)
}
