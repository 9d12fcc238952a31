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
        CASE WHEN m.push_type = \(PushType.alert.sql) AND NOT m.is_dry_run AND p.expires_at > \(now) THEN (
            SELECT nullif((\(AppLimits.quietHours.rawValue) * (a.settings ->> 'quiet_hours' IS NOT NULL)::integer
                + \(AppLimits.dailyCap.rawValue) * (a.settings ->> 'daily_cap' IS NOT NULL)::integer)
                & ~(m.ignored_limits::integer), 0)::smallint
            FROM apps a WHERE a.id = p.app_id) END
        """
    }

    private static let quietHours = """
        CROSS JOIN LATERAL (SELECT coalesce(a.settings ->> 'time_zone', 'UTC') AS zone,
            (a.settings #>> '{quiet_hours,from}')::time AS hour_from,
            (a.settings #>> '{quiet_hours,to}')::time AS hour_to) AS hours
        """

    /// The end of the quiet hours, the daily cap, and the day in days since 1970, all by the app's own clock.
    static let ofApp = Statement(
        "limits_of_app",
        """
        SELECT quiet_until(:now, hours.hour_from, hours.hour_to, hours.zone, hours.zone),
            (a.settings ->> 'daily_cap')::integer, day_of(:now, hours.zone) - date '1970-01-01'
        FROM apps a \(quietHours) WHERE a.id = :app
        """)

    /// The end of the quiet hours on each member's clock, and its owner unless it was retired. Each zone is evaluated
    /// once.
    static let ofMembers = MemberStatement("member_limits", key: "r.id") {
        """
        WITH members AS MATERIALIZED (
            SELECT r.id, r.time_zone, CASE WHEN r.state < \(RegistrationState.retired.sql)
                THEN coalesce('user:' || r.user_id, 'device:' || r.id) END AS who
            FROM registrations r WHERE \($0) ORDER BY r.id
        ), zones AS MATERIALIZED (
            SELECT array_agg(used.name) AS names,
                array_agg(quiet_until(:now, hours.hour_from, hours.hour_to, used.name, hours.zone)) AS untils
            FROM (SELECT DISTINCT coalesce(time_zone, '') AS name FROM members) AS used
            CROSS JOIN apps a \(quietHours) WHERE a.id = :app
        )
        SELECT members.id, zones.untils[array_position(zones.names, coalesce(members.time_zone, ''))], members.who
        FROM members CROSS JOIN zones ORDER BY members.id
        """
    }

    /// The highest parcel id.
    static let lastParcel = Statement("limits_last_parcel", "SELECT coalesce(max(id), 0) FROM parcels")

    // Makes parcels that wait for the end of quiet hours due; their next lease judges them again. It waits for locked
    // rows, because it would never come back to a skipped one.
    private static let wake = Statement(
        "limits_wake",
        """
        WITH waiting AS MATERIALIZED (
            SELECT p.id FROM messages m JOIN parcels p ON p.message_id = m.id
            WHERE p.app_id = :app AND m.app_id = :app AND m.state < \(MessageState.finished.sql)
                AND p.state <> \(ParcelState.leased.sql) AND p.waits_for = '\(WaitCause.quietHours.rawValue)'
                AND p.due_at > coalesce(:now, clock_timestamp()) AND p.id > :first AND p.id <= :last
            ORDER BY p.id LIMIT :limit FOR UPDATE OF p
        ), woken AS (
            UPDATE parcels p SET due_at = coalesce(:now, clock_timestamp()) FROM waiting WHERE p.id = waiting.id
        )
        SELECT count(*), coalesce(max(id), 0) FROM waiting
        """)

    /// Returns the queries that wake parcels deferred by quiet hours. They come last in their transaction, because they
    /// choose its plans. The second answer is the number of parcels that became due and the last of them.
    static func waking(
        _ app: AppID, at now: WallInstant?, behind first: Int64 = 0, through last: Int64 = .max, atOnce wokenMax: Int64
    ) -> [Query] {
        let wake = Query(Self.wake) {
            $0.int64("app", app.value)
            $0.int64("first", first)
            $0.int64("last", last)
            $0.int64("limit", wokenMax)
            $0.instant("now", now)
        }
        return [Query(PlannerSQL.throughKeys), wake]
    }

    // Makes held pushes of subscriptions to items due, behind a place in the order in which they fall due. Releases decide
    // on them again: some wait for the end of quiet hours. Those that wait for a pause are put off once more.
    private static let wakeHeld = Statement(
        "limits_wake_held",
        """
        WITH waiting AS MATERIALIZED (
            SELECT subscription_id, due_at FROM held_pushes
            WHERE (app_id, due_at, subscription_id) > (:app, coalesce(:due_at, :now, now()), :subscription)
                AND (app_id, due_at) <= (:app, 'infinity')
            ORDER BY app_id, due_at, subscription_id LIMIT :limit FOR UPDATE
        ), woken AS (
            UPDATE held_pushes h SET due_at = coalesce(:now, now()) FROM waiting
            WHERE h.subscription_id = waiting.subscription_id
        )
        SELECT due_at, subscription_id, (SELECT count(*) FROM waiting) FROM waiting
        ORDER BY due_at DESC, subscription_id DESC LIMIT 1
        """)

    /// The place of a held push in the order in which they fall due.
    struct HeldPlace: Equatable, Sendable {
        let dueAt: WallInstant
        let subscription: Int64
    }

    /// Returns the query that wakes the next held pushes of subscriptions to items. It runs behind `waking` or
    /// `PlannerSQL.throughKeys`. The answer is the place of the last one that became due, and their number; no row: none
    /// did.
    ///
    /// A release that went by other quiet hours, or found subscriptions switched off, has ended by then, because it keeps
    /// the app's settings.
    ///
    /// - Parameter place: nil: the first ones.
    static func wakingHeld(
        _ app: AppID, at now: WallInstant?, behind place: HeldPlace? = nil, atOnce wokenMax: Int64
    ) -> Query {
        Query(wakeHeld) {
            $0.int64("app", app.value)
            $0.instant("due_at", place?.dueAt)
            $0.int64("subscription", place?.subscription ?? .max)
            $0.int64("limit", wokenMax)
            $0.instant("now", now)
        }
    }

    /// Adds the message to each user's day unless the cap is reached; repeating it changes nothing. It locks every
    /// existing row, in the order of the keys. Each user occurs once.
    static let count = Statement(
        "member_days_count",
        """
        INSERT INTO user_days AS known (day, app_id, who, messages)
        SELECT date '1970-01-01' + :day, :app, input.who, ARRAY[:message] FROM unnest(:users) AS input (who)
        ORDER BY input.who COLLATE "C"
        ON CONFLICT (day, app_id, who) DO UPDATE SET messages = known.messages || excluded.messages
        WHERE cardinality(known.messages) < :cap AND NOT known.messages @> excluded.messages
        """)

    /// The users who get the message. It follows `count`, whose locks keep the answer true.
    static let counted = Statement(
        "member_days_counted",
        """
        SELECT who FROM user_days
        WHERE day = date '1970-01-01' + :day AND app_id = :app AND who = ANY (:users) AND messages @> ARRAY[:message]
        """)

    /// The same for several messages. It adds each user's first missing messages, as many as the cap allows. It locks
    /// all rows in the order of the keys. Each user occurs once. A user's messages lie in `:messages` from the begin to
    /// the end, in the order of counting, each once.
    static let countGroup = Statement(
        "member_days_count_group",
        """
        INSERT INTO user_days AS known (day, app_id, who, messages)
        SELECT date '1970-01-01' + :day, :app, input.who,
            (:messages)[input.first: least(input.last, input.first + :cap - 1)]
        FROM unnest(:users, :begins, :ends) AS input (who, first, last) ORDER BY input.who COLLATE "C"
        ON CONFLICT (day, app_id, who) DO UPDATE SET messages = known.messages || ARRAY(
            SELECT more.message FROM unnest(excluded.messages) WITH ORDINALITY AS more (message, place)
            WHERE more.message <> ALL (known.messages) ORDER BY more.place LIMIT :cap - cardinality(known.messages))
        WHERE cardinality(known.messages) < :cap AND NOT known.messages @> excluded.messages
        """)

    /// The messages of each user's day, for users who get or got one of these. It follows `countGroup`, whose locks keep
    /// the answer true.
    static let countedGroup = Statement(
        "member_days_counted_group",
        """
        SELECT who, messages FROM user_days
        WHERE day = date '1970-01-01' + :day AND app_id = :app AND who = ANY (:users) AND messages && :messages
        """)

    /// Stores bitmaps of the members that the badge marks leave out. The rows are locked already.
    static let mark = Statement(
        "parcel_uncounted",
        """
        UPDATE parcels AS p SET uncounted = input.uncounted FROM unnest(:parcels, :uncounted) AS input (id, uncounted)
        WHERE p.id = input.id
        """)

    /// A shared lock for leases that count users, taken before their names are read and held to the end of the
    /// transaction. The first number is "days" in ASCII.
    static let counting = Statement(
        "user_days_counting", "SELECT pg_advisory_xact_lock_shared(x'64617973'::integer, hashint8(:app))")

    /// An exclusive lock that waits for leases that count by names read before, and makes new ones wait. It is a
    /// statement of its own, so that the next one sees their rows.
    static let forgetting = Statement(
        "user_days_forgetting", "SELECT pg_advisory_xact_lock(x'64617973'::integer, hashint8(:app))")

    /// Deletes a user's counts of all days that are kept.
    static let erase = Statement(
        "user_days_erase",
        """
        DELETE FROM user_days WHERE day = ANY (ARRAY(SELECT current_date + away FROM generate_series(-4, 2) AS away))
            AND app_id = :app AND who = 'user:' || :user
        """)

    /// Deletes days that are over on every clock.
    static let sweep = Statement(
        "sweep_user_days",
        """
        DELETE FROM user_days WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM user_days WHERE day < (coalesce(:now, now()) AT TIME ZONE 'UTC')::date - 1
            ORDER BY day LIMIT :limit FOR UPDATE SKIP LOCKED))
        """)
}
