import Model
import Postgres
import Store
import WakeUpRules

/// Fan-outs: due watches, read and cut into messages. They run under `PlannerSQL.throughKeys`.
enum FanOutSQL {
    // A claim is the first statement of its transaction. `clock_timestamp()` would be asked for each row.
    private static let start = "coalesce(:now, now())"
    private static let now = "coalesce(:now, clock_timestamp())"

    /// Claims due watches. Apps take turns, beginning after the last one; of each, those that have been due longest come
    /// first.
    ///
    /// It jumps from app to app, so that it passes no watch that will be due later.
    static let claim = Statement(
        "fan_out_claim",
        """
        WITH RECURSIVE ahead AS (\(apps("ahead", "app_id > :last_app"))),
            again AS (\(apps("again", "app_id <= :last_app")))
        SELECT due.watch_id, due.app_id, due.tries, due.round_seq, due.after_registration, due.skipped
        FROM (SELECT app_id FROM ahead UNION ALL SELECT app_id FROM again) AS served
        CROSS JOIN LATERAL (
            SELECT watch_id, app_id, tries, round_seq, after_registration, skipped FROM due_watches
            WHERE (app_id, due_at) >= (served.app_id, '-infinity') AND (app_id, due_at) <= (served.app_id, \(start))
            ORDER BY app_id, due_at, watch_id LIMIT :limit FOR UPDATE SKIP LOCKED
        ) AS due
        LIMIT :limit
        """)

    private static func apps(_ last: String, _ which: String) -> String {
        """
        SELECT (SELECT app_id FROM due_watches WHERE \(which) ORDER BY app_id LIMIT 1)
            UNION ALL
            SELECT (
                SELECT app_id FROM due_watches WHERE app_id > \(last).app_id AND \(which) ORDER BY app_id LIMIT 1
            ) FROM \(last) WHERE app_id IS NOT NULL
        """
    }

    /// The time until the next watch falls due, in microseconds.
    static let nextDue = Statement(
        "fan_out_next_due",
        """
        SELECT (extract(epoch FROM (SELECT due_at FROM due_watches ORDER BY due_at LIMIT 1) - clock_timestamp())
            * 1000000)::bigint
        """)

    // A child's path, and the range of the leaves below it.
    private static let child = "CASE WHEN w.path = '/' THEN '/' ELSE w.path || '/' END || changed.child"

    // A longer value fits no payload, and is read as an empty text, which is no JSON.
    private static let value = "CASE WHEN octet_length(value) <= \(WakeUpPayload.bytesMax) THEN value ELSE '' END"
    private static let leavesMax = String(NodeData.leavesMax)

    private static func leaves(_ path: String, _ limit: String) -> String {
        """
        SELECT path, \(value) AS value FROM nodes WHERE app_id = w.app_id AND path = \(path)
                UNION ALL (
                    SELECT path, \(value) FROM nodes
                    WHERE app_id = w.app_id AND path > \(prefix(path)) AND path < \(end(path))
                    ORDER BY app_id, path LIMIT \(limit))
        """
    }

    private static func prefix(_ path: String) -> String { "CASE WHEN \(path) = '/' THEN '/' ELSE \(path) || '/' END" }
    private static func end(_ path: String) -> String { "CASE WHEN \(path) = '/' THEN '0' ELSE \(path) || '0' END" }

    /// Reads watches in one snapshot, in the order of the parameter: their numbers, and the data of each node.
    ///
    /// The children that changed come with the data that they have now, those that changed last first. Nothing is read
    /// that no payload could hold.
    static let read = Statement(
        "fan_out_read",
        """
        SELECT w.id, w.app_id, a.slug, a.settings, w.path, w.seq, w.overflow_seq, w.moves, w.weight_bytes,
            w.weight_leaves, nr.revision, w.wants_value, w.wants_children, own.paths, own.values, log.seqs, log.children, log.existed, now.children, below.children,
            below.paths, below.values
        FROM unnest(:watches) WITH ORDINALITY AS asked (id, place)
        CROSS JOIN LATERAL (SELECT * FROM watches WHERE id = asked.id LIMIT 1) AS w
        CROSS JOIN LATERAL (
            SELECT slug, settings FROM apps WHERE id = w.app_id AND deleted_at IS NULL LIMIT 1
        ) AS a
        LEFT JOIN node_rules nr ON nr.app_id = w.app_id
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(path), '{}') AS paths, coalesce(array_agg(value), '{}') AS values
            FROM (SELECT * FROM (\(leaves("w.path", leavesMax))) AS leaf WHERE w.wants_value) AS leaf
        ) AS own
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(seq ORDER BY seq), '{}') AS seqs,
                coalesce(array_agg(child ORDER BY seq), '{}') AS children,
                coalesce(array_agg(existed ORDER BY seq), '{}') AS existed
            FROM (
                SELECT seq, child, existed FROM watch_changes WHERE watch_id = w.id AND w.wants_children
                ORDER BY watch_id DESC, seq DESC LIMIT :changes_max
            ) AS changed
        ) AS log
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(changed.child ORDER BY changed.newest DESC), '{}') AS children
            FROM (
                SELECT child, max(seq) AS newest FROM unnest(log.seqs, log.children) AS log (seq, child)
                GROUP BY child ORDER BY newest DESC LIMIT :children_max
            ) AS changed
            WHERE EXISTS (\(leaves(child, "1")))
        ) AS now
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(child), '{}') AS children, coalesce(array_agg(path), '{}') AS paths,
                coalesce(array_agg(value), '{}') AS values
            FROM (
                SELECT changed.child, leaf.path, leaf.value FROM unnest(now.children) AS changed (child)
                CROSS JOIN LATERAL (\(leaves(child, leavesMax))) AS leaf LIMIT \(leavesMax)
            ) AS leaf
        ) AS below
        ORDER BY asked.place
        """)

    /// The next subscriptions of watches, by rising registration. At most so many of each; in the order of the watches.
    ///
    /// The pair is compared as one: with `watch_id =`, the index of a registration's subscriptions has the same order.
    static let subscriptions = Statement(
        "fan_out_subscriptions",
        """
        SELECT asked.place, s.id, s.registration_id, s.mode, s.is_expired
        FROM unnest(:watches, :after) WITH ORDINALITY AS asked (watch_id, after, place)
        CROSS JOIN LATERAL (
            SELECT id, registration_id, mode, expires_at <= \(now) AS is_expired FROM subscriptions
            WHERE (watch_id, registration_id) > (asked.watch_id, asked.after) AND watch_id <= asked.watch_id
            ORDER BY watch_id, registration_id, id LIMIT :limit
        ) AS s
        ORDER BY asked.place, s.registration_id, s.id
        """)

    // Joined with the subscriptions in one statement, these took the server twice as long.
    static let lastReported = MemberStatement("fan_out_last_reported", key: "subscription_id") {
        """
        SELECT subscription_id, sent_seq, message_id FROM subscription_progress
        WHERE \($0) ORDER BY subscription_id
        """
    }

    static let devices = MemberStatement("fan_out_devices", key: "id") {
        """
        SELECT id, route_id, provider, state = \(RegistrationState.retired.sql) FROM registrations
        WHERE \($0) ORDER BY id
        """
    }

    static let lock = Statement(
        "fan_out_lock", "SELECT id FROM subscriptions WHERE id = ANY (:subscriptions) ORDER BY id FOR UPDATE")

    static let remove = Statement("fan_out_remove", "DELETE FROM subscriptions WHERE id = ANY (:subscriptions)")

    /// Forgets watches that were removed, or whose app was.
    static let forget = Statement("fan_out_forget", "DELETE FROM due_watches WHERE watch_id = ANY (:watches)")

    /// The members whose push of these messages was discarded.
    static let discarded = Statement(
        "fan_out_discarded",
        """
        SELECT message_id, members FROM push_history
        WHERE message_id = ANY (:messages) AND state IN (\([TerminalState.rejected, .unregistered, .expired, .suppressed, .cancelled, .gaveUp].sql))
        """)

    /// Messages whose pushes have left no trace: their history was removed.
    static let forgotten = Statement(
        "fan_out_forgotten",
        """
        SELECT asked.id FROM unnest(:messages) AS asked (id)
        WHERE NOT EXISTS (SELECT FROM push_history WHERE message_id = asked.id)
        """)

    /// Locks watches that had no subscription, so that none comes until they are removed.
    static let lockEmpty = Statement(
        "fan_out_lock_empty", "SELECT id FROM watches WHERE id = ANY (:watches) ORDER BY id FOR UPDATE")

    /// Removes those watches that have none still.
    static let removeEmpty = Statement(
        "fan_out_remove_empty",
        """
        DELETE FROM watches w WHERE id = ANY (:watches)
            AND NOT EXISTS (SELECT FROM subscriptions WHERE watch_id = w.id)
        """)

    /// The open parcels of messages, with their members.
    static let openParcels = Statement(
        "fan_out_open_parcels",
        "SELECT message_id, member_count, members, settled FROM parcels WHERE message_id = ANY (:messages)")

    /// Notes which changes were reported to subscriptions, unless these moved meanwhile. Without a message, there was
    /// nothing to report.
    static let progress = Statement(
        "fan_out_progress",
        """
        UPDATE subscription_progress p
        SET sent_seq = reported.seq, message_id = coalesce(reported.message_id, p.message_id)
        FROM unnest(:subscriptions, :were, :seqs, :messages) AS reported (id, was, seq, message_id)
        WHERE p.subscription_id = reported.id AND p.sent_seq = reported.was
        """)

    /// The same for subscriptions that all got the same message, in half of the time.
    static let commonProgress = MemberStatement("fan_out_progress_common", key: "subscription_id") {
        """
        UPDATE subscription_progress
        SET sent_seq = :seq, message_id = coalesce(:message, message_id)
        WHERE \($0) AND sent_seq = :was
        """
    }

    /// Ends slices of rounds. A watch whose last change was reported to all is not due any more; the others stay so. A
    /// change that came meanwhile could not bring the row forward, because it is locked: so the next round comes sooner
    /// here.
    ///
    /// It locks a watch before it deletes its row in due_watches, as writes do. So a write that comes later writes the
    /// row anew, and one that came before has raised the watch's number.
    static let end = Statement(
        "fan_out_end",
        """
        WITH ended AS MATERIALIZED (
            SELECT * FROM unnest(:watches, :wake_some, :reported_to_all, :next_us, :soonest_us, :tries, :round_seqs,
                    :moves, :after, :skipped)
                AS ended (id, wakes_some, reported_to_all, next_us, soonest_us, tries, round_seq, moves, after, skipped)
        ), locked AS MATERIALIZED (
            SELECT id FROM watches WHERE id = ANY (ARRAY(SELECT id FROM ended)) ORDER BY id FOR NO KEY UPDATE
        ), updated AS (
            UPDATE watches w SET cut_at = CASE WHEN ended.wakes_some THEN \(now) ELSE w.cut_at END,
                overflow_seq = CASE WHEN ended.reported_to_all THEN greatest(w.overflow_seq, ended.round_seq)
                    ELSE w.overflow_seq END
            FROM ended WHERE w.id = ended.id AND (SELECT count(*) FROM locked) > 0
            RETURNING w.id, ended.reported_to_all, w.seq <> ended.round_seq OR w.moves <> ended.moves AS has_changed
        ), forgotten AS (
            DELETE FROM watch_changes c USING ended
            WHERE ended.reported_to_all AND c.watch_id = ended.id AND c.seq <= ended.round_seq
        ), done AS (
            DELETE FROM due_watches d USING updated
            WHERE updated.reported_to_all AND NOT updated.has_changed AND d.watch_id = updated.id
        )
        UPDATE due_watches d
        SET due_at = \(now) + CASE WHEN updated.has_changed THEN ended.soonest_us ELSE ended.next_us END * interval '1 microsecond',
            soonest_at = \(now) + ended.soonest_us * interval '1 microsecond', tries = ended.tries,
            round_seq = CASE WHEN ended.after > 0 THEN ended.round_seq END, after_registration = ended.after,
            skipped = ended.skipped
        FROM ended, updated
        WHERE updated.id = ended.id AND (updated.has_changed OR NOT updated.reported_to_all) AND d.watch_id = ended.id
        """)
}
