import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

private func target(
    _ seed: Int, environment: PushEnvironment = .production, provider: Provider = .apns,
    topic: String = StoreWorld.topic
) -> InlineTarget {
    InlineTarget(provider: provider, environment: environment, topic: topic, token: StoreWorld.token(seed))
}

extension StoreWorld {
    /// Accepts a message and plans it to its end.
    fileprivate func sendInline(_ message: NewMessage, idsMax: Int = 100, at now: WallInstant = dawn) async throws {
        #expect(try await stores.messages.accept([message], now: now) == .accepted)
        while try await stores.messages.plan(atMost: 1, idsMax: idsMax, knownFormats: [1, 2], now: now) != .nothing {}
    }

    fileprivate func leaseInline(
        on environment: PushEnvironment = .production, at now: WallInstant = dawn
    ) async throws -> LeasedParcel? {
        try await lease(on: environment, formats: [1, 2], at: now)
    }
}

extension LeasedParcel {
    fileprivate var tokensInOrder: [[UInt8]] {
        members.map { Array(tokens[Int($0.tokenStart)..<Int($0.tokenStart + $0.tokenCount)]) }
    }
}

@Suite("An inline token in a message")
struct InlineTargetTests {
    @Test("gets one push, addressed to the live registration that holds it, if there is one")
    func reached() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            try await world.register(4...4, environment: .sandbox)
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE id = \(ids[2].value)")
            let targets = [
                target(9), target(2), target(9, topic: "com.example.other"), target(4), target(3), target(8),
            ]
            try await world.sendInline(world.newMessage(audience: .tokens(targets)), idsMax: 1)
            #expect(try await world.account().audience == 5)
            let parcel = try #require(try await world.leaseInline())
            #expect(parcel.tokensInOrder == [2, 9, 3, 8].map { StoreWorld.token($0).bytes })
            #expect(parcel.members[0].registration == ids[1])
            #expect(parcel.members.allSatisfy { $0.status == .present && !$0.isSuspected })
            let sandbox = try #require(try await world.leaseInline(on: .sandbox))
            #expect(sandbox.tokensInOrder == [StoreWorld.token(4).bytes])
            #expect(try await world.number("SELECT count(*) FROM registrations") == 4)
        }
    }

    @Test("gets an id that no registration has, before or after it")
    func ids() async throws {
        try await withStores { world in
            let before = try await world.register(1...2)
            try await world.sendInline(world.newMessage(audience: .tokens([target(8), target(9)])))
            let after = try await world.register(3...4)
            let inline = try await world.members(of: StoreWorld.message(1))
            #expect(Set((before + after).map(\.value) + inline).count == 6)
        }
    }

    @Test(
        "counts its badge from zero, while registered devices count from their own",
        arguments: [BadgeChange.none, .increment, .value(7)])
    func badges(change: BadgeChange) async throws {
        try await withStores { world in
            try await world.register(1...1)
            _ = try await world.stores.registry.setBadge(4, app: world.app, installation: "i1")
            try await world.sendInline(
                world.newMessage(badge: change, audience: .tokens([target(1), target(9)])))
            let expected: [Int32] =
                switch change {
                case .none: [0, 0]
                case .increment: [5, 1]
                case .value(let badge): [badge, badge]
                }
            // The first lease raises badges, the second one reads them.
            for lapse in Int64(0)...1 {
                let now = dawn + .seconds(lapse * 100)
                let parcel = try #require(try await world.leaseInline(at: now))
                #expect(parcel.members.map(\.badge) == expected)
                #expect(try await world.stores.parcels.rescue(now: now + .seconds(61)) == 1)
            }
        }
    }

    @Test("ends its push without feedback or suspicion if the provider reports it as dead")
    func dead() async throws {
        try await withStores { world in
            try await world.sendInline(world.newMessage(audience: .tokens([target(9), target(8)])))
            let parcel = try #require(try await world.leaseInline())
            let verdicts = zip(
                parcel.members,
                [TokenVerdict.unregistered(since: nil, reason: "Unregistered"), .suspected(reason: "BadDeviceToken")]
            ).map {
                GuardedVerdict(
                    registration: $0.registration, generation: $0.generation, route: parcel.route, verdict: $1,
                    asOf: dawn)
            }
            let report = try await world.stores.parcels.applyVerdicts(verdicts, now: dawn)
            #expect(report == VerdictReport(retired: 0, suspected: 0, cleared: 0))
            let settled = parcel.settlingAll(as: TerminalStatus(.unregistered, "Unregistered"))
            #expect(try await world.stores.parcels.settle([settled], now: dawn)[0].get() == .settled)
            #expect(try await world.account().state == .finished)
            #expect(try await world.feed().isEmpty)
            #expect(try await world.number("SELECT count(*) FROM suspicions") == 0)
        }
    }

    @Test("follows its remainder to another route and stays present there")
    func otherRoute() async throws {
        try await withStores { world in
            try await world.register(1...1, environment: .sandbox)
            try await world.sendInline(world.newMessage(audience: .tokens([target(9)])))
            let parcel = try #require(try await world.leaseInline())
            let remainder = parcel.remainder(0..<1, route: try await world.route(.sandbox))
            _ = try await world.stores.parcels.settle([parcel.settling([], remainders: [remainder])], now: dawn)[0]
                .get()
            let next = try #require(try await world.leaseInline(on: .sandbox))
            #expect(next.members.map(\.status) == [.present])
            #expect(next.members.map(\.registration) == parcel.members.map(\.registration))
            #expect(next.tokensInOrder == [StoreWorld.token(9).bytes])
        }
    }

    @Test("counts once per provider, and leaves the audience if its provider is excluded")
    func narrowed() async throws {
        try await withStores { world in
            let targets = [target(9), target(9, provider: .fcm, topic: ""), target(8, provider: .fcm, topic: "")]
            try await world.sendInline(world.newMessage(1, audience: .tokens(targets)))
            try await world.sendInline(
                world.newMessage(2, audience: Audience(.tokens(targets), providers: [.fcm])))
            #expect(try await world.account(StoreWorld.message(1)).audience == 3)
            #expect(try await world.account(StoreWorld.message(2)).audience == 2)
        }
    }

    @Test("causes its message to be refused if its topic exceeds the app's limit of routes")
    func tooManyTopics() async throws {
        try await withStores { world in
            try await world.pool.script(
                """
                INSERT INTO routes (app_id, provider, environment, topic, number)
                SELECT \(world.app.value), 1, 1, 't' || n, n FROM generate_series(1, \(StoreFault.routesPerAppMax)) AS n
                """)
            let known = world.newMessage(1, audience: .tokens([target(9, topic: "t7")]))
            #expect(try await world.stores.messages.accept([known], now: dawn) == .accepted)
            let unknown = world.newMessage(2, audience: .tokens([target(9, topic: "t7"), target(8, topic: "new")]))
            let refused = await fault { () async throws(StoreFault) in try await world.stores.messages.accept([unknown])
            }
            #expect(refused == .invalid(constraint: StoreFault.routesPerApp))
            #expect(try await world.number("SELECT count(*) FROM messages") == 1)
        }
    }
}

@Suite("The content of a message")
struct ContentRetentionTests {
    @Test("disappears after its retention once the message is finished; the totals remain")
    func swept() async throws {
        try await withStores { world in
            // The ids of these messages date from 2024.
            for number in 1...2 as ClosedRange<UInt64> {
                try await world.sendInline(
                    world.newMessage(number, audience: .tokens([target(Int(number) + 5), target(9)])))
            }
            let parcel = try #require(try await world.leaseInline())
            _ = try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get()
            let kept = "SELECT count(*) FROM message_contents"
            let created = WallInstant(microseconds: Int64(StoreWorld.message(1).value.high >> 16) * 1_000)
            let week = created + .seconds(7 * 86_400)
            var retention = Retention()
            retention.contentDays = 7
            _ = try await world.stores.sweeper.sweep(retention, now: week)
            _ = try await world.stores.sweeper.sweep(now: week + .seconds(86_400))
            #expect(try await world.number(kept) == 2)
            #expect(try await world.number("SELECT count(*) FROM inline_targets") == 4)
            _ = try await world.stores.sweeper.sweep(retention, now: week + .seconds(86_400))
            #expect(try await world.number(kept) == 1)
            #expect(try await world.number("SELECT count(*) FROM inline_targets") == 2)
            #expect(try await world.account(StoreWorld.message(1)).count(.accepted) == 2)
            #expect(try await world.stores.messages.contents([StoreWorld.message(1)])[0].get() == nil)
            #expect(try await world.leaseInline()?.tokensInOrder.count == 2)
        }
    }
}
