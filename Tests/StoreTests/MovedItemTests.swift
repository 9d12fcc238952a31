import Basis
import Model
import Postgres
import Store
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

/// The time so many seconds after dawn.
private func after(_ seconds: Double) -> WallInstant { dawn + .seconds(seconds) }

@Suite("Subscriptions to items whose token another installation registers")
struct MovedItemTests {
    private static let price = "Double.parseDouble(${last_price})"
    private static let isTwo = #"${last_price}.equals("2")"#

    /// The installation of each subscription, by rising id.
    private static func owners(_ items: ItemWorld) async throws -> [String] {
        try await items.world.pool.read(
            query(
                """
                SELECT r.installation FROM item_subscriptions s JOIN registrations r ON r.id = s.registration_id
                ORDER BY s.id
                """)
        ).map(String.init)
    }

    @Test("follow it with the pushes that they hold and their device's window")
    func moved() async throws {
        try await withItems { items in
            try await items.register("phone")
            for item in ["opener", "held", "armed", "other"] {
                let trigger = item == "other" ? Self.isTwo : "\(Self.price) > 0"
                let terms = try ItemWorld.terms([item], trigger: trigger, text: item)
                try await items.subscribe("phone", terms.pausing(item == "opener" ? 30 : 0))
            }
            try await items.subscribe("phone", try ItemWorld.terms(["followed"], text: "followed").pausing(0))
            try await items.update("opener", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 1)
            #expect(try await items.cut() == ["phone opener: 1"])
            try await items.update("held", #"{"last_price": 1}"#)
            try await items.register("tablet", tokenOf: "phone", at: after(1))
            #expect(try await Self.owners(items) == Array(repeating: "tablet", count: 5))
            #expect(try await items.release(at: after(29)) == 0)
            #expect(try await items.release(at: after(30)) == 1)
            #expect(try await items.cut() == ["tablet held: 1"])
            for item in ["armed", "other", "followed"] {
                try await items.update(item, #"{"last_price": 2}"#, at: after(40))
            }
            #expect(try await items.release(at: after(41)) == 2)
            #expect(try await items.follow(at: after(41)) == [1])
            #expect(try await items.cut() == ["tablet armed: 2", "tablet followed: 2", "tablet other: 2"])
        }
    }

    @Test("take the later opening time of both windows", arguments: [("phone", "tablet"), ("tablet", "phone")])
    func windows(late: String, early: String) async throws {
        try await withItems { items in
            for device in [late, early] {
                let id = try await items.register(device)
                try await items.subscribe(device, try ItemWorld.terms(["anduct"]))
                let opensAt = device == late ? "2100-01-02" : "2100-01-01"
                try await items.world.pool.script("INSERT INTO device_windows VALUES (\(id.value), '\(opensAt)')")
            }
            try await items.register("tablet", tokenOf: "phone", at: after(1))
            #expect(try await Self.owners(items) == ["tablet", "tablet"])
            let opening = """
                SELECT count(*) FROM device_windows w JOIN registrations r ON r.id = w.registration_id
                WHERE r.installation = 'tablet' AND w.opens_at = '2100-01-02'
                """
            #expect(try await items.world.number(opening) == 1)
        }
    }

    @Test("end with what they hold if a user had the installation and the other has none or another")
    func ended() async throws {
        for user in ["bob", nil] {
            for isKnown in [true, false] {
                try await withItems { items in
                    try await items.register("phone", user: "ann")
                    for trigger in [nil, "\(Self.price) > 0", "\(Self.price) > 9", Self.isTwo] {
                        try await items.subscribe("phone", try ItemWorld.terms(["anduct"], trigger: trigger))
                    }
                    if isKnown {
                        try await items.register("tablet", user: user)
                        try await items.subscribe("tablet", try ItemWorld.terms(["bund"]))
                    }
                    try await items.update("anduct", #"{"last_price": 1}"#)
                    #expect(try await items.held().count == 1)
                    try await items.register("tablet", tokenOf: "phone", user: user, at: after(1))
                    #expect(try await Self.owners(items) == (isKnown ? ["tablet"] : []))
                    for table in ["held_pushes", "armed", "armed_other"] {
                        #expect(try await items.number(of: table) == 0)
                    }
                    #expect(try await items.number(of: "item_followers") == (isKnown ? 1 : 0))
                }
            }
        }
    }

    @Test("follow it to the same user, and from an installation without a user", arguments: ["ann", nil])
    func kept(user: String?) async throws {
        try await withItems { items in
            try await items.register("phone", user: user)
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            try await items.register("tablet", tokenOf: "phone", user: "ann", at: after(1))
            #expect(try await Self.owners(items) == ["tablet"])
        }
    }

    @Test("take the place of those that end with the other installation's former user")
    func nextUser() async throws {
        try await withItems { items in
            try await items.register("phone", user: "bob")
            try await items.register("tablet", user: "ann")
            let kept = try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            try await items.subscribe("tablet", try ItemWorld.terms(["anduct"]))
            try await items.register("tablet", tokenOf: "phone", user: "bob", at: after(1))
            #expect(try await Self.owners(items) == ["tablet"])
            #expect(try await items.world.number("SELECT id FROM item_subscriptions") == Int(kept.id))
        }
    }

    @Test("stay where they are above the limit of the other installation")
    func limited() async throws {
        try await withItems { items in
            let tablet = try await items.register("tablet")
            try await items.register("phone")
            try await items.subscribe("tablet", try ItemWorld.terms(["anduct"]))
            try await items.world.pool.script(
                """
                INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, template_id,
                    when_paused, identity_hash)
                SELECT gen_random_uuid(), app_id, registration_id, items, fields, mode, template_id, when_paused,
                    identity_hash
                FROM item_subscriptions, generate_series(2, \(ItemSubscriptionStore.perDeviceMax - 1))
                """)
            for _ in 0..<3 { try await items.subscribe("phone", try ItemWorld.terms(["anduct"])) }
            try await items.register("tablet", tokenOf: "phone", at: after(1))
            let count = "SELECT count(*) FROM item_subscriptions WHERE registration_id"
            #expect(try await items.world.number("\(count) = \(tablet.value)") == ItemSubscriptionStore.perDeviceMax)
            #expect(try await items.world.number("\(count) <> \(tablet.value)") == 2)
        }
    }

    @Test("get their push also if a round waits for their former device while they move")
    func meanwhile() async throws {
        try await withItems { items in
            try await items.register("phone")
            let tablet = try await items.register("tablet")
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], text: "price"))
            try await items.update("anduct", #"{"last_price": 1}"#)
            let pool = items.world.pool
            try await pool.script("INSERT INTO device_windows SELECT id, '-infinity' FROM registrations")
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let round = try await pool.transaction {
                transaction throws(PostgresError) -> Task<[Int], any Error> in
                _ = try await transaction.run(query("SELECT FROM device_windows FOR UPDATE"))
                let round = Task { try await items.follow(at: after(1)) }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                _ = try await transaction.run(
                    query("UPDATE item_subscriptions SET registration_id = \(tablet.value)"))
                return round
            }
            #expect(try await round.value == [0, 1])
            #expect(try await items.cut() == ["tablet price: 1"])
        }
    }
}
