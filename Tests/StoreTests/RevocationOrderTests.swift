import Basis
import Model
import Postgres
import Reactor
import Store
import Testing
import WakeUpRules
import WakeUpStore

extension FanOutWorld {
    fileprivate func subscribers() async throws -> [String] {
        let names = """
            SELECT r.installation || ' ' || w.path FROM subscriptions s JOIN registrations r ON r.id = s.registration_id
                JOIN watches w ON w.id = s.watch_id ORDER BY 1
            """
        return try await world.pool.read(query(names)).map { row throws(PostgresError) in try row.text() }
    }

    fileprivate func order(_ path: String?, _ state: SubscriptionState? = nil) async throws {
        try await world.wakeUpStores.fanOuts.order(endOf: path.map { NodePath(stored: $0) }, state, app: world.app)
    }
}

@Suite("An operator's order to end subscriptions")
struct RevocationOrderTests {
    @Test("ends those of a path, with a notice each, and none beside or below it")
    func path() async throws {
        try await withFanOuts { world in
            for path in ["/a", "/a/b", "/"] {
                for device in ["one", "two"] { try await world.subscribe(device, path) }
            }
            try await world.order("/a")
            try await world.subscribe("late", "/a")
            #expect(try await world.revoke() == 2)
            #expect(
                try await world.subscribers() == ["late /a", "one /", "one /a/b", "two /", "two /a/b"])
            #expect(
                try await world.waiting() == [
                    "one: clock-tower: permission_denied /a", "two: clock-tower: permission_denied /a",
                ])
            try await world.order("/nothing")
            #expect(try await world.revoke() == 0)
            #expect(try await world.world.number("SELECT count(*) FROM revocations") == 0)
        }
    }

    @Test("ends those of a state, and tells no retired token")
    func state() async throws {
        try await withFanOuts { world in
            for device in ["awake", "asleep"] {
                for path in ["/a", "/b"] { try await world.subscribe(device, path) }
            }
            try await world.retire("asleep")
            try await world.order("/a", .dormant)
            #expect(try await world.revoke() == 1)
            #expect(try await world.subscribers() == ["asleep /b", "awake /a", "awake /b"])
            try await world.order(nil, .dormant)
            #expect(try await world.revoke() == 1)
            #expect(try await world.waiting() == [])
            try await world.order(nil, .active)
            #expect(try await world.revoke() == 2)
            #expect(try await world.subscribers() == [])
        }
    }

    @Test("has one effect if it is repeated, beside a change of the rules")
    func repeated() async throws {
        try await withFanOuts { world in
            for device in ["one", "two"] { try await world.subscribe(device, "/a") }
            for _ in 0..<3 { try await world.order("/a") }
            try await world.setRules(#"{".read": true}"#)
            try await world.order(nil, .dormant)
            #expect(try await world.world.number("SELECT count(*) FROM revocations") == 3)
            #expect(try await world.revoke() == 2)
            #expect(try await world.world.number("SELECT count(*) FROM revocations") == 0)
        }
    }
}

@Suite("An app with more than half of its subscriptions")
struct CrowdedAppTests {
    private static func age(_ world: FanOutWorld, _ devices: [String]) async throws {
        let names = devices.map { "'\($0)'" }.joined(separator: ", ")
        try await world.world.pool.script(
            """
            UPDATE unproven_subscribers SET since = now() - interval '25 hours'
            WHERE registration_id IN (SELECT id FROM registrations WHERE installation IN (\(names)))
            """)
    }

    @Test("ends those of tokens that took no push for a day, oldest first, no more than needed")
    func makesRoom() async throws {
        try await withFanOuts { world in
            let all = ["proven", "old-1", "old-2", "old-3", "registered"]
            try await world.register("registered")
            for device in all { try await world.subscribe(device, "/a", perAppMax: 10) }
            try await world.put("/a", "1")
            try await world.fanOut()
            try await world.world.pool.script(
                """
                DELETE FROM unproven_subscribers WHERE registration_id IN (
                    SELECT id FROM registrations WHERE installation = 'proven')
                """)
            try await world.receive()
            try await Self.age(world, all)
            #expect(try await world.revoke() == 0)
            for device in ["young-1", "young-2"] { try await world.subscribe(device, "/a", perAppMax: 10) }
            #expect(try await world.revoke() == 1, "the sixth is one too many")
            #expect(
                try await world.subscribers().map { $0.split(separator: " ")[0] } == [
                    "old-2", "old-3", "proven", "registered", "young-1", "young-2",
                ])
            #expect(try await world.waiting() == ["old-1: clock-tower: expired /a"])
            #expect(try await world.world.number("SELECT count(*) FROM revocations") == 0)
        }
    }

    @Test("ends none of the young ones, and all subscriptions of an old one in turn")
    func manyOfOne() async throws {
        try await withFanOuts { world in
            for path in ["/a", "/b", "/c"] { try await world.subscribe("old", path) }
            for path in ["/a", "/b"] { try await world.subscribe("young", path) }
            try await Self.age(world, ["old"])
            // This one orders that three end: two of the half, and itself.
            #expect(try await world.subscribe("last", "/a", perAppMax: 5) == .tooMany)
            #expect(try await world.revoke() == 3)
            #expect(try await world.subscribers() == ["young /a", "young /b"])
            let renewed = "SELECT count(*) FROM unproven_subscribers WHERE since > now() - interval '1 hour'"
            #expect(try await world.world.number(renewed) == 1)
        }
    }

    @Test("follows the app's own hours")
    func hours() async throws {
        try await withFanOuts { world in
            var change = AppChange()
            change.wakeUp.unprovenHours = 48
            _ = try await world.world.stores.registry.changeApp(world.world.app, change)
            try await world.subscribe("old", "/a", perAppMax: 1)
            try await Self.age(world, ["old"])
            #expect(try await world.subscribe("new", "/a", perAppMax: 1) == .tooMany)
            #expect(try await world.revoke() == 0)
        }
    }
}
