import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn
private let start = MonotonicInstant(nanoseconds: 0)

extension StoreWorld {
    /// Lets the provider refuse all pushes of a leased parcel.
    fileprivate func refuse(_ parcel: LeasedParcel) async throws {
        var run = ParcelRun(parcel: parcel, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
        let refused = Outcome.rejected(Rejection(fault: .message, reason: "PayloadTooLarge"))
        for position in parcel.members.indices { run.record(refused, for: position, now: start) }
        let pending = run.takeSettlement()
        let settlement = try #require(pending).settlement
        #expect(settlement.takenBack.count == parcel.members.count)
        #expect(try await stores.parcels.settle([settlement], now: Self.dawn)[0].get() == .settled)
    }

    /// Hands a leased parcel back untried.
    fileprivate func handBack(_ parcel: LeasedParcel, for pause: Duration = .zero) async throws {
        let waiting = Remainder(
            route: parcel.route, dueAfter: pause, attempt: 0, lapses: 0, retrySpent: .zero, answerLost: false,
            cause: .handedBack, members: parcel.members.map(\.registration))
        let settlement = parcel.settling([], remainders: [waiting])
        #expect(try await stores.parcels.settle([settlement], now: Self.dawn)[0].get() == .settled)
    }

    /// Leases the increments of the next message.
    fileprivate func increment(_ number: UInt64) async throws -> LeasedParcel {
        try await send(newMessage(number, badge: .increment))
        let parcel = try #require(try await lease())
        #expect(parcel.message == StoreWorld.message(number))
        return parcel
    }
}

/// The app opened, and a second message came, before the first one failed.
@Suite("A badge that was set between the increments of two messages")
struct BadgeSetTests {
    @Test("keeps the second increment if the first message is refused, whatever set the badge")
    func everyWay() async throws {
        try await withStores { world in
            try await world.register(1...6)
            let registry = world.stores.registry
            let first = try await world.increment(1)
            #expect(first.members.map(\.badge) == [1, 1, 1, 1, 1, 1])
            _ = try await registry.setBadge(0, app: world.app, installation: "i1")
            var owned = StoreWorld.registration("i2", token: 2)
            owned.profile[.user] = .set("ann")
            try await world.register(owned)
            #expect(try await registry.setBadge(0, app: world.app, user: "ann") == 1)
            let token = [(Provider.apns, StoreWorld.token(3))]
            #expect(try await registry.setBadge(0, app: world.app, ofToken: token)?.installation == "i3")
            var registration = StoreWorld.registration("i4", token: 4)
            registration.badge = 0
            try await world.register(registration)
            #expect(try await registry.consumeBadge(1, app: world.app, installation: "i5") == 0)
            try await world.send(world.newMessage(2, badge: .value(0), audience: Audience(.installations(["i6"]))))
            let absolute = try #require(try await world.lease())
            #expect(absolute.members.map(\.badge) == [0])
            let second = try await world.increment(3)
            #expect(second.members.map(\.badge) == [1, 1, 1, 1, 1, 1])
            try await world.refuse(first)
            #expect(try await world.badges() == [1, 1, 1, 1, 1, 1])
            try await world.refuse(second)
            #expect(try await world.badges() == [0, 0, 0, 0, 0, 0])
        }
    }

    @Test("keeps the second increment if the first message waited in a new parcel and is cancelled")
    func cancelledRemainder() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.handBack(try await world.increment(1), for: .seconds(60))
            _ = try await world.stores.registry.setBadge(0, app: world.app, installation: "i1")
            #expect(try await world.increment(2).members.map(\.badge) == [1, 2])
            let id = StoreWorld.message(1)
            #expect(try await world.stores.messages.control(.cancel, app: world.app, id: id, now: dawn) == .done)
            try await world.stores.stops.carryOut(now: dawn)
            #expect(try await world.account().count(.cancelled) == 2)
            #expect(try await world.badges() == [1, 1], "the other badge was not set, and loses the increment")
        }
    }

    @Test("keeps the second increment if the first message is refused at a later lease")
    func refusedRemainder() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.handBack(try await world.increment(1))
            _ = try await world.stores.registry.setBadge(0, app: world.app, installation: "i1")
            let again = try #require(try await world.lease())
            #expect(again.message == StoreWorld.message(1) && again.members.map(\.badge) == [0, 1])
            try await world.handBack(again)
            let last = try #require(try await world.lease())
            #expect(try await world.increment(2).members.map(\.badge) == [1, 2])
            try await world.refuse(last)
            #expect(try await world.badges() == [1, 1])
        }
    }

    @Test("loses only the later increment if one lease incremented it, set it and incremented it")
    func oneLease() async throws {
        try await withStores { world in
            try await world.register(1...1)
            for (number, badge) in zip(UInt64(1)..., [BadgeChange.increment, .value(5), .increment]) {
                try await world.send(world.newMessage(number, urgency: .transactional, badge: badge))
            }
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
            let parcels = try await world.stores.parcels.lease(order, now: dawn).parcels
            #expect(parcels.map { $0.members.map(\.badge) } == [[1], [5], [6]])
            try await world.refuse(parcels[0])
            #expect(try await world.badges() == [6])
            try await world.refuse(parcels[2])
            #expect(try await world.badges() == [5])
        }
    }

    @Test("loses only the later increment if one cut incremented it, set it and incremented it")
    func oneCut() async throws {
        try await withStores { world in
            try await world.register(1...1)
            var messages: [CutMessage] = []
            for (number, badge) in zip(UInt64(1)..., [BadgeChange.increment, .value(5), .increment]) {
                let new = world.newMessage(
                    number, urgency: .transactional, badge: badge, audience: Audience(.installations(["i1"])))
                messages.append(try #require(CutMessage(new)))
            }
            let order = CutOrder(owner: StoreWorld.ann, leaseFor: .seconds(60), parcelMembersMax: 5_000)
            let result = await world.stores.messages.cut(messages, order, now: dawn) { Set($0.keys) }
            let parcels = try #require(result.written.leases.first).parcels
            #expect(parcels.map { $0.members.map(\.badge) } == [[1], [5], [6]])
            try await world.refuse(parcels[0])
            #expect(try await world.badges() == [6])
            try await world.refuse(parcels[2])
            #expect(try await world.badges() == [5])
        }
    }
}
