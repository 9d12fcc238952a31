import Postgres

/// The history of single pushes.
enum HistorySQL {
    /// $1 app, $2 message.
    static let kind = Statement("history_kind", "SELECT kind FROM messages WHERE app_id = $1 AND id = $2")

    /// - $1 message; $2 parcel, $3 settle and $4 place to begin at; $5 state or null, $6 reason or null.
    /// - $7 members at most, $8 rows passed at most, $9 known providers: a newer program's can't be named here.
    ///
    /// Returns no more rows than hold that many members, since each may have thousands. Without a route, the members
    /// are places in the message's audience. The $8th row passed is always returned. The last columns say whether a row
    /// is asked for, and whether it is the $8th.
    static let failures = Statement(
        "history_failures",
        """
        SELECT parcel_id, settle, place, provider, state, reason, attempts, at, CASE WHEN fits THEN members ELSE '' END,
            route_id, fits, number = $8
        FROM (
            SELECT passed.*, row_number() OVER walk AS number,
                sum(CASE WHEN fits THEN member_count ELSE 0 END) OVER walk - member_count AS before
            FROM (
                SELECT h.parcel_id, h.settle, h.place, h.route_id, r.provider, h.state, h.reason, h.attempts, h.at, h.members,
                    h.member_count,
                    h.state > 1 AND h.state = coalesce($5, h.state) AND h.reason = coalesce($6, h.reason)
                        AND (h.route_id = 0 OR coalesce(r.provider = ANY ($9), false)) AS fits
                FROM push_history h LEFT JOIN routes r ON r.id = h.route_id
                WHERE h.message_id = $1 AND (h.parcel_id, h.settle, h.place) >= ($2, $3, $4)
                ORDER BY h.parcel_id, h.settle, h.place LIMIT $8
            ) AS passed
            WINDOW walk AS (ORDER BY parcel_id, settle, place ROWS UNBOUNDED PRECEDING)
        ) AS counted
        WHERE fits AND before < $7 OR number = $8 ORDER BY parcel_id, settle, place
        """)

    /// $1 ids.
    static let names = Statement(
        "history_names", "SELECT id, installation FROM registrations WHERE id = ANY ($1) ORDER BY id")

    /// $1 ids, $2 message. Returns tokens that the message named and no registration held.
    static let tokens = Statement(
        "history_tokens",
        "SELECT id, token FROM inline_targets WHERE id = ANY ($1) AND message_id = $2 ORDER BY id")

    /// $1 message.
    static let audience = Statement(
        "history_audience", "SELECT audience FROM message_contents WHERE message_id = $1")

    /// $1 app, $2 message, $3 installation. A scheduled message has no horizon yet. The sixth column says whether the
    /// history covers the whole audience: then a registration in none of its rows is not in the audience.
    static let subject = Statement(
        "history_subject",
        """
        SELECT m.kind, m.accepted_at, CASE WHEN EXISTS (SELECT FROM schedules WHERE message_id = m.id)
                THEN 9223372036854775807 ELSE m.horizon END, m.audience IS NOT NULL, r.id,
            m.planned_members = (SELECT coalesce(sum(pending), 0) FROM parcels WHERE message_id = m.id)
                + (SELECT coalesce(sum(member_count), 0) FROM push_history WHERE message_id = m.id AND state > 0),
            c.audience
        FROM messages m
        LEFT JOIN LATERAL (
            SELECT id FROM registrations WHERE app_id = $1 AND installation = $3 AND kind = m.kind LIMIT 1
        ) AS r ON true
        LEFT JOIN message_contents c ON c.message_id = m.id
        WHERE m.app_id = $1 AND m.id = $2
        """)

    /// $1 message, $2 parcel to go on behind, $3 rows at most.
    static let openParcels = Statement(
        "history_open_parcels",
        """
        SELECT p.id, r.provider, r.environment, r.topic, p.state, p.attempt, p.due_at, p.waits_for, p.members, p.settled,
            p.member_count
        FROM parcels p JOIN routes r ON r.id = p.route_id
        WHERE p.message_id = $1 AND p.id > $2 ORDER BY p.id LIMIT $3
        """)

    /// $1 message, $2 registration; $3 parcel, $4 settle and $5 place to go on behind; $6 rows at most.
    static let about = Statement(
        "history_about",
        """
        SELECT h.parcel_id, h.settle, h.place, r.provider, r.environment, r.topic, h.state, h.reason, h.attempts, h.at,
            h.members
        FROM push_history h JOIN routes r ON r.id = h.route_id
        WHERE h.message_id = $1 AND (h.parcel_id, h.settle, h.place) > ($3, $4, $5)
            AND h.first_member <= $2 AND h.last_member >= $2
        ORDER BY h.parcel_id, h.settle, h.place LIMIT $6
        """)

    /// $1 message, $2 place in its audience. Returns what ended before a registration was found there.
    static let aboutName = Statement(
        "history_about_name",
        """
        SELECT state, reason, at, members FROM push_history
        WHERE message_id = $1 AND parcel_id = 0 AND route_id = 0 AND first_member <= $2 AND last_member >= $2
        ORDER BY settle, place
        """)

    /// $1 now. Returns today's day and the names of the history's partitions.
    static let partitions = Statement(
        "history_partitions",
        """
        SELECT extract(epoch FROM coalesce($1, clock_timestamp()))::bigint / 86400, ARRAY(
            SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'push_history'::regclass ORDER BY 1)
        """)

    /// A lock that is held to the end of the transaction; the number is "hist" in ASCII.
    static let lockPartitions = Statement(
        "history_lock_partitions", "SELECT pg_try_advisory_xact_lock(x'68697374'::integer, 0)")

    /// $1 first message, $2 end. Whether the default partition holds rows that belong in their day's partition.
    static let strays = Statement(
        "history_strays",
        "SELECT EXISTS (SELECT FROM push_history_other WHERE message_id >= $1 AND message_id < $2)")

    /// $1 the id below which messages go, $2 rows at most.
    static let sweepRemaining = Statement(
        "history_sweep_other",
        """
        DELETE FROM push_history_other WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM push_history_other WHERE message_id < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
