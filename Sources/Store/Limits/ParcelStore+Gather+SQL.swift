import Model
import Postgres
import QueueRules

/// Messages that have a rate, and their rate-limited parcels. `MessagePace` explains the numbers.
enum RateSQL {
    /// The condition that parcel `p` waits for the rate of its message. It excludes parcels in quarantine and
    /// cross-environment parcels, because both have their own order. Their pushes count against the rate all the same
    /// (`charge`).
    static func isRateLimited(_ message: String, lapses: String, origin: String) -> String {
        "\(message).rate_per_second IS NOT NULL AND \(lapses) < \(PoisonRule.quarantineFrom) AND \(origin) IS NULL"
    }

    private static func micros(_ duration: Duration) -> Int64 { duration.wholeMicroseconds }

    // The latest instant that a quantum may have.
    private static let latest = "\(now) + \(micros(MessagePace.waitMax)) * interval '1 microsecond'"

    // The number of pushes that one lease may take: `MessagePace.quantum`.
    private static func quantum(perSecond: String) -> String {
        """
        greatest(1, least(\(perSecond) / \(MessagePace.quantaPerSecond),
            greatest(\(MessagePace.coarseQuantumMax), \(perSecond) / \(MessagePace.fineQuantaPerSecond))))
        """
    }

    // The instant of the next quantum: `MessagePace.instant`.
    private static func instant(_ next: String) -> String {
        "CASE WHEN \(next) > \(latest) THEN \(now) ELSE \(next) END"
    }

    // The instant of the quantum after one of so many pushes: `MessagePace.next`.
    private static func next(after pushes: String, perSecond: String) -> String {
        """
        least(greatest(\(instant("b.next_at")), \(now) - \(micros(MessagePace.slack)) * interval '1 microsecond')
            + (\(pushes))::bigint * 1000000 / \(perSecond) * interval '1 microsecond', \(latest))
        """
    }

    // The condition for messages of the route's app that have a rate, and are neither stopped nor skipped.
    private static let mayGoOn = """
        b.app_id = (SELECT app_id FROM routes WHERE id = :route) AND NOT (\(ControlSQL.isStopped("m")))
            AND m.rate_per_second IS NOT NULL AND b.message_id <> ALL (:skipped)
        """

    private static let (leased, limited) = (ParcelState.leased.sql, ParcelState.rateLimited.sql)
    private static let now = "coalesce(:now, now())"
    private static let leaseEnd = "\(now) + :lease_us * interval '1 microsecond'"

    /// Returns the columns of `ParcelSQL.claimOrdinary` and the number of members to lease. If these are not all its
    /// members, the parcel keeps its state, and `split` follows. An expired parcel takes nothing of the rate.
    static func claim(returning columns: String) -> Statement {
        Statement(
            "parcel_claim_paced",
            """
            WITH next AS MATERIALIZED (
                SELECT due.id, due.badge_marked, due.pending, due.is_sent, b.message_id, m.rate_per_second AS rate,
                    CASE WHEN due.is_sent
                        THEN least(due.pending, \(quantum(perSecond: "m.rate_per_second")))
                        ELSE due.pending END AS share
                FROM message_rates b JOIN messages m ON m.id = b.message_id
                CROSS JOIN LATERAL (
                    SELECT p.id, p.badge_marked, p.pending, p.due_at, p.expires_at > \(now) AS is_sent FROM parcels p
                    WHERE p.message_id = b.message_id AND p.route_id = :route AND p.state = \(limited)
                        AND p.due_at <= \(now) AND p.service = :service AND p.format = ANY (:formats)
                    ORDER BY p.due_at, p.id LIMIT 1 FOR UPDATE SKIP LOCKED
                ) AS due
                WHERE \(mayGoOn) AND \(instant("b.next_at")) <= \(now)
                ORDER BY m.priority, due.due_at, due.id LIMIT 1 FOR UPDATE OF b SKIP LOCKED
            ), taken AS (
                UPDATE message_rates b SET next_at = \(next(after: "next.share", perSecond: "next.rate"))
                FROM next WHERE b.message_id = next.message_id AND next.is_sent
            )
            UPDATE parcels p SET state = CASE WHEN next.share = next.pending THEN \(leased) ELSE \(limited) END,
                epoch = p.epoch + CASE WHEN next.share = next.pending THEN 1 ELSE 0 END,
                owner = CASE WHEN next.share = next.pending THEN :owner END,
                lease_until = CASE WHEN next.share = next.pending THEN \(leaseEnd) END,
                badge_marked = p.badge_marked OR next.is_sent AND next.share = next.pending
            FROM next, messages m
            WHERE p.id = next.id AND m.id = p.message_id
            RETURNING \(columns), next.share
            """)
    }

    /// Moves a quantum of a parcel to a parcel of its own, which is leased from the start. Its members count as handed
    /// over, as in a settle's remainder.
    static let split = Statement(
        "parcel_carve",
        """
        WITH whole AS (
            UPDATE parcels SET settled = :settled, pending = pending - :member_count,
                handed_over = handed_over + :member_count
            WHERE id = :parcel RETURNING *
        )
        INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, state, epoch, attempt, lapses,
            retry_spent, badge_marked, badge_set, answer_lost, due_at, expires_at, owner, lease_until, members,
            member_count, pending, waits_for, wait_quote, waits_since, uncounted)
        SELECT message_id, app_id, route_id, format, service, priority, \(leased), 1, attempt, lapses, retry_spent, true,
            badge_set, answer_lost, due_at, expires_at, :owner, \(leaseEnd), :members, :member_count, :member_count,
            waits_for, wait_quote, waits_since, :uncounted
        FROM whole
        RETURNING id
        """)

    /// Deletes the rate-limited parcels that come next and equal the leased one in all but their members, as long as
    /// all of them fit. Parcels with a number of a set stay apart: each keeps its own.
    static let gather = Statement(
        "parcel_gather",
        """
        WITH alike AS MATERIALIZED (
            SELECT other.id, sum(other.member_count) OVER (ORDER BY other.due_at, other.id) AS total
            FROM (
                SELECT * FROM parcels p
                WHERE p.message_id = :message AND p.route_id = :route AND p.state = \(limited) AND p.due_at <= \(now)
                ORDER BY p.due_at, p.id LIMIT :parcels_max
            ) AS other JOIN parcels own ON own.id = :parcel AND other.format = own.format
                AND other.attempt = own.attempt AND other.lapses = own.lapses AND other.retry_spent = own.retry_spent
                AND other.answer_lost = own.answer_lost AND other.waits_for IS NOT DISTINCT FROM own.waits_for
                AND other.expires_at = own.expires_at
            WHERE other.badge_marked = :is_marked AND other.epoch = 0 AND other.settled IS NULL
                AND other.uncounted IS NULL AND other.badge_set IS NULL AND own.badge_set IS NULL
        )
        DELETE FROM parcels WHERE id = ANY (ARRAY(
            SELECT id FROM parcels
            WHERE id = ANY (ARRAY(SELECT id FROM alike WHERE total <= :members_max)) AND state = \(limited)
            ORDER BY id FOR UPDATE SKIP LOCKED))
        RETURNING id, members, member_count
        """)

    /// Gives a quantum the members that it gathered.
    static let grow = Statement(
        "parcel_grow",
        "UPDATE parcels SET members = :members, member_count = :count, pending = :count WHERE id = :parcel")

    /// The time until the route's next quantum in microseconds. Zero or less: at once; null: no parcel waits.
    static let next = Statement(
        "message_rates_next",
        """
        SELECT (extract(epoch FROM min(\(instant("b.next_at"))) - \(now)) * 1000000)::bigint
        FROM message_rates b JOIN messages m ON m.id = b.message_id
        WHERE \(mayGoOn) AND EXISTS (
            SELECT FROM parcels p WHERE p.message_id = b.message_id AND p.route_id = :route AND p.state = \(limited)
                AND p.service = :service AND p.due_at <= \(now) AND p.format = ANY (:formats))
        """)

    /// Routes with rate-limited parcels, and the time until the next quantum in microseconds.
    ///
    /// It hops from route to route of each message, so its cost follows the routes, not the parcels.
    static let routes = Statement(
        "message_rates_routes",
        """
        WITH RECURSIVE hop AS (
            SELECT b.message_id, b.next_at, (
                SELECT p.route_id FROM parcels p WHERE p.message_id = b.message_id AND p.state = \(limited)
                ORDER BY p.message_id, p.route_id LIMIT 1) AS route_id
            FROM message_rates b JOIN messages m ON m.id = b.message_id WHERE NOT (\(ControlSQL.isStopped("m")))
            UNION ALL
            SELECT hop.message_id, hop.next_at, (
                SELECT p.route_id FROM parcels p
                WHERE p.message_id = hop.message_id AND p.state = \(limited) AND p.route_id > hop.route_id
                ORDER BY p.message_id, p.route_id LIMIT 1)
            FROM hop WHERE hop.route_id IS NOT NULL
        ), due AS (
            SELECT hop.route_id, waiting.service, min(\(instant("hop.next_at"))) AS next_at
            FROM hop CROSS JOIN LATERAL (
                SELECT p.service FROM parcels p
                WHERE p.message_id = hop.message_id AND p.route_id = hop.route_id AND p.state = \(limited)
                    AND p.due_at <= \(now) AND p.format = ANY (:formats)
                LIMIT 1
            ) AS waiting
            WHERE hop.route_id IS NOT NULL GROUP BY 1, 2
        )
        SELECT r.id, r.app_id, r.provider, r.environment, r.topic, due.service,
            greatest(0, extract(epoch FROM due.next_at - \(now)) * 1000000)::bigint
        FROM due JOIN routes r ON r.id = due.route_id ORDER BY r.id, due.service LIMIT :limit
        """)

    /// Charges pushes that were leased without having waited. A negative number returns pushes of a quantum that were
    /// deferred by limits.
    static let charge = Statement(
        "message_rates_charge",
        """
        UPDATE message_rates b SET next_at = \(next(after: ":pushes", perSecond: "m.rate_per_second"))
        FROM messages m WHERE b.message_id = :message AND m.id = b.message_id AND m.rate_per_second IS NOT NULL
        """)

    /// Makes ready parcels rate-limited, whatever left them ready.
    static let wait = Statement(
        "message_rates_wait",
        """
        UPDATE parcels p SET state = \(ParcelState.rateLimited.sql) FROM messages m
        WHERE p.id = ANY (ARRAY(
            SELECT w.id FROM parcels w
            WHERE w.message_id = :message AND w.state = \(ParcelState.ready.sql)
                AND w.lapses < \(PoisonRule.quarantineFrom) AND w.origin_route_id IS NULL
                AND w.expires_at > coalesce(:now, now())
            ORDER BY w.id LIMIT :limit FOR UPDATE SKIP LOCKED))
            AND m.id = :message AND m.rate_per_second IS NOT NULL
        """)

    /// Makes parcels ready that no longer wait for a rate: their message has none, or they have expired.
    static let release = Statement(
        "message_rates_release",
        """
        UPDATE parcels SET state = \(ParcelState.ready.sql) WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = :message AND state = \(ParcelState.rateLimited.sql)
                AND (expires_at <= coalesce(:now, now())
                    OR EXISTS (SELECT FROM messages WHERE id = :message AND rate_per_second IS NULL))
            ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = :message AND NOT (\(ControlSQL.isStopped("m"))))
        """)

    /// Without a rate per second, the message has no limit.
    static let change = Statement(
        "message_rate_change",
        """
        WITH changed AS (
            UPDATE messages SET rate_per_second = :per_second
            WHERE app_id = :app AND id = :message AND state < \(MessageState.finished.sql)
                AND rate_per_second IS DISTINCT FROM :per_second
            RETURNING id
        ) \(PaceSQL.forgotten)
        """)

    static let open = Statement(
        "message_rates_open",
        """
        INSERT INTO message_rates AS b (message_id, app_id, next_at)
        SELECT id, app_id, coalesce(:now, clock_timestamp()) FROM messages
        WHERE app_id = :app AND id = :message AND rate_per_second IS NOT NULL AND state < \(MessageState.finished.sql)
        ON CONFLICT (message_id) DO UPDATE
        SET next_at = least(b.next_at, excluded.next_at + \(micros(MessagePace.debtMax)) * interval '1 microsecond')
        """)

    static let close = Statement(
        "message_rates_close",
        """
        DELETE FROM message_rates WHERE message_id = :message AND EXISTS (
            SELECT FROM messages WHERE app_id = :app AND id = :message AND rate_per_second IS NULL)
        """)

    /// Deletes the rates of messages that are over.
    static let forget = Statement(
        "message_rates_forget",
        """
        DELETE FROM message_rates b USING messages m
        WHERE m.id = b.message_id AND (m.state = \(MessageState.finished.sql)
            OR m.state = \(MessageState.cancelled.sql) AND m.audience = m.members)
        """)

    /// The rates of messages that this process is sending.
    static let among = Statement(
        "message_rates_among",
        """
        SELECT id, rate_per_second FROM messages
        WHERE id = ANY (:messages) AND rate_per_second IS NOT NULL ORDER BY id
        """)
}
