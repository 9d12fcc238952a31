import Basis
import Model
import Postgres
import QueueRules
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn
private let month = UpdateStore.idleKept

@Suite("Items that nobody updates any more")
struct IdleItemTests {
    private static func names(_ items: ItemWorld) async throws -> [String] {
        try await items.world.pool.read(query("SELECT name FROM items ORDER BY name")).map(String.init)
    }

    @Test("go after thirty days, unless a subscription has them, armed, triggered or following")
    func removed() async throws {
        try await withItems { items in
            try await items.register("phone")
            for name in ["armed", "fired", "followed", "other", "idle", "recent"] {
                try await items.update(name, #"{"last_price": 1}"#)
            }
            let price = "Double.parseDouble(${last_price})"
            try await items.subscribe("phone", try ItemWorld.terms(["armed"], trigger: "\(price) > 9"))
            try await items.subscribe("phone", try ItemWorld.terms(["other"], trigger: "${last_price}.equals(\"9\")"))
            try await items.subscribe("phone", try ItemWorld.terms(["followed"]))
            try await items.subscribe("phone", try ItemWorld.terms(["fired"], trigger: "\(price) > 0"))
            try await items.update("fired", #"{"last_price": 1}"#)
            try await items.update("recent", #"{"last_price": 1}"#, at: dawn + .seconds(1))
            // Another app's triggered subscription to an item of the same name keeps nothing here.
            let neighbour = try await items.world.neighbour().app
            try await items.register("phone", app: neighbour)
            try await items.subscribe("phone", try ItemWorld.terms(["idle"], trigger: "\(price) > 0"), app: neighbour)
            try await items.update("idle", #"{"last_price": 1}"#, app: neighbour)
            #expect(try await items.triggered().count == 2)
            #expect(try await items.stores.updates.removeIdle(now: dawn + month) == false)
            #expect(try await Self.names(items).count == 7)
            #expect(try await items.stores.updates.removeIdle(now: dawn + month + .milliseconds(1)) == false)
            #expect(try await Self.names(items) == ["armed", "fired", "followed", "idle", "other", "recent"])
            #expect(try await items.item("idle") == nil)
            try await items.world.pool.script("DELETE FROM item_subscriptions")
            _ = try await items.stores.updates.removeIdle(now: dawn + month + month)
            #expect(try await Self.names(items) == [])
        }
    }

    @Test("go some at a time, and the walk begins anew after the last one")
    func walk() async throws {
        try await withItems { items in
            let add = """
                INSERT INTO items (app_id, name, updated_at) SELECT \(items.world.app.value), 'i' || n, '2020-01-01'
                FROM generate_series(1, 7000) AS n ON CONFLICT DO NOTHING
                """
            try await items.world.pool.script(add)
            let updates = items.stores.updates
            #expect(try await updates.removeIdle(now: dawn))
            #expect(try await items.number(of: "items") == 2_000)
            #expect(try await updates.removeIdle(now: dawn) == false)
            #expect(try await items.number(of: "items") == 0)
            try await items.world.pool.script(add)
            #expect(try await updates.removeIdle(now: dawn))
        }
    }

    @Test("stay where an update or a subscription comes while they are being removed")
    func kept() async throws {
        try await withItems { items in
            for name in ["a", "b", "c"] { try await items.update(name, #"{"x": 1}"#) }
            let later = dawn + month + .seconds(1)
            try await items.world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query("SELECT FROM items WHERE name = 'a' FOR KEY SHARE"))
                _ = try await transaction.run(query("UPDATE items SET seq = 2 WHERE name = 'b'"))
                do { _ = try await items.stores.updates.removeIdle(now: later) } catch { Issue.record(error) }
            }
            #expect(try await Self.names(items) == ["a", "b"])
            try await items.update("d", #"{"x": 1}"#, at: later)
            _ = try await items.stores.updates.removeIdle(now: later)
            #expect(try await Self.names(items) == ["d"])
        }
    }
}

@Suite("Subscriptions to items whose device leaves or has another user")
struct LeavingDeviceTests {
    private static let tables = [
        "item_subscriptions", "item_followers", "armed", "armed_other", "held_pushes", "device_windows",
    ]

    /// Two devices, each with a row in every table that belongs to a device.
    private static func withDevices(_ body: (ItemWorld) async throws -> Void) async throws {
        try await withItems { items in
            let price = "Double.parseDouble(${last_price})"
            for device in ["phone", "tablet"] {
                try await items.register(device, user: "ann")
                for trigger in [nil, "\(price) > 9", "${last_price}.equals(\"9\")", "\(price) > 0"] {
                    try await items.subscribe(device, try ItemWorld.terms(["a"], trigger: trigger))
                }
            }
            try await items.update("a", #"{"last_price": 1}"#)
            try await items.world.pool.script("INSERT INTO device_windows SELECT id, now() FROM registrations")
            try await body(items)
        }
    }

    private static func counts(_ items: ItemWorld) async throws -> [Int] {
        var counts: [Int] = []
        for table in tables { counts.append(try await items.number(of: table)) }
        return counts
    }

    @Test("go with the device, with all that they hold")
    func removed() async throws {
        try await Self.withDevices { items in
            let before = try await Self.counts(items)
            #expect(before == [8, 2, 2, 2, 2, 2])
            _ = try await items.world.stores.registry.removeDevice(app: items.world.app, installation: "phone")
            #expect(try await Self.counts(items) == [4, 1, 1, 1, 1, 1])
            _ = try await items.world.stores.registry.erase(user: "ann", app: items.world.app)
            #expect(try await Self.counts(items) == [0, 0, 0, 0, 0, 0])
        }
    }

    @Test("end with the device's window when somebody else or nobody has the device", arguments: ["bob", nil])
    func nextUser(user: String?) async throws {
        try await Self.withDevices { items in
            try await items.register("phone", user: user, at: dawn + .seconds(1))
            #expect(try await Self.counts(items) == [4, 1, 1, 1, 1, 1])
            #expect(try await items.held().count == 1)
            try await items.register("tablet", user: "ann", at: dawn + .seconds(1))
            #expect(try await Self.counts(items) == [4, 1, 1, 1, 1, 1])
        }
    }

    @Test("stay where a device without a user gets one, or gets a new token")
    func stays() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["a"]))
            try await items.register("phone", user: "ann", at: dawn + .seconds(1))
            try await items.world.pool.script("UPDATE registrations SET token = 'new', generation = 2")
            #expect(try await items.number(of: "item_followers") == 1)
        }
    }
}

@Suite("A push of a subscription to items that waits for its lease")
struct WaitingItemPushTests {
    /// Cuts a push for some installations, as a message to the subscribers of a template.
    private static func cut(
        _ items: ItemWorld, _ template: Int64, for devices: [RegistrationID], at now: WallInstant = dawn
    ) async throws {
        let route = try await items.world.route()
        let audience = Audience(.itemSubscribers(PushTemplateID(template)))
        let message = items.world.newMessage(urgency: .transactional, badge: .increment, audience: audience)
        let receivers = devices.map { ValuedReceiver($0, on: route, value: []) }
        _ = try await items.world.stores.messages.write(message, to: receivers, parcelMembersMax: 9, now: now)
    }

    private static func template(_ items: ItemWorld, of subscription: ItemSubscription) async throws -> Int64 {
        try await items.world.pool.read(
            query("SELECT template_id FROM item_subscriptions WHERE id = \(subscription.id)")
        ).one(Int64.init)
    }

    @Test("goes to those that still have a subscription with its template, from before it was cut")
    func leased() async throws {
        try await withItems { items in
            var devices: [RegistrationID] = []
            var subscriptions: [ItemSubscription] = []
            for device in ["stays", "gone", "anew", "other"] {
                devices.append(try await items.register(device, user: "ann"))
                let text = device == "other" ? "another text" : "now ${last_price}"
                subscriptions.append(try await items.subscribe(device, try ItemWorld.terms(["a"], text: text)))
            }
            try await Self.cut(items, Self.template(items, of: subscriptions[0]), for: devices)
            for device in ["gone", "anew"] {
                try await items.register(device, user: "bob", at: dawn + .seconds(1))
            }
            // The next user of the device has the same subscription, since after the push was cut.
            try await items.subscribe(
                "anew", try ItemWorld.terms(["a"], text: "now ${last_price}"), at: dawn + .seconds(2))
            let parcel = try #require(try await items.world.lease(at: dawn + .seconds(3)))
            let excluded = MemberStatus.excluded(.condition)
            #expect(parcel.members.map(\.status) == [.present, excluded, excluded, excluded])
            #expect(parcel.members.map(\.registration) == devices.sorted())
            #expect(try await items.world.number("SELECT sum(badge) FROM registration_pulse") == 1)
        }
    }

    @Test("goes to those whose subscription has got another template since, and not if it has ended")
    func modified() async throws {
        try await withItems { items in
            let store = items.stores.subscriptions
            var devices: [RegistrationID] = []
            var made: [ItemSubscription] = []
            for device in ["modified", "overwritten", "earlier", "ended"] {
                devices.append(try await items.register(device))
                made.append(try await items.subscribe(device, try ItemWorld.terms(["a"], text: "old")))
            }
            try await items.subscribe("ended", try ItemWorld.terms(["b"], text: "other"))
            func modify(_ place: Int, from revision: Int32, at now: WallInstant) async throws {
                let terms = try ItemWorld.terms(["a"], text: "text \(revision)")
                let reply = try await store.modify(
                    made[place].key, of: devices[place], from: revision, to: terms, rearms: false, now: now)
                #expect(reply.subscription != nil)
            }
            let template = try await Self.template(items, of: made[0])
            try await modify(2, from: 1, at: dawn)
            try await Self.cut(items, template, for: devices, at: dawn + .seconds(1))
            for revision in Int32(1)...2 {
                try await modify(0, from: revision, at: dawn + .seconds(2))
            }
            let new = try ItemWorld.terms(["a"], text: "new")
            try await items.activate("overwritten", new, coalescing: true, at: dawn + .seconds(2))
            #expect(try await store.remove(made[3].key, of: devices[3], now: dawn + .seconds(2)))
            let parcel = try #require(try await items.world.lease(at: dawn + .seconds(3)))
            let excluded = MemberStatus.excluded(.condition)
            #expect(parcel.members.map(\.status) == [.present, .present, excluded, excluded])
        }
    }

    @Test("shows its audience without a name, as no sender could ask for it")
    func summary() {
        let audience = Audience(.itemSubscribers(PushTemplateID(7)))
        #expect(String(decoding: audience.summary.bytes, as: UTF8.self) == #"{"item_subscribers":true}"#)
        #expect(audience.scope == .broadcast)
    }
}

@Suite("The settings of an app for subscriptions to items")
struct TriggerSettingsTests {
    @Test("change one by one, hooks too, and are read by another process")
    func changed() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            #expect(try await registry.app(slug: "clock-tower")?.settings.triggers == TriggerSettings())
            var expected = TriggerSettings()
            var change = AppChange()
            (change.triggers.isEnabled, change.triggers.pauseSeconds) = (true, 0)
            change.triggers.allow = [#"Double\.parseDouble\(\$\{a\}\) > 0"#, "é"]
            (change.triggers.deviceHook, change.triggers.tokenHook) = (.some("auth != null"), .some("true"))
            (expected.isEnabled, expected.pauseSeconds) = (true, 0)
            expected.allow = [#"Double\.parseDouble\(\$\{a\}\) > 0"#, "é"]
            expected.hooks = TriggerHooks(device: "auth != null", token: "true")
            #expect(try await registry.changeApp(world.app, change)?.settings.triggers == expected)
            var second = AppChange()
            second.wakeUp.isEnabled = true
            (second.triggers.activationHook, second.triggers.tokenHook) = (.some("false"), .some(nil))
            (expected.hooks.activation, expected.hooks.token) = ("false", nil)
            let changed = try #require(try await registry.changeApp(world.app, second))
            #expect(changed.settings.triggers == expected && changed.settings.wakeUp.isEnabled)
            let found = try await Stores(pool: world.pool).registry.app(slug: "clock-tower")
            #expect(found?.settings.triggers == expected)
        }
    }
}
