import Basis
import Model
import Postgres
import QueueRules

/// What an app spares its people, asked of a leased parcel's members where its app set something. Under
/// `PlannerSQL.inKeyOrder`, in the order of the statements.
enum LimitSQL {
    /// The limits that hold for the parcel `p` of the message `m`, as `AppLimits`; null, mostly, or 0: none. Only what a
    /// person sees counts, and what reaches one.
    static func ofParcel(now: String) -> String {
        """
        CASE WHEN m.push_type = 1 AND NOT m.is_dry_run AND p.expires_at > \(now) THEN (
            SELECT nullif(((a.settings ->> 'quiet_hours' IS NOT NULL)::integer
                + 2 * (a.settings ->> 'daily_cap' IS NOT NULL)::integer) & ~(m.ignored_limits::integer), 0)::smallint
            FROM apps a WHERE a.id = p.app_id) END
        """
    }

    private static let quietHours = """
        CROSS JOIN LATERAL (SELECT coalesce(a.settings ->> 'time_zone', 'UTC') AS zone,
            (a.settings #>> '{quiet_hours,from}')::time AS hour_from,
            (a.settings #>> '{quiet_hours,to}')::time AS hour_to) AS said
        """

    /// $1 app, $2 now. By the app's own clock: until when its quiet hours last, its cap, and the day, as days since 1970.
    static let ofApp = Statement(
        "limits_of_app",
        """
        SELECT quiet_until($2, said.hour_from, said.hour_to, said.zone, said.zone), (a.settings ->> 'daily_cap')::integer,
            day_of($2, said.zone) - date '1970-01-01'
        FROM apps a \(quietHours) WHERE a.id = $1
        """)

    /// $1 app, $2 now. Until when the quiet hours last on each one's clock, and whose it is, unless it was retired. Each
    /// zone is asked once.
    static let ofMembers = MemberStatement("member_limits", key: "r.id", after: 2) {
        """
        WITH members AS MATERIALIZED (
            SELECT r.id, r.time_zone, CASE WHEN r.state < 3 THEN coalesce('user:' || r.user_id, 'device:' || r.id) END
                AS who
            FROM registrations r WHERE \($0) ORDER BY r.id
        ), zones AS MATERIALIZED (
            SELECT array_agg(used.name) AS names,
                array_agg(quiet_until($2, said.hour_from, said.hour_to, used.name, said.zone)) AS untils
            FROM (SELECT DISTINCT coalesce(time_zone, '') AS name FROM members) AS used
            CROSS JOIN apps a \(quietHours) WHERE a.id = $1
        )
        SELECT members.id, zones.untils[array_position(zones.names, coalesce(members.time_zone, ''))], members.who
        FROM members CROSS JOIN zones ORDER BY members.id
        """
    }

    /// The last parcel that there is.
    static let lastParcel = Statement("limits_last_parcel", "SELECT coalesce(max(id), 0) FROM parcels")

    // $1 app, $2 now, $3 behind which parcel, $4 up to which one, $5 how many. What waits for the end of quiet hours is due,
    // and judged anew by its lease. Waits for who has one locked, since it would be passed for good.
    private static let wake = Statement(
        "limits_wake",
        """
        WITH waiting AS MATERIALIZED (
            SELECT p.id FROM messages m JOIN parcels p ON p.message_id = m.id
            WHERE p.app_id = $1 AND m.app_id = $1 AND m.state < 6 AND p.state <> 2
                AND p.waits_for = '\(WaitCause.quietHours.rawValue)' AND p.due_at > coalesce($2, clock_timestamp())
                AND p.id > $3 AND p.id <= $4
            ORDER BY p.id LIMIT $5 FOR UPDATE OF p
        ), woken AS (
            UPDATE parcels p SET due_at = coalesce($2, clock_timestamp()) FROM waiting WHERE p.id = waiting.id
        )
        SELECT count(*), coalesce(max(id), 0) FROM waiting
        """)

    /// The last ones of their transaction, since they choose its plans. The second answer: how many are due now,
    /// and the last of them.
    static func waking(
        _ app: AppID, at now: WallInstant?, behind first: Int64 = 0, through last: Int64 = .max, atOnce wokenMax: Int64
    ) -> [Query] {
        [
            Query(PlannerSQL.throughKeys),
            Query(wake) {
                $0.int64(app.value)
                $0.instant(now)
                $0.int64(first)
                $0.int64(last)
                $0.int64(wokenMax)
            },
        ]
    }

    /// $1 day, $2 app, $3 message, $4 cap, $5 people, each once. Adds the message to what each got, unless the cap is
    /// reached; again does no harm. Every row that is there is locked, in the order of its key.
    static let count = Statement(
        "member_days_count",
        """
        INSERT INTO user_days AS known (day, app_id, who, messages)
        SELECT date '1970-01-01' + $1, $2, said.who, ARRAY[$3] FROM unnest($5) AS said (who) ORDER BY said.who COLLATE "C"
        ON CONFLICT (day, app_id, who) DO UPDATE SET messages = known.messages || excluded.messages
        WHERE cardinality(known.messages) < $4 AND NOT known.messages @> excluded.messages
        """)

    /// $1 day, $2 app, $3 message, $4 people. Who of them gets it; behind `count`, whose locks keep it true.
    static let counted = Statement(
        "member_days_counted",
        """
        SELECT who FROM user_days
        WHERE day = date '1970-01-01' + $1 AND app_id = $2 AND who = ANY ($4) AND messages @> ARRAY[$3]
        """)

    /// The same of several messages: $1 day, $2 app, $3 cap, $4 people, each once, $5 where theirs begin among $7, $6 where
    /// they end, $7 messages: of each person every one once, in the order in which they come. Adds the first of those that
    /// are not there yet, as many as the cap leaves room for. All rows are locked by this, in the order of their key.
    static let countGroup = Statement(
        "member_days_count_group",
        """
        INSERT INTO user_days AS known (day, app_id, who, messages)
        SELECT date '1970-01-01' + $1, $2, said.who, ($7)[said.begins:least(said.ends, said.begins + $3 - 1)]
        FROM unnest($4, $5, $6) AS said (who, begins, ends) ORDER BY said.who COLLATE "C"
        ON CONFLICT (day, app_id, who) DO UPDATE SET messages = known.messages || ARRAY(
            SELECT more.message FROM unnest(excluded.messages) WITH ORDINALITY AS more (message, place)
            WHERE more.message <> ALL (known.messages) ORDER BY more.place LIMIT $3 - cardinality(known.messages))
        WHERE cardinality(known.messages) < $3 AND NOT known.messages @> excluded.messages
        """)

    /// $1 day, $2 app, $3 people, $4 messages. What each of them gets or got of these, and maybe others with them; who gets
    /// none is missing. Behind `countGroup`, whose locks keep it true.
    static let countedGroup = Statement(
        "member_days_counted_group",
        """
        SELECT who, messages FROM user_days
        WHERE day = date '1970-01-01' + $1 AND app_id = $2 AND who = ANY ($3) AND messages && $4
        """)

    /// $1 parcels, each once, $2 whom the mark of each does not speak of. Of rows that are locked.
    static let mark = Statement(
        "parcel_uncounted",
        """
        UPDATE parcels AS p SET uncounted = said.uncounted FROM unnest($1, $2) AS said (id, uncounted)
        WHERE p.id = said.id
        """)

    /// $1 message, $2 which limits don't count for it.
    static let ignore = Statement(
        "message_ignores_limits", "UPDATE messages SET ignored_limits = $2 WHERE id = $1")

    /// $1 app. By who is about to count its people, before their names are read; held to the end of the transaction. The
    /// first number is "days" in ASCII.
    static let counting = Statement(
        "user_days_counting", "SELECT pg_advisory_xact_lock_shared(x'64617973'::integer, hashint8($1))")

    /// $1 app. Waits for those who count by names that they read before, and they for it. In a statement of its own: the
    /// next one sees what they wrote.
    static let forgetting = Statement(
        "user_days_forgetting", "SELECT pg_advisory_xact_lock(x'64617973'::integer, hashint8($1))")

    /// $1 app, $2 user. Of the days that are kept.
    static let erase = Statement(
        "user_days_erase",
        """
        DELETE FROM user_days WHERE day = ANY (ARRAY(SELECT current_date + away FROM generate_series(-4, 2) AS away))
            AND app_id = $1 AND who = 'user:' || $2
        """)

    /// $1 now, $2 rows at most. Days that are over on every clock.
    static let sweep = Statement(
        "sweep_user_days",
        """
        DELETE FROM user_days WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM user_days WHERE day < (coalesce($1, now()) AT TIME ZONE 'UTC')::date - 1
            ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
