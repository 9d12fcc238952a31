import Model
import Postgres
import Store

/// Statements that rounds of followers and releases of held pushes share. But for the first one, they run under
/// `PlannerSQL.inKeyOrder`.
enum ItemPushSQL {
    /// The time until the next item or held push falls due, in microseconds. It runs by itself.
    static let nextDue = Statement(
        "item_push_next_due",
        """
        SELECT (extract(epoch FROM least((SELECT due_at FROM item_due ORDER BY due_at LIMIT 1),
            (SELECT due_at FROM held_pushes ORDER BY due_at LIMIT 1)) - clock_timestamp()) * 1000000)::bigint
        """)

    static let templates = Statement(
        "item_push_templates", "SELECT id, content FROM push_templates WHERE id = ANY (:templates)")

    /// Items with the numbers of their fields, in the order of the parameter.
    static let items = Statement(
        "item_push_items",
        """
        SELECT i.id, i.app_id, i.name, i.seq, i.field_names, i.field_texts, i.field_seqs,
            i.updated_at
        FROM unnest(:items) WITH ORDINALITY AS asked (id, place)
        CROSS JOIN LATERAL (SELECT * FROM items WHERE id = asked.id LIMIT 1) AS i
        ORDER BY asked.place
        """)

    /// Whether apps have subscriptions to items switched on, their pause in seconds, and whether they set quiet hours.
    static let apps = Statement("item_push_apps", settings)

    /// The same. It keeps the apps' settings until the transaction ends. A change of them waits, and then finds what was put
    /// off.
    static let keepApps = Statement("item_push_keep_apps", "\(settings) ORDER BY id FOR SHARE")

    private static let settings = """
        SELECT id, deleted_at IS NULL AND coalesce((settings -> 'triggers' ->> 'enabled')::boolean, false),
            coalesce((settings -> 'triggers' ->> 'pause_seconds')::integer, \(TriggerSettings().pauseSeconds)),
            settings ->> 'quiet_hours' IS NOT NULL
        FROM apps WHERE id = ANY (:apps)
        """

    /// The end of the quiet hours on the clocks of devices, by their apps' settings. null: there are none now. Each zone of
    /// an app is one row, and is evaluated once.
    ///
    /// It keeps the apps' settings until the transaction ends. A change of them waits, and then finds what was put off.
    static let quietHours = MemberStatement("item_push_quiet_hours", key: "r.id") {
        """
        WITH hours AS MATERIALIZED (
            SELECT id, coalesce(settings ->> 'time_zone', 'UTC') AS zone,
                (settings #>> '{quiet_hours,from}')::time AS hour_from,
                (settings #>> '{quiet_hours,to}')::time AS hour_to
            FROM apps WHERE id = ANY (:apps) ORDER BY id FOR SHARE
        ), zones AS MATERIALIZED (
            SELECT r.app_id, coalesce(r.time_zone, '') AS name, array_agg(r.id) AS registrations
            FROM registrations r WHERE \($0) GROUP BY r.app_id, coalesce(r.time_zone, '')
        )
        SELECT zones.registrations, quiet_until(:now, hours.hour_from, hours.hour_to, zones.name, hours.zone)
        FROM zones JOIN hours ON hours.id = zones.app_id
        """
    }

    /// Makes the windows of devices that have none, in the order of their ids. Each is open.
    ///
    /// It keeps the registrations meanwhile: a removed one takes its window with it.
    static func makeWindows(_ name: String, of registrations: String) -> Statement {
        Statement(
            name,
            """
            INSERT INTO device_windows (registration_id, opens_at)
            SELECT id, '-infinity' FROM registrations WHERE id = ANY (ARRAY(
                SELECT asked.id FROM (\(registrations)) AS asked (id)
                WHERE (SELECT true FROM device_windows WHERE registration_id = asked.id LIMIT 1) IS NULL))
            ORDER BY id FOR KEY SHARE
            ON CONFLICT DO NOTHING
            """)
    }

    /// Keeps subscriptions from being changed or removed until the transaction ends. Updates may fire their triggers.
    ///
    /// A statement that reads them comes behind it, and sees what it waited for.
    static let keepSubscriptions = MemberStatement("item_push_keep_subscriptions", key: "id") {
        "SELECT id FROM item_subscriptions WHERE \($0) ORDER BY id FOR KEY SHARE"
    }

    /// Shuts windows that the transaction has locked.
    static let shut = Statement(
        "item_pushes_cut",
        """
        UPDATE device_windows w SET opens_at = shut.opens_at
        FROM unnest(:registrations, :opens_at) AS shut (registration_id, opens_at)
        WHERE w.registration_id = shut.registration_id
        """)

    /// Notes up to which of an item's updates its followers were notified. Each row may be named once.
    ///
    /// The windows of the devices are locked, so two rounds or releases never write the same rows. Changes of subscriptions
    /// write their rows with the subscription locked, which a round keeps.
    static let note = Statement(
        "item_push_note",
        """
        UPDATE item_followers f SET sent_seq = reported.seq
        FROM unnest(:items, :subscriptions, :seqs) AS reported (item_id, subscription_id, seq)
        WHERE f.item_id = reported.item_id AND f.subscription_id = reported.subscription_id
            AND f.sent_seq < reported.seq
        """)

    /// The apps with rows in a table, beginning behind the last one that was served: the name of a subquery, and the
    /// common table expressions that it needs. It jumps from app to app.
    static func appsInTurn(_ table: String) -> String {
        """
        WITH RECURSIVE ahead AS (\(apps(table, "ahead", "app_id > :last_app"))),
            again AS (\(apps(table, "again", "app_id <= :last_app"))),
            served AS (SELECT app_id FROM ahead UNION ALL SELECT app_id FROM again)
        """
    }

    private static func apps(_ table: String, _ last: String, _ which: String) -> String {
        """
        SELECT (SELECT app_id FROM \(table) WHERE \(which) ORDER BY app_id LIMIT 1)
            UNION ALL
            SELECT (
                SELECT app_id FROM \(table) WHERE app_id > \(last).app_id AND \(which) ORDER BY app_id LIMIT 1
            ) FROM \(last) WHERE app_id IS NOT NULL
        """
    }
}
