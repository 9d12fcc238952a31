import Basis
import Encodings
import Model
import Postgres
import QueueRules
import Store
import TestSupport
import Testing

/// Messages that are written, cut and leased in one transaction.
@Suite("Messages that are cut when they are accepted")
struct CutTests {
    private static let order = CutOrder(owner: StoreWorld.ann, leaseFor: .seconds(60), parcelMembersMax: 5_000)
    private static let everyRoute: CutAdmission = { Set($0.keys) }
    private static let noRoute: CutAdmission = { _ in [] }

    private func message(
        _ world: StoreWorld, _ number: UInt64, to names: [String], badge: BadgeChange = .increment,
        key: IdempotentAnswer? = nil
    ) throws -> CutMessage {
        let new = world.newMessage(
            number, urgency: .transactional, badge: badge, audience: Audience(.installations(names)), idempotency: key)
        return try #require(CutMessage(new))
    }

    private func key(_ name: String, body: UInt8 = 1, answer: String) -> IdempotentAnswer {
        IdempotentAnswer(
            claim: IdempotencyClaim(operation: "send", key: name, bodySHA256: Array(repeating: body, count: 32)),
            answer: Array(answer.utf8))
    }

    private func cut(
        _ world: StoreWorld, _ messages: [CutMessage], admit: @escaping CutAdmission = everyRoute
    ) async -> CutResult {
        await world.stores.messages.cut(messages, Self.order, now: StoreWorld.dawn, admit: admit)
    }

    @Test("free the parcels that a lost commit leased, with badges raised once")
    func lostCommit() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let messages = [try message(world, 1, to: ["i1"]), try message(world, 2, to: ["i2"])]
            _ = await cut(world, messages)
            let ids = messages.map(\.message.id)
            let store = world.stores.messages
            #expect(try await store.release([ids[0]], of: StoreWorld.bob) == 0)
            #expect(try await store.release([ids[0]], of: StoreWorld.ann) == 1)
            #expect(try await store.release([ids[0]], of: StoreWorld.ann) == 0)
            let parcel = try #require(try await world.lease(at: StoreWorld.dawn))
            #expect(parcel.message == ids[0] && parcel.lapses == 0 && parcel.members.map(\.badge) == [1])
            #expect(try await world.lease(at: StoreWorld.dawn) == nil, "the other parcel still is leased")
        }
    }

    @Test("lease their parcels as a plan and a lease would")
    func likePlanned() async throws {
        try await withStores { world in
            try await world.register(1...3)
            var planned: [LeasedParcel] = []
            for number in UInt64(1)...2 {
                try await world.send(
                    world.newMessage(
                        number, urgency: .transactional, badge: .increment,
                        audience: Audience(.installations(["i1", "i3"]))))
                planned.append(try #require(try await world.lease(at: StoreWorld.dawn)))
            }
            for parcel in planned {
                #expect(try await world.settle(parcel.settlingAll(as: TerminalStatus(.cancelled))) == .settled)
            }
            try await world.setBadges(to: 0)
            let result = await cut(
                world, [try message(world, 3, to: ["i1", "i3"]), try message(world, 4, to: ["i3", "i1", "i3"])])
            #expect(result.replies == [.success(.cut), .success(.cut)])
            let lease = try #require(result.written.leases.first)
            #expect(result.written.leases.count == 1 && result.written.ready == [])
            let route = try await world.route()
            #expect(lease.route.serviceRoute == ServiceRoute(route))
            #expect(lease.parcels.map(\.message) == [StoreWorld.message(3), StoreWorld.message(4)])
            for (own, other) in zip(lease.parcels, planned) {
                #expect(own.members == other.members && own.tokens == other.tokens && own.epoch == other.epoch)
                #expect(own.expiresAt == other.expiresAt && own.leasedAt == other.leasedAt)
                #expect(own.urgency == other.urgency && own.otherEnvironment == other.otherEnvironment)
            }
            #expect(lease.parcels.map { $0.members.map(\.badge) } == [[1, 1], [2, 2]])
            #expect(try await world.account(StoreWorld.message(3)).state == .sending)
            for parcel in lease.parcels { #expect(try await world.settle(parcel.settlingAll()) == .settled) }
            #expect(try await world.account(StoreWorld.message(4)).state == .finished)
        }
    }

    @Test("get a planner once the group has as many members as one transaction may lock")
    func groupTooLarge() async throws {
        try await withStores { world in
            try await world.register(1...100)
            let names = (1...100).map { "i\($0)" }
            let fit = UInt64(CutMessage.groupMembersMax / names.count)
            let group = try (1...fit + 2).map { try message(world, $0, to: $0 == fit + 2 ? ["i1"] : names) }
            let replies = try await cut(world, group).replies.map { try $0.get() }
            #expect(replies == Array(repeating: .cut, count: Int(fit)) + [.planned, .planned])
        }
    }

    @Test("stay ready for any process if their lane can't send")
    func leftReady() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let result = await cut(world, [try message(world, 1, to: ["i1"])], admit: Self.noRoute)
            let route = try await world.route()
            #expect(result.written.leases == [] && result.written.ready.map(\.route) == [route])
            #expect(try await world.device("i1").badge == 0)
            let parcel = try #require(try await world.lease(owner: StoreWorld.bob))
            #expect(parcel.epoch == 1 && parcel.members.map(\.badge) == [1])
        }
    }

    @Test("have one effect for one idempotency key, within a group and later")
    func keys() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let first = key("k", answer: "first")
            let group = [
                try message(world, 1, to: ["i1"], key: first),
                try message(world, 2, to: ["i1"], key: key("k", answer: "second")),
                try message(world, 3, to: ["i1"], key: key("k", body: 2, answer: "third")),
                try message(world, 4, to: ["i1"]),
            ]
            let replies = try await cut(world, group).replies.map { try $0.get() }
            #expect(replies == [.cut, .replayed(answer: first.answer), .mismatch, .cut])
            let later = try await cut(
                world,
                [
                    try message(world, 5, to: ["i1"], key: key("k", body: 3, answer: "fourth")),
                    try message(world, 6, to: ["i1"], key: key("k", answer: "fifth")),
                ]
            ).replies.map { try $0.get() }
            #expect(later == [.mismatch, .replayed(answer: first.answer)])
            #expect(try await world.number("SELECT count(*) FROM messages") == 2)
            #expect(try await world.device("i1").badge == 2)
        }
    }

    @Test("fail alone if their own values are refused")
    func oneBad() async throws {
        try await withStores { world in
            try await world.register(1...3)
            let bad = try message(world, 2, to: ["i2\u{0}"])
            let result = await cut(
                world, [try message(world, 1, to: ["i1"]), bad, try message(world, 3, to: ["i3"])])
            #expect(result.replies.map { (try? $0.get()) } == [.cut, nil, .cut])
            #expect(
                Set(result.written.leases.flatMap(\.parcels).map(\.message))
                    == [StoreWorld.message(1), StoreWorld.message(3)])
            #expect(try await world.number("SELECT count(*) FROM messages") == 2)
        }
    }

    @Test("fail alone if others hold a badge of theirs, with nothing written")
    func locked() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            let store = world.stores.messages
            let group = [
                try message(world, 1, to: ["i1"], key: key("a", answer: "a")),
                try message(world, 2, to: ["i2"], key: key("b", answer: "b")),
                try message(world, 3, to: ["i3"]),
            ]
            let replies = try await world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(
                    query("SELECT FROM registration_pulse WHERE registration_id = :member FOR UPDATE") {
                        $0.int64("member", ids[1].value)
                    })
                return await store.cut(group, Self.order, now: StoreWorld.dawn, admit: Self.everyRoute).replies
            }
            #expect(replies[0] == .success(.cut) && replies[2] == .success(.cut))
            #expect(replies[1] == .failure(.contended))
            #expect(try await world.number("SELECT count(*) FROM messages") == 2)
            #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == 1)
        }
    }

    @Test("stop trying together once others hold the badges of many")
    func manyLocked() async throws {
        try await withStores { world in
            try await world.register(1...61)
            let store = world.stores.messages
            let group = try (1...61).map { try message(world, UInt64($0), to: ["i\($0)"]) }
            let replies = try await world.pool.transaction { transaction throws(PostgresError) in
                let locked = "SELECT FROM registration_pulse ORDER BY registration_id LIMIT 60 FOR UPDATE"
                _ = try await transaction.run(query(locked))
                return await store.cut(group, Self.order, now: StoreWorld.dawn, admit: Self.everyRoute).replies
            }
            // The last one could be cut, but the tries that find it out would hold up the app's next messages.
            #expect(replies.allSatisfy { $0 == .failure(.contended) })
            #expect(try await world.number("SELECT count(*) FROM messages") == 0)
        }
    }

    @Test("account for receivers that are unknown or retired at once")
    func early() async throws {
        try await withStores { world in
            try await world.register(1...2)
            _ = try await world.pool.run(query("UPDATE registrations SET state = 3 WHERE installation = 'i2'") { _ in })
            let result = await cut(
                world, [try message(world, 1, to: ["nobody", "i1", "i2"]), try message(world, 2, to: ["nobody"])])
            #expect(result.replies == [.success(.cut), .success(.cut)])
            let mixed = try await world.account(StoreWorld.message(1))
            #expect(mixed.audience == 3 && mixed.pending == 1 && mixed.state == .sending)
            #expect(mixed.count(.rejected) == 1 && mixed.count(.unregistered) == 1)
            let over = try await world.account(StoreWorld.message(2))
            #expect(over.state == .finished && over.count(.rejected) == 1 && over.audience == 1)
            let failures = try await world.number(
                "SELECT count(*) FROM push_history WHERE state <> \(TerminalState.accepted.rawValue)")
            #expect(failures == 3)
        }
    }

    @Test("reach tokens that a registration holds, and tokens that none does")
    func tokens() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let targets = [1, 9, 9].map {
                InlineTarget(
                    provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token($0))
            }
            let new = world.newMessage(
                1, urgency: .transactional, badge: .increment, audience: Audience(.tokens(targets)))
            let result = await cut(world, [try #require(CutMessage(new))])
            let parcel = try #require(result.written.leases.first?.parcels.first)
            #expect(parcel.members.map(\.status) == [.present, .present])
            #expect(parcel.members.map(\.badge) == [1, 1])
            #expect(try await world.account().audience == 2)
        }
    }

    @Test("fail alone if their app may have no more topics, and the others keep theirs")
    func tooManyTopics() async throws {
        try await withStores { world in
            // Each topic of APNs has a sibling route, which is not counted.
            _ = try await world.pool.run(
                query(
                    """
                    INSERT INTO routes (app_id, provider, environment, topic, number)
                    SELECT :app, 2, 1, 'topic' || n, n FROM generate_series(1, \(StoreFault.routesPerAppMax - 1)) AS n
                    """
                ) { $0.int64("app", world.app.value) })
            let group = try ["last", "more"].enumerated().map { number, topic in
                let target = InlineTarget(
                    provider: .fcm, environment: .production, topic: topic, token: StoreWorld.token(number))
                return try #require(
                    CutMessage(
                        world.newMessage(
                            UInt64(number + 1), urgency: .transactional, audience: Audience(.tokens([target])))))
            }
            let replies = await cut(world, group).replies
            #expect(replies[0] == .success(.cut))
            #expect(replies[1] == .failure(.invalid(constraint: StoreFault.routesPerApp)))
            #expect(try await world.account().audience == 1)
            #expect(try await world.number("SELECT count(*) FROM messages") == 1)
        }
    }

    @Test("get a plan if they have more members than a cut takes")
    func tooMany() async throws {
        try await withStores { world in
            let count = CutMessage.membersMax + 1
            let batch = (1...count).map { number in
                var registration = StoreWorld.registration("i\(number)", token: number)
                registration.profile[.user] = .set("ann")
                return registration
            }
            _ = try await world.insisting {
                try await world.stores.registry.register(batch, app: world.app, now: StoreWorld.dawn)
                    .map { try $0.get().record.id }
            }
            let new = world.newMessage(1, urgency: .transactional, audience: Audience(.users(["ann"])))
            let result = await cut(world, [try #require(CutMessage(new))])
            #expect(result.replies == [.success(.planned)] && result.written.leases == [])
            let reply = try await world.stores.messages.plan(knownFormats: [1], now: StoreWorld.dawn)
            guard case .planned(let slices) = reply else {
                Issue.record("the message has no plan")
                return
            }
            #expect(slices.map(\.members) == [count])
        }
    }

    @Test("write nothing if their app reaches other providers than those they were checked for")
    func otherProviders() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let stale = try #require(
                CutMessage(
                    world.newMessage(1, urgency: .transactional, audience: Audience(.installations(["i1"]))),
                    checkedFor: []))
            let fresh = try #require(
                CutMessage(
                    world.newMessage(2, urgency: .transactional, audience: Audience(.installations(["i1"]))),
                    checkedFor: [.apns]))
            let result = await cut(world, [stale, fresh])
            #expect(result.replies == [.success(.reaches([.apns])), .success(.cut)])
            #expect(try await world.number("SELECT count(*) FROM messages") == 1)
        }
    }
}

extension StoreWorld {
    fileprivate func settle(_ settlement: Settlement) async throws -> SettleReply {
        try await stores.parcels.settle([settlement], now: Self.dawn)[0].get()
    }

    fileprivate func setBadges(to badge: Int32) async throws {
        let set = query("UPDATE registration_pulse SET badge = :badge, raised = 0") { $0.int32("badge", badge) }
        _ = try await pool.run(set)
    }
}
