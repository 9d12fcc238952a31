import Model
import Postgres
import Store
import TestSupport
import Testing

@Suite("A badge")
struct BadgeTests {
    @Test("can be read and set, and consuming it stops at zero")
    func consumed() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            try await world.register(1...1)
            #expect(try await registry.badge(app: world.app, installation: "i1") == 0)
            #expect(try await registry.setBadge(5, app: world.app, installation: "i1") == 5)
            #expect(try await registry.consumeBadge(2, app: world.app, installation: "i1") == 3)
            #expect(try await registry.consumeBadge(Int32.max, app: world.app, installation: "i1") == 0)
            #expect(try await registry.badge(app: world.app, installation: "i1") == 0)
        }
    }

    @Test("cannot be read, set or consumed for an unknown device, kind or app")
    func unknown() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            try await world.register(1...1)
            #expect(try await registry.badge(app: world.app, installation: "nobody") == nil)
            #expect(try await registry.setBadge(1, app: world.app, installation: "i1", kind: .voip) == nil)
            #expect(try await registry.consumeBadge(1, app: AppID(99), installation: "i1") == nil)
        }
    }

    @Test("can be set and consumed by a token, for the first provider with a live registration")
    func byToken() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            try await world.register(1...2)
            try await world.register(
                DeviceRegistration(installation: "a2", provider: .fcm, token: StoreWorld.token(2)))
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE installation = 'i1'")
            let two = [(Provider.apns, StoreWorld.token(2)), (Provider.fcm, StoreWorld.token(2))]
            let set = try await registry.setBadge(7, app: world.app, ofToken: two)
            #expect(set?.badge == 7 && set?.installation == "i2" && set?.kind == .alert)
            #expect(try await world.device("a2").badge == 0)
            let other = try await registry.setBadge(3, app: world.app, ofToken: two.reversed())
            #expect(other?.installation == "a2" && other?.badge == 3)
            #expect(try await registry.setBadge(9, app: world.app, ofToken: [(.apns, StoreWorld.token(1))]) == nil)
            let claim = IdempotencyClaim(operation: "badges", key: "k", bodySHA256: [UInt8](repeating: 1, count: 32))
            func consume(_ claim: IdempotencyClaim?) async throws -> IdempotentReply {
                try await registry.consumeBadge(2, app: world.app, ofToken: two, idempotency: claim) {
                    [UInt8($0?.badge ?? 99)]
                }
            }
            #expect(try await consume(claim) == .done(answer: [5]))
            #expect(try await consume(claim) == .replayed(answer: [5]))
            #expect(try await consume(nil) == .done(answer: [3]))
            #expect(try await world.device("i2").badge == 3)
        }
    }

    @Test("can be set on all devices of a user at once, for one kind of token")
    func ofUser() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            func registration(_ name: String, _ token: Int, _ user: String?, _ kind: TokenKind = .alert)
                -> DeviceRegistration
            {
                var registration = StoreWorld.registration(name, token: token, kind: kind)
                registration.profile[.user] = user.map { .set($0) } ?? .clear
                return registration
            }
            // More devices than one transaction sets.
            let batch =
                (1...520).map { registration("i\($0)", $0, "ann") }
                + [
                    registration("i1", 601, "ann", .voip), registration("other", 602, "bob"),
                    registration("nobodys", 603, nil),
                ]
            for answer in await registry.register(batch, app: world.app) { _ = try answer.get() }
            let neighbour = try await registry.createApp(slug: "neighbour", name: "Neighbour").id
            try await world.register(registration("i1", 1, "ann"), app: neighbour)
            #expect(try await registry.setBadge(7, app: world.app, user: "ann") == 520)
            #expect(try await world.number("SELECT count(*) FROM registration_pulse WHERE badge = 7") == 520)
            #expect(try await registry.badge(app: world.app, installation: "i520") == 7)
            for (app, name, kind) in [
                (world.app, "i1", TokenKind.voip), (world.app, "other", .alert), (world.app, "nobodys", .alert),
                (neighbour, "i1", .alert),
            ] {
                #expect(try await registry.badge(app: app, installation: name, kind: kind) == 0)
            }
            #expect(try await registry.setBadge(3, app: world.app, user: "ann", kind: .voip) == 1)
            #expect(try await registry.setBadge(3, app: world.app, user: "an") == 0)
        }
    }

    @Test("fails soon if another transaction has locked one of the user's")
    func ofUserWhileLocked() async throws {
        try await withStores { world in
            let ids = try await world.register(1...2)
            try await world.pool.script("UPDATE registrations SET user_id = 'ann'")
            try await world.holding("registration_pulse WHERE registration_id = \(ids[1].value)") {
                let found = await fault { () async throws(StoreFault) in
                    try await world.stores.registry.setBadge(5, app: world.app, user: "ann")
                }
                #expect(found == .contended)
            }
            #expect(try await world.stores.registry.setBadge(5, app: world.app, user: "ann") == 2)
        }
    }

    /// The calls that change a badge.
    private enum Change: CaseIterable {
        case set, setByToken, consume, consumeOnce, consumeByToken, consumeByTokenOnce

        func happen(_ world: StoreWorld) async throws(StoreFault) {
            let (registry, tokens) = (world.stores.registry, [(Provider.apns, StoreWorld.token(1))])
            let claim = IdempotencyClaim(operation: "badges", key: "k", bodySHA256: [UInt8](repeating: 1, count: 32))
            switch self {
            case .set: _ = try await registry.setBadge(1, app: world.app, installation: "i1")
            case .setByToken: _ = try await registry.setBadge(1, app: world.app, ofToken: tokens)
            case .consume: _ = try await registry.consumeBadge(1, app: world.app, installation: "i1")
            case .consumeOnce:
                _ = try await registry.consumeBadge(1, app: world.app, installation: "i1", idempotency: claim) { _ in []
                }
            case .consumeByToken, .consumeByTokenOnce:
                let claim = self == .consumeByTokenOnce ? claim : nil
                _ = try await registry.consumeBadge(1, app: world.app, ofToken: tokens, idempotency: claim) { _ in [] }
            }
        }
    }

    @Test("fails a change soon if another transaction has locked it", arguments: Change.allCases)
    private func locked(change: Change) async throws {
        try await withStores { world in
            try await world.register(1...1)
            let held = try await world.device("i1").id.value
            try await world.holding("registration_pulse WHERE registration_id = \(held)") { () async throws in
                let begin = ContinuousClock.now
                let found = await fault { () async throws(StoreFault) in try await change.happen(world) }
                #expect(found == .contended)
                // Without a bound it waits as long as the pool's statements may run.
                #expect(ContinuousClock.now - begin < PoolSettings.patient.deadline / 2)
            }
        }
    }

    @Test("cannot be set to a negative number")
    func negative() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let found = await fault { () async throws(StoreFault) in
                try await world.stores.registry.setBadge(-1, app: world.app, installation: "i1")
            }
            #expect(found == .invalid(constraint: "registration_pulse_badge_check"))
        }
    }

    @Test("falls only once if the same consume request is repeated, even at the same time")
    func once() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            try await world.register(1...1)
            _ = try await registry.setBadge(10, app: world.app, installation: "i1")
            let claim = IdempotencyClaim(
                operation: "POST badge/consume", key: "k1", bodySHA256: [UInt8](repeating: 1, count: 32))
            let replies = try await withThrowingTaskGroup(of: IdempotentReply.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await registry.consumeBadge(
                            3, app: world.app, installation: "i1", idempotency: claim
                        ) { Array("left: \($0 ?? -1)".utf8) }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let answer = Array("left: 7".utf8)
            #expect(replies.count { $0 == .done(answer: answer) } == 1)
            #expect(replies.count { $0 == .replayed(answer: answer) } == 7)
            #expect(try await registry.badge(app: world.app, installation: "i1") == 7)
            let other = IdempotencyClaim(
                operation: "POST badge/consume", key: "k1", bodySHA256: [UInt8](repeating: 2, count: 32))
            let reply = try await registry.consumeBadge(
                3, app: world.app, installation: "i1", idempotency: other
            ) { _ in [] }
            #expect(reply == .mismatch)
        }
    }
}

@Suite("An app")
struct AppTests {
    @Test("can be found by its slug, which no other app can take")
    func slugs() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            let found = try await registry.app(slug: "clock-tower")
            #expect(found?.id == world.app)
            #expect(try await registry.app(slug: "nobody") == nil)
            let taken = await fault { () async throws(StoreFault) in
                try await registry.createApp(slug: "clock-tower", name: "Another")
            }
            #expect(taken == .conflict(.slugTaken))
            let bad = await fault { () async throws(StoreFault) in
                try await registry.createApp(slug: "Clock Tower", name: "Another")
            }
            #expect(bad == .invalid(constraint: "apps_slug_check"))
        }
    }

    @Test("appears once in the paged list of apps")
    func pages() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            for number in 1...4 { _ = try await registry.createApp(slug: "app\(number)", name: "App") }
            let first = try await registry.apps(limit: 3)
            let second = try await registry.apps(after: first.last?.id, limit: 3)
            #expect((first + second).map(\.slug) == ["clock-tower", "app1", "app2", "app3", "app4"])
        }
    }
}
