import Model
import Postgres
import QueueRules

/// Messages that have a rate, and their rate-limited parcels: state 4. `MessagePace` explains the numbers.
enum RateSQL {
    /// The condition that parcel `p` waits for the rate of its message. It excludes parcels in quarantine and
    /// cross-environment parcels, because both have their own order. Their pushes count against the rate all the same
    /// (`charge`).
    static func isRateLimited(_ message: String, lapses: String, origin: String) -> String {
        "\(message).rate_per_second IS NOT NULL AND \(lapses) < \(PoisonRule.quarantineFrom) AND \(origin) IS NULL"
    }

    private static func micros(_ duration: Duration) -> Int64 { duration.wholeMicroseconds }

    // The latest instant that a quantum may have.
    private static func bound(_ now: String) -> String {
        "\(now) + \(micros(MessagePace.waitMax)) * interval '1 microsecond'"
    }

    // The number of pushes that one lease may take: `MessagePace.quantum`.
    private static func quantum(perSecond: String) -> String {
        """
        greatest(1, least(\(perSecond) / \(MessagePace.quantaPerSecond),
            greatest(\(MessagePace.coarseQuantumMax), \(perSecond) / \(MessagePace.fineQuantaPerSecond))))
        """
    }

    // The instant of the next quantum: `MessagePace.instant`.
    private static func instant(_ next: String, now: String) -> String {
        "CASE WHEN \(next) > \(bound(now)) THEN \(now) ELSE \(next) END"
    }

    // The instant of the quantum after one of so many pushes: `MessagePace.next`.
    private static func next(after pushes: String, perSecond: String, now: String) -> String {
        """
        least(greatest(\(instant("b.next_at", now: now)), \(now) - \(micros(MessagePace.slack)) * interval '1 microsecond')
            + (\(pushes))::bigint * 1000000 / \(perSecond) * interval '1 microsecond', \(bound(now)))
        """
    }

    // The condition for messages of a route's app that have a rate, and are neither stopped nor skipped. Parameters:
    // $1 route.
    private static func mayGoOn(passing: String) -> String {
        """
        b.app_id = (SELECT app_id FROM routes WHERE id = $1) AND NOT (\(ControlSQL.isStopped("m")))
            AND m.rate_per_second IS NOT NULL AND b.message_id <> ALL (\(passing))
        """
    }

    private static let now = "coalesce($5, now())"

    /// $1 route, $2 owner, $3 lease in microseconds, $4 known formats, $5 now, $6 service, $7 messages to skip.
    ///
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
                    WHERE p.message_id = b.message_id AND p.route_id = $1 AND p.state = 4 AND p.due_at <= \(now)
                        AND p.service = $6 AND p.format = ANY ($4)
                    ORDER BY p.due_at, p.id LIMIT 1 FOR UPDATE SKIP LOCKED
                ) AS due
                WHERE \(mayGoOn(passing: "$7")) AND \(instant("b.next_at", now: now)) <= \(now)
                ORDER BY m.priority, due.due_at, due.id LIMIT 1 FOR UPDATE OF b SKIP LOCKED
            ), taken AS (
                UPDATE message_rates b SET next_at = \(next(after: "next.share", perSecond: "next.rate", now: now))
                FROM next WHERE b.message_id = next.message_id AND next.is_sent
            )
            UPDATE parcels p SET state = CASE WHEN next.share = next.pending THEN 2 ELSE 4 END,
                epoch = p.epoch + CASE WHEN next.share = next.pending THEN 1 ELSE 0 END,
                owner = CASE WHEN next.share = next.pending THEN $2 END,
                lease_until = CASE WHEN next.share = next.pending THEN \(now) + $3 * interval '1 microsecond' END,
                badge_marked = p.badge_marked OR next.is_sent AND next.share = next.pending
            FROM next, messages m
            WHERE p.id = next.id AND m.id = p.message_id
            RETURNING \(columns), next.share
            """)
    }

    /// Moves a quantum of a parcel to a parcel of its own, which is leased from the start. Its members count as handed
    /// over, as in a settle's remainder.
    ///
    /// Parameters: $1 parcel, $2 its bitmap after the split. Members that move: $3 their number, $4 themselves,
    /// $8 those that the badge mark leaves out. Lease: $5 owner, $6 microseconds, $7 now.
    static let split = Statement(
        "parcel_carve",
        """
        WITH rest AS (
            UPDATE parcels SET settled = $2, pending = pending - $3, handed_over = handed_over + $3
            WHERE id = $1 RETURNING *
        )
        INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, state, epoch, attempt, lapses,
            retry_spent, badge_marked, answer_lost, due_at, expires_at, owner, lease_until, members, member_count,
            pending, waits_for, uncounted)
        SELECT message_id, app_id, route_id, format, service, priority, 2, 1, attempt, lapses, retry_spent, true, answer_lost,
            due_at, expires_at, $5, coalesce($7, now()) + $6 * interval '1 microsecond', $4, $3, $3, waits_for, $8
        FROM rest
        RETURNING id
        """)

    /// Deletes the rate-limited parcels that come next and equal the leased one in all but their members, as long as
    /// all of them fit. Parameters: $1 leased parcel, $2 its message, $3 its route, $4 whether the badge mark was set
    /// before, $5 now, $6 parcels to look at, $7 members at most.
    static let gather = Statement(
        "parcel_gather",
        """
        WITH alike AS MATERIALIZED (
            SELECT w.id, sum(w.member_count) OVER (ORDER BY w.due_at, w.id) AS total
            FROM (
                SELECT * FROM parcels p
                WHERE p.message_id = $2 AND p.route_id = $3 AND p.state = 4 AND p.due_at <= coalesce($5, now())
                ORDER BY p.due_at, p.id LIMIT $6
            ) AS w JOIN parcels own ON own.id = $1 AND w.format = own.format AND w.attempt = own.attempt
                AND w.lapses = own.lapses AND w.retry_spent = own.retry_spent AND w.answer_lost = own.answer_lost
                AND w.waits_for IS NOT DISTINCT FROM own.waits_for AND w.expires_at = own.expires_at
            WHERE w.badge_marked = $4 AND w.epoch = 0 AND w.settled IS NULL AND w.uncounted IS NULL
        )
        DELETE FROM parcels WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE id = ANY (ARRAY(SELECT id FROM alike WHERE total <= $7)) AND state = 4
            ORDER BY id FOR UPDATE SKIP LOCKED))
        RETURNING id, members, member_count
        """)

    /// $1 parcel, $2 members, $3 how many.
    static let grow = Statement(
        "parcel_grow", "UPDATE parcels SET members = $2, member_count = $3, pending = $3 WHERE id = $1")

    /// The time until the route's next quantum in microseconds. Zero or less: at once; null: no parcel waits.
    /// Parameters: $1 route, $2 now, $3 known formats, $4 messages to skip, $5 service.
    static let next = Statement(
        "message_rates_next",
        """
        SELECT (extract(epoch FROM min(\(instant("b.next_at", now: "coalesce($2, now())"))) - coalesce($2, now()))
            * 1000000)::bigint
        FROM message_rates b JOIN messages m ON m.id = b.message_id
        WHERE \(mayGoOn(passing: "$4")) AND EXISTS (
            SELECT FROM parcels p WHERE p.message_id = b.message_id AND p.route_id = $1 AND p.state = 4
                AND p.service = $5 AND p.due_at <= coalesce($2, now()) AND p.format = ANY ($3))
        """)

    /// Routes with rate-limited parcels, and the time until the next quantum in microseconds. Parameters: $1 now,
    /// $2 known formats, $3 how many.
    ///
    /// It hops from route to route of each message, so its cost follows the routes, not the parcels.
    static let routes = Statement(
        "message_rates_routes",
        """
        WITH RECURSIVE hop AS (
            SELECT b.message_id, b.next_at, (
                SELECT p.route_id FROM parcels p WHERE p.message_id = b.message_id AND p.state = 4
                ORDER BY p.message_id, p.route_id LIMIT 1) AS route_id
            FROM message_rates b JOIN messages m ON m.id = b.message_id WHERE NOT (\(ControlSQL.isStopped("m")))
            UNION ALL
            SELECT hop.message_id, hop.next_at, (
                SELECT p.route_id FROM parcels p
                WHERE p.message_id = hop.message_id AND p.state = 4 AND p.route_id > hop.route_id
                ORDER BY p.message_id, p.route_id LIMIT 1)
            FROM hop WHERE hop.route_id IS NOT NULL
        ), due AS (
            SELECT hop.route_id, waiting.service,
                min(\(instant("hop.next_at", now: "coalesce($1, now())"))) AS next_at
            FROM hop CROSS JOIN LATERAL (
                SELECT p.service FROM parcels p
                WHERE p.message_id = hop.message_id AND p.route_id = hop.route_id AND p.state = 4
                    AND p.due_at <= coalesce($1, now()) AND p.format = ANY ($2)
                LIMIT 1
            ) AS waiting
            WHERE hop.route_id IS NOT NULL GROUP BY 1, 2
        )
        SELECT r.id, r.app_id, r.provider, r.environment, r.topic, due.service,
            greatest(0, extract(epoch FROM due.next_at - coalesce($1, now())) * 1000000)::bigint
        FROM due JOIN routes r ON r.id = due.route_id ORDER BY r.id, due.service LIMIT $3
        """)

    /// Charges pushes that were leased without having waited. A negative number returns pushes of a quantum that were
    /// deferred by limits. Parameters: $1 message, $2 pushes, $3 now.
    static let charge = Statement(
        "message_rates_charge",
        """
        UPDATE message_rates b SET
            next_at = \(next(after: "$2", perSecond: "m.rate_per_second", now: "coalesce($3, now())"))
        FROM messages m WHERE b.message_id = $1 AND m.id = b.message_id AND m.rate_per_second IS NOT NULL
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
