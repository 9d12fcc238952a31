import Basis
import Model
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("An app that its owner changes or deletes")
struct DeletedAppTests {
    @Test("takes changes of its name, time zone and stale policy one by one")
    func settings() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            #expect(try await registry.app(slug: "clock-tower")?.settings == .initial)
            var change = AppChange()
            change.staleAfterDays = [(.apns, 90), (.fcm, nil)]
            let changed = try #require(try await registry.changeApp(world.app, change))
            #expect(changed.settings.stale[.apns] == 90 && changed.settings.stale[.fcm] == nil)
            #expect(changed.name == "Clock tower")
            var second = AppChange()
            second.name = "Bell tower"
            second.staleAfterDays = [(.apns, nil)]
            second.timeZone = "Asia/Kolkata"
            _ = try await registry.changeApp(world.app, second)
            // Another process reads the app. It has nothing in memory.
            let found = try #require(try await Stores(pool: world.pool).registry.app(slug: "clock-tower"))
            #expect(found.name == "Bell tower")
            #expect(found.settings.stale[.apns] == nil && found.settings.stale[.fcm] == nil)
            #expect(found.settings.timeZone == "Asia/Kolkata")
            #expect(try await registry.apps(limit: 9) == [found])
        }
    }

    /// One row in every table that can refer to an app.
    private static let contents = """
        INSERT INTO credentials (submission, app_id, provider, environment, kind, sealed, state)
            SELECT 1, app_id, 1, environment, 'token', '', 2 FROM routes;
        INSERT INTO lane_blocks (credential_id, reason, until) SELECT id, 'InvalidProviderToken', now() FROM credentials;
        INSERT INTO suspicions SELECT id, route_id, 1, 'BadDeviceToken', now() FROM registrations;
        INSERT INTO route_minutes SELECT id, now() FROM routes;
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason)
            SELECT app_id, id, 1, installation, 1, 1, 1, 'Unregistered' FROM registrations;
        INSERT INTO feedback_swept SELECT id, 1 FROM apps;
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
            SELECT id, 'POST', 'k' || n, sha256(''), '' FROM apps, generate_series(1, 3) AS n;
        INSERT INTO message_providers SELECT id, 1, 0, 0, 0, 0, 0, 0, 0 FROM messages;
        INSERT INTO message_paces (message_id, provider, ended, settled_at, seen_at, seen) SELECT id, 1, 1, now(), now(), 1
            FROM messages;
        INSERT INTO inline_targets SELECT 1000000 + row_number() OVER (), id, 1, '\\x01' FROM messages;
        INSERT INTO own_values SELECT id, 1, 9, app_id, '\\x8101', '\\x0000' FROM messages;
        INSERT INTO items (app_id, name) SELECT id, 'anduct' FROM apps;
        INSERT INTO push_templates (app_id, sha256, given, content) SELECT id, sha256(''), '', '' FROM apps;
        INSERT INTO update_producers SELECT id, 'feed', 7 FROM apps;
        INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, template_id, when_paused,
                identity_hash)
            SELECT gen_random_uuid(), r.app_id, r.id, '{anduct}', '{last_price}', 1, t.id, 1, sha256('')
            FROM registrations r JOIN push_templates t ON t.app_id = r.app_id;
        INSERT INTO item_followers SELECT i.id, s.id, 0 FROM item_subscriptions s JOIN items i ON i.app_id = s.app_id;
        INSERT INTO armed SELECT item_id, 1, 'last_price', 1, 1, 1, subscription_id FROM item_followers;
        INSERT INTO armed_other SELECT item_id, sha256(''), subscription_id FROM item_followers;
        INSERT INTO held_pushes (subscription_id, app_id, registration_id, item_id, is_triggered, ready_at, due_at)
            SELECT s.id, s.app_id, s.registration_id, i.id, false, now(), now()
            FROM item_subscriptions s JOIN items i ON i.app_id = s.app_id;
        INSERT INTO device_windows SELECT id, now() FROM registrations;
        INSERT INTO item_due (item_id, app_id, due_at) SELECT id, app_id, now() FROM items;
        INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
                first_member, last_member, member_count, members)
            SELECT message_id, id, 1, 1, route_id, 1, 'accepted', 1, now(), 1, 1, 1, '\\x0001' FROM parcels
        """

    private static let tables = [
        "registrations", "registration_pulse", "registration_tags", "routes", "messages", "message_contents", "plans",
        "parcels", "feedback", "feedback_swept", "credentials", "lane_blocks", "suspicions", "route_minutes",
        "idempotency_keys",
        "message_providers", "message_paces", "inline_targets", "own_values", "push_history", "items", "push_templates",
        "update_producers", "item_subscriptions", "item_followers", "armed", "armed_other", "held_pushes",
        "device_windows", "item_due", "apps",
    ]

    /// The id of a message from the day of `dawn`, which retention leaves alone.
    private static func message(_ number: UInt64) -> MessageID {
        let milliseconds = UInt64(dawn.secondsSince1970) * 1_000
        return MessageID(UniversalID(high: milliseconds << 16 | 0x7000 | number, low: 1 << 63))
    }

    private func fill(_ world: StoreWorld, _ app: AppID, message: UInt64) async throws {
        let tagged = (1...40).map { number in
            var registration = StoreWorld.registration("i\(number)", token: number)
            registration.profile.tags = .set(["all"])
            return registration
        }
        for answer in await world.stores.registry.register(tagged, app: app, now: dawn) { _ = try answer.get() }
        for number in [message, message + 1] {
            let made = NewMessage(
                id: Self.message(number), app: app, format: 1, urgency: .bulk, kind: .alert, badge: .none,
                lifetime: .seconds(60), content: Array("{}".utf8), audience: .all, idempotency: nil)
            #expect(try await world.stores.messages.accept([made], now: dawn) == .accepted)
            // The planning of the second message has not ended.
            for _ in 0..<(number == message ? 8 : 2) {
                _ = try await world.stores.messages.plan(
                    atMost: 1, idsMax: 10, parcelMembersMax: 5, knownFormats: [1], now: dawn)
            }
        }
    }

    @Test("disappears at once and frees its slug, and sweeping removes all of its rows")
    func deleted() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            let neighbour = try await registry.createApp(slug: "neighbour", name: "Neighbour").id
            try await fill(world, world.app, message: 1)
            try await fill(world, neighbour, message: 11)
            try await world.pool.script(Self.contents)
            var census: [String: Int] = [:]
            for table in Self.tables {
                // Both apps have the same rows, except in the tables that planning fills.
                let isPlanned = ["plans", "parcels", "push_history"].contains(table)
                let own = "(SELECT id FROM messages WHERE app_id = \(world.app.value))"
                let others = isPlanned ? "count(*) FILTER (WHERE message_id NOT IN \(own))" : "count(*) / 2"
                census[table] = try await world.number("SELECT \(others) FROM \(table)")
            }
            #expect(try await world.stores.credentials.slug(of: world.app) == "clock-tower")
            #expect(try await registry.deleteApp(world.app))
            #expect(try await registry.deleteApp(world.app) == false)
            #expect(try await world.stores.credentials.slug(of: world.app) == nil)
            #expect(try await registry.app(slug: "clock-tower") == nil)
            #expect(try await registry.apps(limit: 9).map(\.id) == [neighbour])
            #expect(
                try await world.number(
                    "SELECT count(*) FROM credentials WHERE app_id = \(world.app.value) AND state = 2")
                    == 0)
            let successor = try await registry.createApp(slug: "clock-tower", name: "Clock tower").id
            #expect(try await registry.app(slug: "clock-tower")?.id == successor)
            // Each sweep begins where the one before may have crashed.
            while try await Stores(pool: world.pool).sweeper.sweep(now: dawn) > 0 {}
            for table in Self.tables where table != "apps" {
                let left = try await world.number("SELECT count(*) FROM \(table)")
                #expect(try #require(census[table]) > 0 && left == census[table], "\(table): \(left)")
            }
            #expect(try await registry.apps(limit: 9).map(\.id) == [neighbour, successor])
            #expect(try await world.number("SELECT count(*) FROM apps") == 2)
        }
    }

    @Test("cannot be revived by a process that still has its route in memory")
    func lateRegistration() async throws {
        try await withStores { world in
            try await world.register(1...3)
            let late = Stores(pool: world.pool)
            _ = try await late.registry.register([StoreWorld.registration("i4", token: 4)], app: world.app)[0].get()
            #expect(try await world.stores.registry.deleteApp(world.app))
            // That process still has the route in memory.
            _ = await late.registry.register([StoreWorld.registration("i5", token: 5)], app: world.app)
            while try await world.stores.sweeper.sweep(now: dawn) > 0 {}
            #expect(try await world.number("SELECT count(*) FROM registrations") == 0)
            let after = await late.registry.register([StoreWorld.registration("i6", token: 6)], app: world.app)[0]
            #expect(throws: StoreFault.unknownApp) { try after.get() }
        }
    }
}
