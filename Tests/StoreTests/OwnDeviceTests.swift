import Basis
import Model
import Postgres
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

@Suite("A device that only its user's token has registered")
struct OwnDeviceTests {
    /// The end of a subscription.
    enum End: String, CaseIterable {
        case byKey
        case ofAll
        case byStatus
        case byExpiry
    }

    /// Ends the phone's subscription that expires a second after dawn.
    private static func end(
        _ end: End, _ subscription: ItemSubscription, of phone: RegistrationID, _ items: ItemWorld
    ) async throws -> Bool {
        let store = items.stores.subscriptions
        return switch end {
        case .byKey: try await store.remove(subscription.key, of: phone, now: dawn)
        case .ofAll: try await store.removeAll(of: phone, status: nil, now: dawn) == 1
        case .byStatus: try await store.removeAll(of: phone, status: .active, now: dawn) == 1
        case .byExpiry: try await store.removeExpired(now: dawn + .seconds(1))
        }
    }

    private static func exists(_ installation: String, _ items: ItemWorld) async throws -> Bool {
        try await items.world.number("SELECT count(*) FROM registrations WHERE installation = '\(installation)'") == 1
    }

    @Test("vanishes with its last subscription, and so do its window and its badge", arguments: End.allCases)
    func forgotten(end: End) async throws {
        try await withItems { items in
            let phone = try await items.register("phone", user: "ann", isOwn: true)
            let terms = try ItemWorld.terms(["anduct"], expiresAt: dawn + .seconds(1))
            let last = try await items.subscribe("phone", terms)
            try await items.world.pool.script("INSERT INTO device_windows SELECT id, now() FROM registrations")
            #expect(try await Self.end(end, last, of: phone, items))
            for table in ["registrations", "registration_pulse", "device_windows", "item_subscriptions"] {
                #expect(try await items.number(of: table) == 0, "\(table)")
            }
            let again = try await items.register("phone", user: "ann", isOwn: true)
            #expect(again != phone)
        }
    }

    @Test("stays if a backend has registered it, before or after", arguments: End.allCases, [false, true])
    func ofBackend(end: End, isBefore: Bool) async throws {
        try await withItems { items in
            let phone = try await items.register("phone", user: "ann", isOwn: !isBefore)
            let second = try await items.register("phone", user: "ann", isOwn: isBefore, at: dawn + .seconds(1))
            #expect(second == phone)
            let terms = try ItemWorld.terms(["anduct"], expiresAt: dawn + .seconds(1))
            let last = try await items.subscribe("phone", terms)
            #expect(try await Self.end(end, last, of: phone, items))
            #expect(try await Self.exists("phone", items))
            let store = items.stores.subscriptions
            #expect(try await store.subscriptions(of: phone, status: nil, after: 0, limit: 9, now: dawn) == [])
        }
    }

    @Test("stays before its first subscription, while it has another, and while it subscribes to data")
    func stays() async throws {
        try await withItems { items in
            let phone = try await items.register("phone", user: "ann", isOwn: true)
            let store = items.stores.subscriptions
            #expect(try await store.removeAll(of: phone, status: .triggered, now: dawn) == 0)
            #expect(try await Self.exists("phone", items))
            let first = try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            let second = try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            #expect(try await store.remove(first.key, of: phone, now: dawn))
            #expect(try await Self.exists("phone", items))
            try await items.world.pool.script(
                """
                INSERT INTO subscriptions (app_id, watch_id, registration_id, version, mode, expires_at)
                SELECT app_id, 1, id, 1, 1, '2100-01-01' FROM registrations
                """)
            #expect(try await store.remove(second.key, of: phone, now: dawn))
            #expect(try await Self.exists("phone", items))
        }
    }

    @Test("stays if another subscription of it is activated while its last one ends")
    func activated() async throws {
        try await withItems { items in
            let phone = try await items.register("phone", user: "ann", isOwn: true)
            let last = try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let removal = try await items.world.pool.transaction {
                transaction throws(PostgresError) -> Task<Bool, any Error> in
                // An activation takes the same lock.
                _ = try await transaction.run(query("SELECT FROM registrations WHERE id = \(phone.value) FOR SHARE"))
                let removal = Task { try await items.stores.subscriptions.remove(last.key, of: phone, now: dawn) }
                while try await items.world.pool.number(waiting) < 1 { await Task.yield() }
                let activation = """
                    INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, template_id,
                        when_paused, identity_hash)
                    SELECT gen_random_uuid(), app_id, registration_id, items, fields, mode, template_id, when_paused,
                        identity_hash
                    FROM item_subscriptions
                    """
                _ = try await transaction.run(query(activation))
                return removal
            }
            #expect(try await removal.value)
            #expect(try await Self.exists("phone", items))
            #expect(try await items.number(of: "item_subscriptions") == 1)
        }
    }

    @Test("lives on without subscriptions if a backend gives it to another user")
    func nextUser() async throws {
        try await withItems { items in
            try await items.register("phone", user: "ann", isOwn: true)
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            var patch = DevicePatch()
            patch.profile[.user] = .set("bob")
            let limits = DevicePatchLimits(tagsMax: 100, attributesBytesMax: 4_096, attributesMembersMax: 100)
            _ = try await items.world.stores.registry.patch(
                patch, app: items.world.app, installation: "phone", kind: nil, limits: limits)
            #expect(try await Self.exists("phone", items))
            #expect(try await items.number(of: "item_subscriptions") == 0)
        }
    }
}

@Suite("The audience of a message")
struct OwnDeviceAudienceTests {
    private static func count(_ audience: Audience, _ items: ItemWorld) async throws -> Int64 {
        try await items.world.stores.messages.count(
            CountedMessage(app: items.world.app, audience: audience, kind: .alert), now: dawn
        ).count
    }

    /// Every selection that names nobody.
    private static let broadcasts: [Audience] = [
        Audience(.all), Audience(.all, providers: [.fcm]), .tags(TagExpression(any: ["news"])),
        .tags(TagExpression(none: ["sport"])), .filter("provider == 'fcm'"),
        .stale([StaleCutoffs(provider: .fcm, instant: dawn + .seconds(60))]),
    ]

    @Test("has devices of users' tokens by name alone, until a backend registers them")
    func broadcasts() async throws {
        try await withItems { items in
            let own = try await items.register("own", user: "ann", isOwn: true)
            let other = try await items.register("other", user: "bob")
            var patch = DevicePatch()
            patch.profile.tags = .set(["news"])
            let limits = DevicePatchLimits(tagsMax: 100, attributesBytesMax: 4_096, attributesMembersMax: 100)
            for installation in ["own", "other"] {
                _ = try await items.world.stores.registry.patch(
                    patch, app: items.world.app, installation: installation, kind: nil, limits: limits)
            }
            for audience in Self.broadcasts { #expect(try await Self.count(audience, items) == 1, "\(audience)") }
            for audience in [Audience(.installations(["own"])), .users(["ann"])] {
                #expect(try await Self.count(audience, items) == 1, "\(audience)")
            }
            let listed = try await items.world.stores.registry.devices(app: items.world.app, DeviceFilter(), limit: 9)
            #expect(listed?.devices.map(\.id).sorted() == [own, other])
            #expect(try await items.world.members(of: Self.send(1, items)) == [other.value])
            try await items.register("own", user: "ann", at: dawn + .seconds(1))
            for audience in Self.broadcasts { #expect(try await Self.count(audience, items) == 2, "\(audience)") }
            #expect(try await items.world.members(of: Self.send(2, items)) == [own.value, other.value])
            // A user's own registration leaves it to the backend.
            try await items.register("own", user: "ann", isOwn: true, at: dawn + .seconds(2))
            #expect(try await Self.count(Audience(.all), items) == 2)
        }
    }

    /// Sends a message to all, in slices of one device, and returns its id.
    private static func send(_ number: UInt64, _ items: ItemWorld) async throws -> MessageID {
        let messages = items.world.stores.messages
        _ = try await messages.accept([items.world.newMessage(number)], now: dawn)
        while try await messages.plan(atMost: 1, idsMax: 1, knownFormats: [1, 2, 3], now: dawn) != .nothing {}
        return StoreWorld.message(number)
    }
}
