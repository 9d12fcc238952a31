import Basis
import Model
import Postgres
import QueueRules

/// An app's quiet hours and daily cap, checked for a leased parcel's members if the app set any. The statements run
/// under `PlannerSQL.inKeyOrder`, in this order.
enum LimitSQL {
    /// The limits that apply to parcel `p` of message `m`, as `AppLimits`; null, mostly, or 0: none. Limits apply only
    /// to pushes that a person sees and that really leave: no dry runs, no expired parcels.
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

    /// The end of the quiet hours, the daily cap, and the day in days since 1970, all by the app's own clock.
    /// Parameters: $1 app, $2 now.
    static let ofApp = Statement(
        "limits_of_app",
        """
        SELECT quiet_until($2, said.hour_from, said.hour_to, said.zone, said.zone), (a.settings ->> 'daily_cap')::integer,
            day_of($2, said.zone) - date '1970-01-01'
        FROM apps a \(quietHours) WHERE a.id = $1
        """)

    /// The end of the quiet hours on each member's clock, and its owner unless it was retired. Each zone is evaluated
    /// once. Parameters: $1 app, $2 now.
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

    /// The highest parcel id.
    static let lastParcel = Statement("limits_last_parcel", "SELECT coalesce(max(id), 0) FROM parcels")

    // Makes parcels that wait for the end of quiet hours due; their next lease judges them again. It waits for locked
    // rows, because it would never come back to a skipped one. Parameters: $1 app, $2 now, $3 after which parcel, $4 up
    // to which one, $5 how many.
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

    /// Returns the queries that wake parcels deferred by quiet hours. They come last in their transaction, because they
    /// choose its plans. The second answer is the number of parcels that became due and the last of them.
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

    /// Adds the message to each user's day unless the cap is reached; repeating it changes nothing. It locks every
    /// existing row, in the order of the keys. Parameters: $1 day, $2 app, $3 message, $4 cap, $5 users, each once.
    static let count = Statement(
        "member_days_count",
        """
        INSERT INTO user_days AS known (day, app_id, who, messages)
        SELECT date '1970-01-01' + $1, $2, said.who, ARRAY[$3] FROM unnest($5) AS said (who) ORDER BY said.who COLLATE "C"
        ON CONFLICT (day, app_id, who) DO UPDATE SET messages = known.messages || excluded.messages
        WHERE cardinality(known.messages) < $4 AND NOT known.messages @> excluded.messages
        """)

    /// The users who get the message. It follows `count`, whose locks keep the answer true. Parameters: $1 day, $2 app,
    /// $3 message, $4 users.
    static let counted = Statement(
        "member_days_counted",
        """
        SELECT who FROM user_days
        WHERE day = date '1970-01-01' + $1 AND app_id = $2 AND who = ANY ($4) AND messages @> ARRAY[$3]
        """)

    /// The same for several messages. It adds each user's first missing messages, as many as the cap allows. It locks
    /// all rows in the order of the keys. Parameters: $1 day, $2 app, $3 cap, $4 users, each once. A user's messages
    /// lie in $7 from $5 to $6, in the order of counting, each once.
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

    /// The messages of each user's day, for users who get or got one of $4. It follows `countGroup`, whose locks keep
    /// the answer true. Parameters: $1 day, $2 app, $3 users, $4 messages.
    static let countedGroup = Statement(
        "member_days_counted_group",
        """
        SELECT who, messages FROM user_days
        WHERE day = date '1970-01-01' + $1 AND app_id = $2 AND who = ANY ($3) AND messages && $4
        """)

    /// Stores which members the badge marks leave out. The rows are locked already. Parameters: $1 parcels, each once,
    /// $2 their bitmaps.
    static let mark = Statement(
        "parcel_uncounted",
        """
        UPDATE parcels AS p SET uncounted = said.uncounted FROM unnest($1, $2) AS said (id, uncounted)
        WHERE p.id = said.id
        """)

    /// $1 message, $2 the limits that it ignores.
    static let ignore = Statement(
        "message_ignores_limits", "UPDATE messages SET ignored_limits = $2 WHERE id = $1")

    /// A shared lock for leases that count users, taken before their names are read and held to the end of the
    /// transaction. The first number is "days" in ASCII. Parameters: $1 app.
    static let counting = Statement(
        "user_days_counting", "SELECT pg_advisory_xact_lock_shared(x'64617973'::integer, hashint8($1))")

    /// An exclusive lock that waits for leases that count by names read before, and makes new ones wait. It is a
    /// statement of its own, so that the next one sees their rows. Parameters: $1 app.
    static let forgetting = Statement(
        "user_days_forgetting", "SELECT pg_advisory_xact_lock(x'64617973'::integer, hashint8($1))")

    /// Deletes a user's counts of all days that are kept. Parameters: $1 app, $2 user.
    static let erase = Statement(
        "user_days_erase",
        """
        DELETE FROM user_days WHERE day = ANY (ARRAY(SELECT current_date + away FROM generate_series(-4, 2) AS away))
            AND app_id = $1 AND who = 'user:' || $2
        """)

    /// Deletes days that are over on every clock. Parameters: $1 now, $2 rows at most.
    static let sweep = Statement(
        "sweep_user_days",
        """
        DELETE FROM user_days WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM user_days WHERE day < (coalesce($1, now()) AT TIME ZONE 'UTC')::date - 1
            ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
