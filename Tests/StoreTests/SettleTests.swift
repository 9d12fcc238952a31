import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A settle")
struct SettleTests {
    @Test("counts some members at once, and leaves the parcel to its owner")
    func part() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let part = parcel.settling([
                (0..<4, TerminalStatus(.accepted)), (4..<6, TerminalStatus(.rejected, "BadTopic")),
                (6..<7, TerminalStatus(.gaveUp, "poison")),
            ])
            #expect(try await world.stores.parcels.settle([part], now: dawn)[0].get() == .settled)
            let account = try await world.account()
            #expect(account.state == .sending)
            #expect(account.outcomes == [4, 2, 0, 0, 0, 0, 1])
            #expect(account.pending == 3)
            #expect(
                account.reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.rejected, "BadTopic"), count: 2),
                    TerminalTotal(terminalStatus: TerminalStatus(.gaveUp, "poison"), count: 1),
                ])
            #expect(try await world.number("SELECT count(*) FROM messages WHERE members > 0") == 0)
            #expect(try await world.lease(owner: StoreWorld.bob) == nil)
        }
    }

    @Test("ends the parcel and the message when it covers all remaining members")
    func whole() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let first = parcel.settling([(0..<3, TerminalStatus(.unregistered, "Unregistered"))])
            _ = try await world.stores.parcels.settle([first], now: dawn)[0].get()
            let remaining = Settlement(
                parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: 1,
                terminalCounts: [
                    TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 6),
                    TerminalCount(terminalStatus: TerminalStatus(.unregistered, "Unregistered"), count: 1),
                ], settledBits: [0xff, 0x03], remainders: [], pendingAfter: 0)
            #expect(try await world.stores.parcels.settle([remaining], now: dawn + .seconds(2))[0].get() == .settled)
            let account = try await world.account()
            #expect(account.state == .finished)
            #expect(account.finishedAt == dawn + .seconds(2))
            #expect(account.audience == 10 && account.pending == 0)
            #expect(account.outcomes == [6, 0, 4, 0, 0, 0, 0])
            #expect(
                account.reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.unregistered, "Unregistered"), count: 4)
                ])
            #expect(try await world.number("SELECT count(*) FROM parcels") == 0)
        }
    }

    @Test("adds its answers to the route's sample once, however often it is repeated")
    func samples() async throws {
        try await withStores { world in
            try await world.register(1...10)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let first = parcel.settling(
                [(0..<3, TerminalStatus(.accepted))], sample: AnswerSample(answered: 3, suspected: 1))
            for _ in 1...2 { _ = try await world.stores.parcels.settle([first], now: dawn + .seconds(1))[0].get() }
            #expect(try await world.number("SELECT answered * 100 + suspected FROM route_minutes") == 301)
            let other = Stores(pool: world.pool)
            let remaining = Settlement(
                parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: 1,
                terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 7)],
                settledBits: [0xff, 0x03],
                remainders: [], pendingAfter: 0, sample: AnswerSample(answered: 7, suspected: 2))
            for _ in 1...2 { _ = try await other.parcels.settle([remaining], now: dawn + .seconds(2))[0].get() }
            #expect(try await world.number("SELECT answered * 100 + suspected FROM route_minutes") == 1_003)
        }
    }

    @Test("hands members over to new parcels, which keep their expiry, retry time and badges")
    func remainders() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.register(5...5, environment: .sandbox)
            try await world.send(world.newMessage(urgency: .transactional, badge: .increment))
            let parcel = try #require(try await world.lease())
            let sandbox = try await world.route(.sandbox)
            let settlement = parcel.settling(
                [(0..<1, TerminalStatus(.accepted))],
                remainders: [
                    parcel.remainder(1..<3, after: .seconds(8), attempt: 3), parcel.remainder(3..<4, route: sandbox),
                ])
            #expect(settlement.pendingAfter == 0)
            #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            #expect(try await world.account().pending == 4)
            #expect(try await world.lease(at: dawn + .seconds(7)) == nil)
            let retry = try #require(try await world.lease(at: dawn + .seconds(8)))
            #expect(retry.members.map(\.registration) == Array(parcel.members[1..<3]).map(\.registration))
            #expect(retry.attempt == 3 && retry.answerLost && retry.retrySpent == .seconds(3))
            #expect(retry.expiresAt == parcel.expiresAt)
            #expect(retry.epoch == 1 && retry.settles == 0)
            #expect(retry.members.map(\.badge) == [1, 1])
            _ = try await world.stores.parcels.settle([retry.settlingAll()], now: dawn)[0].get()
            while let other = try await world.lease(on: .sandbox) {
                _ = try await world.stores.parcels.settle([other.settlingAll()], now: dawn)[0].get()
            }
            let account = try await world.account()
            #expect(account.state == .finished)
            #expect(account.outcomes == [5, 0, 0, 0, 0, 0, 0])
        }
    }

    @Test("counts nothing and drops the parcel when it hands over every member")
    func allHandedOver() async throws {
        try await withStores { world in
            try await world.register(1...6)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let halves = parcel.settling([], remainders: [parcel.remainder(0..<3), parcel.remainder(3..<6)])
            #expect(try await world.stores.parcels.settle([halves], now: dawn)[0].get() == .settled)
            #expect(try await world.account().pending == 6)
            #expect(try await world.number("SELECT count(*) FROM parcels") == 2)
        }
    }

    @Test("writes nothing under an old epoch or a second time, and returns the current status")
    func fenced() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage())
            let parcels = world.stores.parcels
            let own = try #require(try await world.lease())
            let part = own.settling([(0..<1, TerminalStatus(.accepted))])
            _ = try await parcels.settle([part], now: dawn)[0].get()
            // Repeats the settle, as after an ambiguous commit. A count that is one ahead shows that it was committed.
            let again = try await parcels.settle([part], now: dawn)[0].get()
            #expect(again == .fenced(status: ParcelStatus(epoch: 1, settles: 1, isLeased: true)))
            _ = try await parcels.rescue(now: dawn + .seconds(61))
            let lapsed = own.settling([(1..<4, TerminalStatus(.accepted))], settles: 1)
            let afterRescue = try await parcels.settle([lapsed], now: dawn + .seconds(61))[0].get()
            #expect(afterRescue == .fenced(status: ParcelStatus(epoch: 1, settles: 1, isLeased: false)))
            let theirs = try #require(try await world.lease(owner: StoreWorld.bob, at: dawn + .seconds(61)))
            let afterLease = try await parcels.settle([lapsed], now: dawn + .seconds(61))[0].get()
            #expect(afterLease == .fenced(status: ParcelStatus(epoch: 2, settles: 1, isLeased: true)))
            #expect(try await parcels.settle([theirs.settlingAll()], now: dawn + .seconds(61))[0].get() == .settled)
            let afterEnd = try await parcels.settle([lapsed], now: dawn + .seconds(61))[0].get()
            #expect(afterEnd == .fenced(status: nil))
            #expect(try await world.account().outcomes == [4, 0, 0, 0, 0, 0, 0])
        }
    }

    @Test("fails and writes nothing when its sums are wrong")
    func wrongSums() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let part = Settlement(
                parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: 0,
                terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 2)],
                settledBits: [0b1], remainders: [],
                pendingAfter: 3)
            #expect(await world.settleFault(part) == .invalid(constraint: "parcel_adds_up"))
            let bitmap = Settlement(
                parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: 0,
                terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 1)],
                settledBits: [0b11], remainders: [],
                pendingAfter: 3)
            #expect(await world.settleFault(bitmap) == .invalid(constraint: "bitmap_says_the_same"))
            let whole = Settlement(
                parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: 1, settles: 0,
                terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 3)],
                settledBits: [0b1111], remainders: [],
                pendingAfter: 0)
            #expect(await world.settleFault(whole) == .invalid(constraint: "message_adds_up"))
            let account = try await world.account()
            #expect(account.pending == 4 && account.outcomes == [0, 0, 0, 0, 0, 0, 0])
        }
    }
}

extension StoreWorld {
    fileprivate func settleFault(_ settlement: Settlement) async -> StoreFault? {
        await fault { () async throws(StoreFault) in
            try await stores.parcels.settle([settlement], now: StoreWorld.dawn)[0].get()
        }
    }
}

@Suite("The last settle of a message")
struct LastSettleTests {
    @Test("ends the message with each member counted once when many processes settle at once")
    func together() async throws {
        try await withStores { world in
            try await world.register(1...40)
            for round in 1...10 as ClosedRange<UInt64> {
                try await world.send(world.newMessage(round), parcelMembersMax: 5)
                var parcels: [LeasedParcel] = []
                while let parcel = try await world.lease() { parcels.append(parcel) }
                #expect(parcels.count == 8)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for parcel in parcels {
                        group.addTask {
                            let terminalCounts = [
                                (0..<4, TerminalStatus(.accepted)), (4..<5, TerminalStatus(.rejected, "BadTopic")),
                            ]
                            let reply = try await world.stores.parcels.settle([parcel.settling(terminalCounts)])[0]
                                .get()
                            #expect(reply == .settled)
                        }
                    }
                    try await group.waitForAll()
                }
                let account = try await world.account(StoreWorld.message(round))
                #expect(account.state == .finished)
                #expect(account.outcomes == [32, 8, 0, 0, 0, 0, 0])
                #expect(
                    account.reasons == [TerminalTotal(terminalStatus: TerminalStatus(.rejected, "BadTopic"), count: 8)])
            }
        }
    }

    @Test("ends the message whether it comes before or after the end of planning")
    func besideThePlanner() async throws {
        try await withStores { world in
            try await world.register(1...10)
            for round in 1...20 as ClosedRange<UInt64> {
                let messages = world.stores.messages
                _ = try await messages.accept([world.newMessage(round)])
                _ = try await messages.plan(atMost: 1, idsMax: 10, knownFormats: [1])
                let order = LeaseOrder(
                    route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
                let parcel = try #require(try await world.stores.parcels.lease(order).parcel)
                // The slice was full: only one more, empty slice shows the planner that the audience has ended.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try await messages.plan(atMost: 1, idsMax: 10, knownFormats: [1]) }
                    group.addTask { _ = try await world.stores.parcels.settle([parcel.settlingAll()])[0].get() }
                    try await group.waitForAll()
                }
                let account = try await world.account(StoreWorld.message(round))
                #expect(account.state == .finished, "round \(round)")
                #expect(account.audience == 10)
            }
        }
    }

    @Test("keeps outcomes and pending members adding up at every moment")
    func always() async throws {
        try await withStores { world in
            try await world.register(1...50)
            try await world.send(world.newMessage(), parcelMembersMax: 5)
            let settling = Task {
                while let parcel = try await world.lease() {
                    let part = parcel.settling([(0..<2, TerminalStatus(.accepted))])
                    _ = try await world.stores.parcels.settle([part])[0].get()
                    let remaining = Settlement(
                        parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: parcel.epoch,
                        settles: 1,
                        terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 3)],
                        settledBits: [0b11111],
                        remainders: [], pendingAfter: 0)
                    _ = try await world.stores.parcels.settle([remaining])[0].get()
                }
            }
            while true {
                let account = try await world.account()
                #expect(account.outcomes.reduce(0, +) + account.pending == 50)
                if account.state == .finished { break }
            }
            try await settling.value
        }
    }
}
