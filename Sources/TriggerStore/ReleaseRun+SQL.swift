import Postgres
import Store

/// Releases of held pushes. They run under `PlannerSQL.inKeyOrder`.
enum ReleaseSQL {
    // A claim stands at the start of its transaction. `clock_timestamp()` would be asked for each row.
    private static let start = "coalesce(:now, now())"

    // Due pushes of the app `served.app_id`, those that have been due longest first.
    private static let isDue = """
        (h.app_id, h.due_at) >= (served.app_id, '-infinity') AND (h.app_id, h.due_at) <= (served.app_id, \(start))
        """

    /// Makes the windows of devices that hold due pushes.
    static let makeWindows = ItemPushSQL.makeWindows(
        "release_make_windows",
        of: """
            \(ItemPushSQL.appsInTurn("held_pushes"))
            SELECT due.registration_id FROM served
            CROSS JOIN LATERAL (
                SELECT h.registration_id FROM held_pushes h WHERE \(isDue)
                ORDER BY h.app_id, h.due_at, h.subscription_id LIMIT :limit
            ) AS due
            LIMIT :limit
            """)

    /// Claims devices that hold due pushes, by locking their windows. Apps take turns, beginning after the last one.
    ///
    /// A device whose window is locked already is passed over: another transaction decides on it.
    static let claim = Statement(
        "release_claim",
        """
        \(ItemPushSQL.appsInTurn("held_pushes"))
        SELECT due.registration_id, due.app_id, \(start)
        FROM served
        CROSS JOIN LATERAL (
            SELECT h.registration_id, h.app_id FROM held_pushes h
            JOIN device_windows w ON w.registration_id = h.registration_id
            WHERE \(isDue)
            ORDER BY h.app_id, h.due_at, h.subscription_id LIMIT :limit FOR UPDATE OF w SKIP LOCKED
        ) AS due
        LIMIT :limit
        """)

    // The first due push of a device.
    private static let first = """
        SELECT * FROM held_pushes WHERE registration_id = asked.registration_id AND due_at <= :now
            ORDER BY registration_id, ready_at, subscription_id LIMIT 1
        """

    /// Keeps the subscriptions of the devices' first due pushes, as `ItemPushSQL.keepSubscriptions` does.
    static let keepSubscriptions = Statement(
        "release_keep_subscriptions",
        """
        SELECT id FROM item_subscriptions WHERE id = ANY (ARRAY(
            SELECT h.subscription_id FROM unnest(:registrations) AS asked (registration_id)
            CROSS JOIN LATERAL (\(first)) AS h))
        ORDER BY id FOR KEY SHARE
        """)

    /// The first due push of each device, with its subscription: null, if that is being removed.
    static let read = Statement(
        "release_read",
        """
        SELECT asked.place, w.opens_at, h.subscription_id, h.item_id, h.ready_at, h.is_triggered,
            coalesce(h.texts, '{}'), r.route_id, r.provider, r.state, s.template_id, s.fields,
            s.mode, s.pause_seconds, s.when_paused, s.is_shown, s.expires_at <= :now IS TRUE
        FROM unnest(:registrations) WITH ORDINALITY AS asked (registration_id, place)
        CROSS JOIN LATERAL (
            SELECT opens_at FROM device_windows WHERE registration_id = asked.registration_id LIMIT 1
        ) AS w
        CROSS JOIN LATERAL (\(first)) AS h
        CROSS JOIN LATERAL (
            SELECT route_id, provider, state FROM registrations WHERE id = asked.registration_id LIMIT 1
        ) AS r
        LEFT JOIN LATERAL (
            SELECT template_id, fields, mode, pause_seconds, when_paused, is_shown, expires_at
            FROM item_subscriptions WHERE id = h.subscription_id LIMIT 1
        ) AS s ON true
        ORDER BY asked.place
        """)

    static let remove = Statement(
        "release_remove", "DELETE FROM held_pushes WHERE subscription_id = ANY (:subscriptions)")

    // Pushes of devices. A locked one belongs to a subscription that is being changed or removed; it comes again.
    private static func pushes(_ which: String) -> String {
        """
        CROSS JOIN LATERAL (
            SELECT subscription_id FROM held_pushes own
            WHERE registration_id = asked.registration_id AND \(which)
            ORDER BY registration_id, ready_at, subscription_id LIMIT :limit FOR UPDATE SKIP LOCKED
        ) AS h
        """
    }

    // Whether a push is kept while nothing may go to its device.
    private static let isKept = "is_triggered AND ready_at > :now - :kept_us * interval '1 microsecond'"

    /// Drops the due pushes of devices to which nothing may go, some at a time, but for those that are kept.
    static let drop = Statement(
        "release_drop",
        """
        DELETE FROM held_pushes WHERE subscription_id = ANY (ARRAY(
            SELECT h.subscription_id FROM unnest(:registrations) AS asked (registration_id)
            \(pushes("due_at <= :now AND NOT (\(isKept))"))))
        """)

    /// Puts off the due pushes of these devices that are kept, some at a time.
    static let keepHeld = Statement(
        "release_keep_held",
        """
        WITH kept AS MATERIALIZED (
            SELECT h.subscription_id FROM unnest(:registrations) AS asked (registration_id)
            \(pushes("due_at <= :now AND \(isKept)"))
        )
        UPDATE held_pushes h
        SET due_at = least(:now + :again_us * interval '1 microsecond', h.ready_at + :kept_us * interval '1 microsecond')
        FROM kept WHERE h.subscription_id = kept.subscription_id
        """)

    // Whether a person sees the push.
    private static let isShown = "(SELECT is_shown FROM item_subscriptions WHERE id = own.subscription_id LIMIT 1)"

    /// Puts pushes off to the time when their device's window opens, some of a device at a time. Where quiet hours shut
    /// it, pushes that nobody sees stay as they are.
    static let putOff = Statement(
        "release_put_off",
        """
        WITH late AS MATERIALIZED (
            SELECT h.subscription_id, asked.until
            FROM unnest(:registrations, :until, :are_quiet) AS asked (registration_id, until, is_quiet)
            \(pushes("due_at < asked.until AND (NOT asked.is_quiet OR \(isShown))"))
        )
        UPDATE held_pushes h SET due_at = late.until FROM late WHERE h.subscription_id = late.subscription_id
        """)
}
