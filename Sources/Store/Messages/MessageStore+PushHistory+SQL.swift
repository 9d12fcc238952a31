import Model
import Postgres

/// The history of single pushes.
enum HistorySQL {
    static let kind = Statement("history_kind", "SELECT kind FROM messages WHERE app_id = :app AND id = :message")

    /// The failures of a message, from a row of its history on. A newer program's providers can't be named here.
    ///
    /// Returns no more rows than hold `:members_max` members, since each may have thousands. Without a route, the
    /// members are places in the message's audience. The last row that is passed is always returned.
    static let failures = Statement(
        "history_failures",
        """
        SELECT parcel_id, settle, place, fits, number = :scan_max, route_id, CASE WHEN fits THEN members ELSE '' END,
            provider, state, reason, attempts, at
        FROM (
            SELECT passed.*, row_number() OVER walk AS number,
                sum(CASE WHEN fits THEN member_count ELSE 0 END) OVER walk - member_count AS before
            FROM (
                SELECT h.parcel_id, h.settle, h.place, h.route_id, r.provider, h.state, h.reason, h.attempts, h.at, h.members,
                    h.member_count,
                    h.state > \(TerminalState.accepted.sql) AND h.state = coalesce(:state, h.state)
                        AND h.reason = coalesce(:reason, h.reason)
                        AND (h.route_id = 0 OR coalesce(r.provider = ANY (:providers), false)) AS fits
                FROM push_history h LEFT JOIN routes r ON r.id = h.route_id
                WHERE h.message_id = :message AND (h.parcel_id, h.settle, h.place) >= (:parcel, :settle, :place)
                ORDER BY h.parcel_id, h.settle, h.place LIMIT :scan_max
            ) AS passed
            WINDOW walk AS (ORDER BY parcel_id, settle, place ROWS UNBOUNDED PRECEDING)
        ) AS counted
        WHERE fits AND before < :members_max OR number = :scan_max ORDER BY parcel_id, settle, place
        """)

    /// The providers' complaints about a message. There is one for a few of its reasons at most.
    static let details = Statement(
        "history_details",
        """
        SELECT state, reason, detail FROM message_reasons
        WHERE message_id = :message AND detail IS NOT NULL ORDER BY message_id, state, reason LIMIT 100
        """)

    static let names = Statement(
        "history_names", "SELECT id, installation FROM registrations WHERE id = ANY (:members) ORDER BY id")

    /// Tokens that the message named and no registration held.
    static let tokens = Statement(
        "history_tokens",
        "SELECT id, token FROM inline_targets WHERE id = ANY (:members) AND message_id = :message ORDER BY id")

    static let audience = Statement(
        "history_audience", "SELECT audience FROM message_contents WHERE message_id = :message")

    /// A message and the registration of an installation. A scheduled message has no horizon yet. `is_whole` says
    /// whether the history covers the whole audience: then a registration in none of its rows is not in the audience.
    static let subject = Statement(
        "history_subject",
        """
        SELECT m.kind, m.accepted_at, CASE WHEN EXISTS (SELECT FROM schedules WHERE message_id = m.id)
                THEN 9223372036854775807 ELSE m.horizon END, m.audience IS NOT NULL, r.id,
            m.planned_members = (SELECT coalesce(sum(pending), 0) FROM parcels WHERE message_id = m.id)
                + (SELECT coalesce(sum(member_count), 0) FROM push_history
                    WHERE message_id = m.id AND state >= \(TerminalState.accepted.sql)) AS is_whole,
            c.audience
        FROM messages m
        LEFT JOIN LATERAL (
            SELECT id FROM registrations
            WHERE app_id = :app AND installation = :installation AND kind = m.kind LIMIT 1
        ) AS r ON true
        LEFT JOIN message_contents c ON c.message_id = m.id
        WHERE m.app_id = :app AND m.id = :message
        """)

    /// The open parcels of a message behind one.
    static let openParcels = Statement(
        "history_open_parcels",
        """
        SELECT p.id, r.provider, r.environment, r.topic, p.attempt, p.due_at, p.waits_for, p.state, p.member_count, p.members,
            p.settled
        FROM parcels p JOIN routes r ON r.id = p.route_id
        WHERE p.message_id = :message AND p.id > :after ORDER BY p.id LIMIT :limit
        """)

    /// The rows of the history that may name a registration, behind one.
    static let about = Statement(
        "history_about",
        """
        SELECT h.parcel_id, h.settle, h.place, r.provider, r.environment, r.topic, h.state, h.reason, h.attempts, h.at,
            h.members
        FROM push_history h JOIN routes r ON r.id = h.route_id
        WHERE h.message_id = :message AND (h.parcel_id, h.settle, h.place) > (:parcel, :settle, :place)
            AND h.first_member <= :registration AND h.last_member >= :registration
        ORDER BY h.parcel_id, h.settle, h.place LIMIT :limit
        """)

    /// The rows about a name for which no registration was found. It stands at a place of the audience.
    static let aboutName = Statement(
        "history_about_name",
        """
        SELECT state, reason, at, members FROM push_history
        WHERE message_id = :message AND parcel_id = 0 AND route_id = 0 AND first_member <= :name AND last_member >= :name
        ORDER BY settle, place
        """)

    /// Today's day and the names of the history's partitions.
    static let partitions = Statement(
        "history_partitions",
        """
        SELECT extract(epoch FROM coalesce(:now, clock_timestamp()))::bigint / 86400, ARRAY(
            SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'push_history'::regclass ORDER BY 1)
        """)

    /// A lock that is held to the end of the transaction; the number is "hist" in ASCII.
    static let lockPartitions = Statement(
        "history_lock_partitions", "SELECT pg_try_advisory_xact_lock(x'68697374'::integer, 0)")

    /// Whether the default partition holds rows that belong in their day's partition.
    static let strays = Statement(
        "history_strays",
        "SELECT EXISTS (SELECT FROM push_history_other WHERE message_id >= :first AND message_id < :end)")

    /// Removes old rows of the messages below one. A message that was sent long after its id was made has younger rows.
    static let sweepRemaining = Statement(
        "history_sweep_other",
        """
        DELETE FROM push_history_other WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM push_history_other
            WHERE message_id < :end AND at < to_timestamp(:end_day * 86400) LIMIT :limit FOR UPDATE SKIP LOCKED))
        """)
}
