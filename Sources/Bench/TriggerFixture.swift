import CommandLine
import Model
import Postgres
import TriggerRules

/// An app whose devices subscribe to one item: each with a trigger of its own, or all as followers.
struct TriggerFixture {
    private let world: BenchWorld
    private let pool: PostgresPool
    private let devices: Int

    /// The triggers that an update fires.
    static let firedTogether = 10
    /// The updates that fire triggers. They leave half of the smallest number of triggers armed.
    private static let firingUpdates = 50
    /// More of them, because processor time is counted in hundredths of a second.
    private static let otherUpdates = 500
    private static let item = BenchWorld.app + "/items/anduct/updates"
    private static let timeout: Duration = .seconds(600)
    /// Each query is work of PostgreSQL that no update causes.
    private static let pollEvery: Duration = .milliseconds(10)
    private static let queryAccount: Duration = .milliseconds(100)
    private static let clock = ContinuousClock()

    /// Switches subscriptions to items on, without a pause between pushes, and removes them at the end.
    static func within<Answer>(
        _ world: BenchWorld, devices: Int, _ body: (TriggerFixture) async throws -> Answer
    ) async throws -> Answer {
        let settings = #"{"triggers": {"enabled": true, "pause_seconds": 0, "allow": [".*"]}}"#
        _ = try await world.client.call("PATCH", BenchWorld.app, Array(settings.utf8))
        return try await world.withDatabase(statementTime: timeout) { pool in
            let fixture = TriggerFixture(world: world, pool: pool, devices: devices)
            let answer = try await body(fixture)
            try await fixture.script(clear)
            return answer
        }
    }

    private func script(_ sql: String) async throws { try await pool.script(sql, deadline: Self.timeout) }

    /// Arms so many triggers, each with another bound, and measures updates one after the other.
    func updates(armed count: Int) async throws -> TriggerFigures.Updates {
        // No update has a price above this bound, which the copies don't have.
        try await subscribe(count, #", "trigger": "Double.parseDouble(${last_price}) > 1000000000.0""#)
        let others = try await timed([Double](repeating: 0.5, count: Self.otherUpdates))
        // The bounds are whole numbers from 1 on: each of these prices is above ten more of them.
        let firing = try await timed((1...Self.firingUpdates).map { Double($0 * Self.firedTogether) + 0.5 })
        let fired = try await pool.read(Query(Self.triggered)).one(Int64.init)
        guard fired == Int64(Self.firingUpdates * Self.firedTogether) else {
            throw CommandFault(
                .failed, "\(Self.firingUpdates * Self.firedTogether) triggers were satisfied, but \(fired) fired")
        }
        return TriggerFigures.Updates(others: others, firing: firing)
    }

    /// Lets all devices follow the item, and updates it, until every push is settled.
    /// - Returns: the time from the end of the gathering.
    func follow() async throws -> Duration {
        try await subscribe(devices)
        let before = try await pool.read(Query(Self.accepted)).one(Int64.init)
        let start = Self.clock.now
        try await update(12.75)
        try await waitUntilQuiet(pollEvery: Self.pollEvery)
        let time = Self.clock.now - start - ThrottleWindow.gathering
        let accepted = try await pool.read(Query(Self.accepted)).one(Int64.init) - before
        guard accepted == Int64(devices) else {
            throw CommandFault(.failed, "\(devices) devices follow the item, but \(accepted) pushes were accepted")
        }
        return time
    }

    private func update(_ price: Double) async throws {
        let fields = #"{"stock_name": "Anduct", "last_price": \#(price)}"#
        _ = try await world.client.call("POST", Self.item, Array(fields.utf8))
    }

    /// Updates one after the other, each with another price, until every push that they cause is settled.
    private func timed(_ prices: [Double]) async throws -> TriggerFigures.Run {
        let before = try world.used()
        var times: [Duration] = []
        for price in prices {
            let start = Self.clock.now
            try await update(price)
            times.append(Self.clock.now - start)
        }
        try await waitUntilQuiet(pollEvery: Self.queryAccount)
        return TriggerFigures.Run(times: times, used: (try world.used() - before).program)
    }

    private func waitUntilQuiet(pollEvery: Duration) async throws {
        let end = Self.clock.now + Self.timeout
        while try await !pool.read(Query(Self.isQuiet)).one(Bool.init) {
            guard Self.clock.now < end else {
                throw CommandFault(.failed, "not every push of the updates was settled in ten minutes")
            }
            try await Task.sleep(for: pollEvery)
        }
    }

    private static let isQuiet = Statement(
        unprepared: """
            SELECT NOT EXISTS (SELECT FROM item_due) AND NOT EXISTS (SELECT FROM held_pushes)
                AND NOT EXISTS (SELECT FROM parcels)
            """)

    private static let accepted = Statement(
        unprepared: """
            SELECT coalesce(sum(accepted), 0)::bigint FROM messages WHERE origin = \(MessageOrigin.update.sql)
            """)

    private static let triggered = Statement(
        unprepared: "SELECT count(*) FROM item_subscriptions WHERE status = \(SubscriptionStatus.triggered.sql)")
}

// The rows that activations would make.
extension TriggerFixture {
    private static let clear = """
        DELETE FROM held_pushes; DELETE FROM item_due; DELETE FROM armed; DELETE FROM armed_other;
        DELETE FROM item_followers; DELETE FROM item_subscriptions
        """

    /// Activates one subscription, and copies its rows for the devices in turn.
    /// - Parameter members: further members of the request, for a trigger that compares a field with a bound.
    private func subscribe(_ count: Int, _ members: String = "") async throws {
        try await script(Self.clear)
        let activation = """
            {"items": ["anduct"], "fields": ["stock_name", "last_price"], "badge": "AUTO", "sound": "default",
             "notification": {"title": "Carillon", "body": "Stock ${stock_name} is now ${last_price}"},
             "data": {"article": "42", "section": "weather and tides", "number": "4711"}\(members)}
            """
        let path = BenchWorld.app + "/devices/" + BenchDevice(number: 1).installation + "/subscriptions"
        _ = try await world.client.call("POST", path, Array(activation.utf8))
        try await script(Self.copies(count))
        // Dead rows would slow the updates down, until autovacuum comes at a time of its own.
        try await script("VACUUM (ANALYZE) item_subscriptions, armed, item_followers, held_pushes, item_due, items")
    }

    /// Replaces the one subscription that there is by copies. The bounds of their triggers are 1, 2, 3 and so on.
    private static func copies(_ count: Int) -> String {
        """
        CREATE TEMP TABLE pattern ON COMMIT DROP AS SELECT * FROM item_subscriptions;
        CREATE TEMP TABLE pattern_armed ON COMMIT DROP AS SELECT * FROM armed;
        CREATE TEMP TABLE pattern_follower ON COMMIT DROP AS SELECT * FROM item_followers;
        CREATE TEMP TABLE phones ON COMMIT DROP AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS place
            FROM registrations
            WHERE app_id = (SELECT app_id FROM pattern) AND state <> \(RegistrationState.retired.sql);
        ANALYZE phones;
        DELETE FROM item_subscriptions;
        INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, trigger, template_id,
            when_paused, identity_hash)
        SELECT gen_random_uuid(), pattern.app_id, phones.id, pattern.items, pattern.fields, pattern.mode,
            split_part(pattern.trigger, ' > ', 1) || ' > ' || number || '.0', pattern.template_id, pattern.when_paused,
            pattern.identity_hash
        FROM generate_series(1::bigint, \(count)) AS number
        JOIN phones ON phones.place = number % (SELECT count(*) FROM phones) CROSS JOIN pattern;
        INSERT INTO armed (item_id, mode, field, conversion, comparison, bound, subscription_id)
        SELECT a.item_id, a.mode, a.field, a.conversion, a.comparison, split_part(s.trigger, ' > ', 2)::float8, s.id
        FROM pattern_armed a CROSS JOIN item_subscriptions s;
        INSERT INTO item_followers (item_id, subscription_id, sent_seq)
        SELECT f.item_id, s.id, f.sent_seq FROM pattern_follower f CROSS JOIN item_subscriptions s
        """
    }
}
