import DeliveryRules
import PushModel
import Testing

@Suite("Settles of an app's small parcels")
struct SettleQueueTests {
    private static func entry(
        _ id: Int64, _ outcome: Outcome = .accepted, members: Int = 1, refused: Bool = false
    ) throws -> SettleEntry {
        let standings = [MemberStanding](repeating: .present, count: members)
        var bench = DispatcherBench(settings: DispatcherBench.usual)
        let parcel = ParcelRunSamples.parcel(standings, id: id)
        bench.lease(parcel)
        let name = LeaseName(parcel: parcel.id, epoch: 1)
        let others = (0..<Int32(members)).map { PositionedOutcome(position: $0, outcome: outcome) }
        var settle = try #require(
            bench.tell(.answered([AnsweredLease(name, accepted: [], others: others)])).settles.first)
        if refused {
            bench.tell(.settled([], failed: [UnsettledLease(name, isRefused: true)]))
            settle = try #require(bench.pass(.seconds(1)).settles.first)
        }
        return SettleEntry(name, settle.pending, withVerdicts: settle.withVerdicts)
    }

    private static let unregistered = Outcome.rejected(
        Rejection(fault: .tokenUnregistered, reason: "Unregistered"))

    @Test("go at once where nothing is on its way, and what comes meanwhile goes together")
    func together() throws {
        var queue = SettleQueue()
        let entries = try (1...4).map { try Self.entry($0) }
        queue.add(entries[0])
        #expect(queue.take() == .together([entries[0]]))
        for entry in entries[1...] { queue.add(entry) }
        #expect(queue.take() == nil && !queue.isIdle)
        queue.end(.together([entries[0]]))
        #expect(queue.take() == .together(Array(entries[1...])))
        queue.end(.together(Array(entries[1...])))
        #expect(queue.take() == nil && queue.isIdle)
    }

    @Test("go a hundred at a time, in the order in which they came, and none twice")
    func bounded() throws {
        var queue = SettleQueue()
        let entries = try (1...250).map { try Self.entry($0) }
        for entry in entries { queue.add(entry) }
        var left: [LeaseName] = []
        var sizes: [Int] = []
        while let turn = queue.take() {
            guard case .together(let group) = turn else { continue }
            #expect(queue.take() == nil, "one transaction at a time")
            left += group.map(\.name)
            sizes.append(group.count)
            queue.end(turn)
        }
        #expect(sizes == [100, 100, 50] && left == entries.map(\.name))
        // Empty, it starts again.
        queue.add(entries[7])
        #expect(queue.take() == .together([entries[7]]))
    }

    @Test("of which one fails in the middle come again by and by: the failure keeps nobody behind it")
    func failure() throws {
        var queue = SettleQueue()
        let entries = try (1...3).map { try Self.entry($0) }
        for entry in entries { queue.add(entry) }
        #expect(queue.take() == .together(entries))
        let next = try Self.entry(4)
        queue.add(next)
        queue.end(.together(entries))
        #expect(queue.take() == .together([next]))
        // After a commit that nobody saw, the same settle comes a second time, while others are on their way.
        queue.add(entries[1])
        #expect(queue.take() == nil)
        queue.end(.together([next]))
        #expect(queue.take() == .together([entries[1]]))
    }

    @Test("go by themselves where the database refused them, tell of tokens, or leave something: three at a time")
    func alone() throws {
        var queue = SettleQueue()
        let alone = [
            try Self.entry(1, refused: true), try Self.entry(2, Self.unregistered),
            try Self.entry(3, .unsent(.withdrawn)), try Self.entry(4, .unsent(.withdrawn)),
        ]
        #expect(alone.map(\.withVerdicts) == [false, true, false, false])
        let whole = try Self.entry(5)
        for entry in alone + [whole] { queue.add(entry) }
        #expect(queue.take() == .together([whole]), "it waits for none of them")
        for entry in alone[..<3] { #expect(queue.take() == .alone(entry)) }
        #expect(queue.take() == nil)
        queue.end(.alone(alone[1]))
        #expect(queue.take() == .alone(alone[3]))
        #expect(queue.take() == nil)
        for entry in [alone[0], alone[2], alone[3]] { queue.end(.alone(entry)) }
        #expect(!queue.isIdle, "the transaction is on its way")
        queue.end(.together([whole]))
        #expect(queue.isIdle)
    }

    /// Some of whose members are held back, and the others accepted at once.
    private static func asleep(
        _ holds: [MemberHold], answer: Outcome = .accepted, home: HomeRefusal? = nil
    ) throws -> SettleEntry {
        var parcel = ParcelRunSamples.parcel(holds.map { _ in .present }, home: home)
        parcel.holds = holds
        var run = ParcelRunSamples.run(parcel)
        for position in holds.indices where holds[position] == .none { run.record(answer, for: position) }
        let pending = run.takeSettlement()
        return SettleEntry(LeaseName(parcel: parcel.id, epoch: 1), try #require(pending), withVerdicts: true)
    }

    @Test("go with the others where they leave behind nobody but who sleeps")
    func asleep() throws {
        let hold = MemberHold.quietHours(until: ParcelRunSamples.leasedAt + .seconds(3_600), isCounted: false)
        let whole = try Self.entry(5)
        let home = HomeRefusal(
            route: ParcelRunSamples.otherRoute, generation: TokenGeneration(3), reason: "BadDeviceToken",
            asOf: ParcelRunSamples.leasedAt, until: ParcelRunSamples.leasedAt + .seconds(300))
        let asleep = [
            try Self.asleep([hold]), try Self.asleep([hold, .none, .dailyCap]), try Self.asleep([hold], home: home),
        ]
        var queue = SettleQueue()
        for entry in asleep + [whole] { queue.add(entry) }
        #expect(queue.take() == .together(asleep + [whole]))
        #expect(queue.take() == nil)
        // Somebody goes on otherwise, or is told of.
        for answer in [Outcome.unsent(.withdrawn), Self.unregistered] {
            let entry = try Self.asleep([hold, .none], answer: answer)
            queue.add(entry)
            #expect(queue.take() == .alone(entry))
            queue.end(.alone(entry))
        }
    }

    @Test("take no turns where the parcel is no small one")
    func large() throws {
        #expect(try Self.entry(1, members: SettleQueue.membersMax).pending.isSmall)
        #expect(try !Self.entry(1, members: SettleQueue.membersMax + 1).pending.isSmall)
    }
}

@Suite("What goes in turns")
struct TurnsTests {
    @Test("leaves in its order, so many turns at once, and as much in each as there is room for")
    func turns() {
        var turns = Turns<Int>(turnsMax: 2, entriesMax: 3)
        #expect(turns.take() == nil && turns.isIdle)
        for number in 1...8 { turns.add(number) }
        #expect(turns.take() == [1, 2, 3] && turns.take() == [4, 5, 6])
        #expect(turns.take() == nil)
        turns.end()
        turns.add(9)
        #expect(turns.take() == [7, 8, 9])
        turns.end()
        #expect(turns.take() == nil && !turns.isIdle)
        turns.end()
        #expect(turns.isIdle)
    }
}
