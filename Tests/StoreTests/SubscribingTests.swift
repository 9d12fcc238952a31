import Basis
import Encodings
import Model
import Postgres
import Reactor
import Store
import Testing
import WakeUpRules
import WakeUpStore

@Suite("Subscribing to a path")
struct SubscribingTests {
    @Test("fails if the node is heavy, without a token, and too often")
    func refusals() async throws {
        try await withFanOuts { world in
            try await world.put("/a", #"{"x": 1, "y": 2}"#)
            #expect(try await world.subscribe("device", "/a", leavesMax: 1) == .tooBig)
            #expect(try await world.subscribe("device", "/a/x", leavesMax: 1) == .subscribed)
            #expect(try await world.subscribe("a device", "/a") == .unusableToken)
            try await world.put("/a/x", #"{"z": 1, "y": 2}"#)
            #expect(try await world.subscribe("device", "/a/x", leavesMax: 1) == .tooBig, "it has grown since")
            try await world.world.pool.script(
                """
                INSERT INTO subscriptions (app_id, watch_id, registration_id, version, mode, expires_at)
                SELECT app_id, 1000000 + number, registration_id, 1, 1, expires_at
                FROM subscriptions, generate_series(1, 999) AS number
                """)
            #expect(try await world.subscribe("device", "/b") == .tooMany)
            #expect(try await world.subscribe("device", "/a/x") == .subscribed, "it is a refresh")
        }
    }

    @Test("adds no subscription above the app's limit, and refreshes those that exist")
    func perApp() async throws {
        try await withFanOuts { world in
            for device in ["one", "two"] { try await world.subscribe(device, "/a", perAppMax: 2) }
            #expect(try await world.subscribe("three", "/a", perAppMax: 2) == .tooMany)
            #expect(try await world.subscribe("three", "/new", perAppMax: 2) == .tooMany)
            #expect(try await world.world.number("SELECT count(*) FROM registrations") == 2, "a refused token is kept")
            #expect(try await world.world.number("SELECT count(*) FROM watches") == 1)
            #expect(try await world.subscribe("one", "/a", .value, perAppMax: 2) == .subscribed)
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 2)
        }
    }

    @Test("takes one transaction if it is a refresh, which changes mode and end")
    func refreshed() async throws {
        var settings = PoolSettings.patient
        settings.connectionsMax = 1
        try await withFanOuts(pool: settings) { world in
            func committed() async throws -> Int {
                try await world.world.pool.script("SELECT pg_stat_force_next_flush()")
                return try await world.world.number(
                    "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
            }
            func isAs(_ mode: WakeUpMode, _ user: String, days: Int) async throws -> Bool {
                let isAs = "user_id = '\(user)' AND mode = \(mode.rawValue) AND claims IS NULL = (user_id = '')"
                let ends = "expires_at - now() BETWEEN interval '\(days) days' - interval '1 hour' AND '\(days) days'"
                return try await world.world.number(
                    "SELECT count(*) FROM subscriptions WHERE \(isAs) AND \(ends)") == 1
            }
            try await world.subscribe("phone", "/a", .value, user: "ann")
            try await world.register("phone")
            #expect(try await isAs(.value, "ann", days: 30))
            let before = try await committed()
            let counted = try await committed() - before
            let start = try await committed()
            #expect(
                try await world.subscribe("phone", "/a", lifetime: .seconds(9 * 86_400), user: "ann") == .subscribed)
            #expect(try await committed() - start == counted + 1)
            #expect(try await isAs(.noData, "ann", days: 9))
            #expect(try await world.subscribe("phone", "/a", user: "bob") == .subscribed)
            #expect(try await isAs(.noData, "bob", days: 30))
            #expect(try await world.subscribe("phone", "/a", .value) == .subscribed)
            #expect(try await isAs(.value, "", days: 30))
        }
    }

    @Test("makes another registration of a token whose registration is just being removed")
    func removedMeanwhile() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            let pool = world.world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let again = try await pool.transaction {
                transaction throws(PostgresError) -> Task<SubscriptionStore.Reply, any Error> in
                _ = try await transaction.run(query("DELETE FROM registrations"))
                let again = Task { try await world.subscribe("phone", "/a") }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                return again
            }
            #expect(try await again.value == .subscribed)
            let whole = "SELECT count(*) FROM subscriptions s JOIN registrations r ON r.id = s.registration_id"
            #expect(try await world.world.number(whole) == 1)
        }
    }

    @Test("leaves no registration behind, some days after the last subscription of its token")
    func idle() async throws {
        try await withFanOuts { world in
            for path in ["/a", "/b"] { try await world.subscribe("leaver", path) }
            try await world.subscribe("stayer", "/a")
            for path in ["/a", "/b"] { #expect(try await world.unsubscribe("leaver", path)) }
            #expect(try await world.unsubscribe("stayer", "/a"))
            try await world.subscribe("stayer", "/b")
            let sweeper = world.world.stores.sweeper
            let count = "SELECT count(*) FROM registrations"
            while try await sweeper.sweep(now: Clocks.wallNow() + .seconds(86_400)) > 0 {}
            #expect(try await world.world.number(count) == 2, "a notice may be under way")
            while try await sweeper.sweep(now: Clocks.wallNow() + .seconds(4 * 86_400)) > 0 {}
            #expect(try await world.world.number(count) == 1)
            #expect(try await world.world.number("SELECT count(*) FROM subscriptions") == 1)
            #expect(try await world.world.number("SELECT count(*) FROM idle_subscribers") == 0)
        }
    }

    @Test("makes registrations that neither the app's list of devices nor its feedback shows")
    func nameless() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/a")
            try await world.retire("phone")
            let retired = "SELECT count(*) FROM registrations WHERE state = \(RegistrationState.retired.rawValue)"
            #expect(try await world.world.number(retired) == 1)
            #expect(try await world.world.feed() == [])
            for state in [nil, RegistrationState.retired] {
                var filter = DeviceFilter()
                filter.state = state
                let page = try await world.world.stores.registry.devices(
                    app: world.world.app, filter, after: nil, limit: 10)
                #expect(page?.devices == [])
            }
        }
    }

    @Test("holds also if the backend registers the token at the same time")
    func registeredMeanwhile() async throws {
        try await withFanOuts { world in
            for round in 0..<60 {
                let device = "phone-\(round)"
                try await world.subscribe(device, "/a")
                async let registered: Void = world.register(device)
                let reply = try await world.subscribe(device, "/b")
                try await registered
                #expect(reply == .subscribed)
            }
            let kept = """
                SELECT count(*) FROM subscriptions JOIN registrations r ON r.id = registration_id
                WHERE r.kind = \(TokenKind.alert.rawValue)
                """
            #expect(try await world.world.number(kept) == 120)
        }
    }

    @Test("leaves nothing for ever if it is refused after its token got a registration")
    func refused() async throws {
        try await withFanOuts { world in
            try await world.put("/a", #"{"x": 1, "y": 2}"#)
            #expect(try await world.subscribe("phone", "/a", leavesMax: 1) == .tooBig)
            #expect(try await world.subscribe("phone", "/a/x", perAppMax: 0) == .tooMany)
            try await world.fanOut()
            _ = try await world.world.stores.sweeper.sweep(now: Clocks.wallNow() + .seconds(10 * 86_400))
            #expect(try await world.world.number("SELECT count(*) FROM registrations") == 0)
        }
    }

    @Test("leaves no watch behind when its last subscription ends")
    func lastOne() async throws {
        try await withFanOuts { world in
            for device in ["one", "two"] { try await world.subscribe(device, "/a") }
            #expect(try await world.unsubscribe("one", "/a"))
            try await world.fanOut()
            #expect(try await world.world.number("SELECT count(*) FROM watches") == 1)
            #expect(try await world.unsubscribe("two", "/a"))
            try await world.fanOut()
            #expect(try await world.world.number("SELECT count(*) FROM watches") == 0)
            #expect(try await world.dueWatches() == 0)
        }
    }

    @Test("ends also while the token is retired, and does not wake with it")
    func endsAsleep() async throws {
        try await withFanOuts { world in
            for path in ["/a", "/b"] { try await world.subscribe("phone", path) }
            try await world.retire("phone")
            #expect(try await world.unsubscribe("phone", "/a"))
            #expect(try await world.subscribe("phone", "/b") == .subscribed)
            try await world.put("/", #"{"a": 1, "b": 1}"#)
            try await world.fanOut()
            #expect(try await world.waiting().count == 1)
        }
    }

    @Test("waits for a long write of the tree without a connection")
    func busyTree() async throws {
        var settings = PoolSettings.patient
        settings.connectionsMax = 2
        try await withFanOuts(pool: settings) { world in
            let lock = "SELECT pg_advisory_xact_lock(x'6e6f6465'::integer, hashint8(\(world.world.app.value)))"
            let (locked, hasLocked) = AsyncStream.makeStream(of: Void.self)
            let (freed, free) = AsyncStream.makeStream(of: Void.self)
            async let writing: Void = world.world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query(lock))
                hasLocked.finish()
                for await _ in freed {}
                await transaction.abandon(returning: ())
            }
            for await _ in locked {}
            async let reply = world.subscribe("phone", "/a")
            // The other connection serves others all the while.
            for _ in 0..<100 { #expect(try await world.world.number("SELECT 1") == 1) }
            free.finish()
            try await writing
            #expect(try await reply == .subscribed)
        }
    }

    @Test("takes no token from the installation that registered it")
    func registered() async throws {
        try await withFanOuts { world in
            let registration = StoreWorld.registration("phone", token: 7)
            let registered = try await world.world.register(registration)
            let token = Hexadecimal.text(registration.token.bytes)
            let request = SubscriptionStore.Request(
                app: world.world.app, path: .root, token: token, installation: "wakeup-7", mode: .noData,
                lifetime: .seconds(3_600), weightBytesMax: 1 << 20, weightLeavesMax: 100)
            #expect(try await world.world.wakeUpStores.subscriptions.subscribe(request) == .subscribed)
            #expect(try await world.world.device("phone") == registered.record)
            #expect(try await world.world.number("SELECT count(*) FROM registrations") == 1)
            #expect(
                try await world.world.number(
                    "SELECT registration_id FROM subscriptions") == Int(registered.record.id.value))
        }
    }
}
