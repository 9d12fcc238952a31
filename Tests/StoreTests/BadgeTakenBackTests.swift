import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    /// Leases the next parcel, and lets the provider refuse all of it.
    fileprivate func refuse(at now: WallInstant = dawn) async throws {
        let parcel = try #require(try await lease(at: now))
        let start = MonotonicInstant(nanoseconds: 0)
        var run = ParcelRun(parcel: parcel, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
        let refused = Outcome.rejected(Rejection(fault: .message, reason: "PayloadTooLarge"))
        for position in parcel.members.indices { run.record(refused, for: position, now: start) }
        let pending = run.takeSettlement()
        let settlement = try #require(pending).settlement
        #expect(try await stores.parcels.settle([settlement], now: now)[0].get() == .settled)
        // The same settle again finds no parcel.
        _ = try await stores.parcels.settle([settlement], now: now)[0].get()
    }
}

@Suite("A badge that a message incremented")
struct BadgeTakenBackTests {
    @Test("shows 1 in the second message if the first one was refused")
    func second() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage(1, badge: .increment))
            try await world.refuse()
            #expect(try await world.badges() == [0, 0, 0])
            try await world.send(world.newMessage(2, badge: .increment))
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.badge) == [1, 1, 1])
            #expect(parcel.countsBadges && parcel.uncounted.isEmpty)
        }
    }

    @Test("keeps a value that was set, registered, sent or consumed since the increment")
    func setSince() async throws {
        try await withStores { world in
            try await world.register(1...4)
            let registry = world.stores.registry
            for installation in ["i1", "i2", "i3", "i4"] {
                _ = try await registry.setBadge(5, app: world.app, installation: installation)
            }
            try await world.send(world.newMessage(1, badge: .increment), parcelMembersMax: 4)
            try await world.send(
                world.newMessage(2, badge: .value(2), audience: Audience(.installations(["i3"]))))
            let first = try #require(try await world.lease())
            #expect(first.members.map(\.badge) == [6, 6, 6, 6])
            _ = try await registry.setBadge(8, app: world.app, installation: "i1")
            var registration = StoreWorld.registration("i2", token: 2)
            registration.badge = 3
            try await world.register(registration)
            let second = try #require(try await world.lease())
            #expect(second.members.map(\.badge) == [2])
            _ = try await registry.consumeBadge(6, app: world.app, installation: "i4")
            let start = MonotonicInstant(nanoseconds: 0)
            var run = ParcelRun(parcel: first, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
            let refused = Outcome.rejected(Rejection(fault: .message, reason: "PayloadTooLarge"))
            for position in first.members.indices { run.record(refused, for: position, now: start) }
            let pending = run.takeSettlement()
            let settlement = try #require(pending).settlement
            #expect(settlement.takenBack.count == 4)
            #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            #expect(try await world.badges() == [8, 3, 2, 0])
        }
    }

    @Test("loses the increments of several messages that one lease made, whichever settles first")
    func together() async throws {
        try await withStores { world in
            try await world.register(1...2)
            for number in 1...3 as ClosedRange<UInt64> {
                try await world.send(world.newMessage(number, urgency: .transactional, badge: .increment))
            }
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
            let parcels = try await world.stores.parcels.lease(order, now: dawn).parcels
            #expect(parcels.map { $0.members.map(\.badge) } == [[1, 1], [2, 2], [3, 3]])
            let start = MonotonicInstant(nanoseconds: 0)
            let refused = Outcome.rejected(Rejection(fault: .message, reason: "PayloadTooLarge"))
            var settlements: [Settlement] = []
            for parcel in parcels.prefix(2) {
                var run = ParcelRun(parcel: parcel, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
                for position in parcel.members.indices { run.record(refused, for: position, now: start) }
                let pending = run.takeSettlement()
                settlements.append(try #require(pending).settlement)
            }
            for reply in await world.stores.parcels.settle(settlements, now: dawn) {
                #expect(try reply.get() == .settled)
            }
            #expect(try await world.badges() == [1, 1])
        }
    }

    @Test("loses the increment of a message that is cancelled before it is sent")
    func cancelled() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage(badge: .increment))
            let parcel = try #require(try await world.lease())
            let waiting = Remainder(
                route: parcel.route, dueAfter: .zero, attempt: 0, lapses: 0, retrySpent: .zero, answerLost: false,
                cause: .handedBack, members: parcel.members.map(\.registration))
            let settlement = parcel.settling([], remainders: [waiting])
            #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            #expect(try await world.badges() == [1, 1])
            let id = StoreWorld.message(1)
            #expect(try await world.stores.messages.control(.cancel, app: world.app, id: id, now: dawn) == .done)
            try await world.stores.stops.carryOut(now: dawn)
            #expect(try await world.account().count(.cancelled) == 2)
            #expect(try await world.badges() == [0, 0])
        }
    }
}
