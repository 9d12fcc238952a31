import Basis
import Model
import QueueRules
import Testing

@Suite("Settles of an app's small parcels")
struct SettleQueueTests {
    private static func entry(
        _ id: Int64, _ outcome: Outcome = .accepted, members: Int = 1, refused: Bool = false
    ) throws -> SettleEntry {
        let statuses = [MemberStatus](repeating: .present, count: members)
        var bench = DispatcherBench(settings: DispatcherBench.usual)
        let parcel = ParcelRunSamples.parcel(statuses, id: id)
        bench.lease(parcel)
        let name = LeaseName(parcel: parcel.id, epoch: 1)
        let others = (0..<Int32(members)).map { PositionedOutcome(position: $0, outcome: outcome) }
        var settle = try #require(
            bench.report(.answered([AnsweredLease(name, accepted: [], others: others)])).settles.first)
        if refused {
            bench.report(.settled([], failed: [UnsettledLease(name, isRefused: true)]))
            settle = try #require(bench.pass(.seconds(1)).settles.first)
        }
        return SettleEntry(name, settle.pending, withVerdicts: settle.withVerdicts)
    }

    private static let unregistered = Outcome.rejected(
        Rejection(fault: .tokenUnregistered, reason: "Unregistered"))

    @Test("leave at once if none is in progress, and later ones leave together")
    func group() throws {
        var queue = SettleQueue()
        let entries = try (1...4).map { try Self.entry($0) }
        queue.add(entries[0])
        #expect(queue.take() == .group([entries[0]]))
        for entry in entries[1...] { queue.add(entry) }
        #expect(queue.take() == nil && !queue.isIdle)
        queue.end(.group([entries[0]]))
        #expect(queue.take() == .group(Array(entries[1...])))
        queue.end(.group(Array(entries[1...])))
        #expect(queue.take() == nil && queue.isIdle)
    }

    @Test("leave in groups of a hundred, in their order of arrival, each once")
    func bounded() throws {
        var queue = SettleQueue()
        let entries = try (1...250).map { try Self.entry($0) }
        for entry in entries { queue.add(entry) }
        var left: [LeaseName] = []
        var sizes: [Int] = []
        while let batch = queue.take() {
            guard case .group(let group) = batch else { continue }
            #expect(queue.take() == nil, "one transaction at a time")
            left += group.map(\.name)
            sizes.append(group.count)
            queue.end(batch)
        }
        #expect(sizes == [100, 100, 50] && left == entries.map(\.name))
        // An empty queue starts again at once.
        queue.add(entries[7])
        #expect(queue.take() == .group([entries[7]]))
    }

    @Test("return after a failure without blocking the settles behind them")
    func failure() throws {
        var queue = SettleQueue()
        let entries = try (1...3).map { try Self.entry($0) }
        for entry in entries { queue.add(entry) }
        #expect(queue.take() == .group(entries))
        let next = try Self.entry(4)
        queue.add(next)
        queue.end(.group(entries))
        #expect(queue.take() == .group([next]))
        // The reply to a commit was lost: the same settle is added again while another group is in progress.
        queue.add(entries[1])
        #expect(queue.take() == nil)
        queue.end(.group([next]))
        #expect(queue.take() == .group([entries[1]]))
    }

    @Test("leave alone, three at a time, if refused, or if they carry verdicts or remainders")
    func single() throws {
        var queue = SettleQueue()
        let single = [
            try Self.entry(1, refused: true), try Self.entry(2, Self.unregistered),
            try Self.entry(3, .unsent(.withdrawn)), try Self.entry(4, .unsent(.withdrawn)),
        ]
        #expect(single.map(\.withVerdicts) == [false, true, false, false])
        let whole = try Self.entry(5)
        for entry in single + [whole] { queue.add(entry) }
        #expect(queue.take() == .group([whole]), "it waits for none of them")
        for entry in single[..<3] { #expect(queue.take() == .single(entry)) }
        #expect(queue.take() == nil)
        queue.end(.single(single[1]))
        #expect(queue.take() == .single(single[3]))
        #expect(queue.take() == nil)
        for entry in [single[0], single[2], single[3]] { queue.end(.single(entry)) }
        #expect(!queue.isIdle, "the transaction is on its way")
        queue.end(.group([whole]))
        #expect(queue.isIdle)
    }

    /// Returns an entry with some members deferred by limits and the other members answered at once.
    private static func asleep(
        _ deferrals: [MemberDeferral], answer: Outcome = .accepted, origin: OriginRejection? = nil
    ) throws -> SettleEntry {
        var parcel = ParcelRunSamples.parcel(deferrals.map { _ in .present }, origin: origin)
        parcel.deferrals = deferrals
        var run = ParcelRunSamples.run(parcel)
        for position in deferrals.indices where deferrals[position] == .none { run.record(answer, for: position) }
        let pending = run.takeSettlement()
        return SettleEntry(LeaseName(parcel: parcel.id, epoch: 1), try #require(pending), withVerdicts: true)
    }

    @Test("leave in a group if the only members left are in quiet hours")
    func asleep() throws {
        let hold = MemberDeferral.quietHours(until: ParcelRunSamples.leasedAt + .seconds(3_600), isCounted: false)
        let whole = try Self.entry(5)
        let origin = OriginRejection(
            route: ParcelRunSamples.otherRoute, generation: TokenGeneration(3), reason: "BadDeviceToken",
            asOf: ParcelRunSamples.leasedAt, until: ParcelRunSamples.leasedAt + .seconds(300))
        let asleep = [
            try Self.asleep([hold]), try Self.asleep([hold, .none, .dailyCap]), try Self.asleep([hold], origin: origin),
        ]
        var queue = SettleQueue()
        for entry in asleep + [whole] { queue.add(entry) }
        #expect(queue.take() == .group(asleep + [whole]))
        #expect(queue.take() == nil)
        // An entry with another remainder or with a verdict is settled alone.
        for answer in [Outcome.unsent(.withdrawn), Self.unregistered] {
            let entry = try Self.asleep([hold, .none], answer: answer)
            queue.add(entry)
            #expect(queue.take() == .single(entry))
            queue.end(.single(entry))
        }
    }

    @Test("count as small up to the member limit, and as large above it")
    func large() throws {
        #expect(try Self.entry(1, members: SettleQueue.membersMax).pending.isSmall)
        #expect(try !Self.entry(1, members: SettleQueue.membersMax + 1).pending.isSmall)
    }
}

@Suite("A batch queue")
struct BatchQueueTests {
    @Test("returns batches in order, up to its limits of batches in progress and entries in each")
    func queue() {
        var queue = BatchQueue<Int>(batchesMax: 2, entriesMax: 3)
        #expect(queue.take() == nil && queue.isIdle)
        for number in 1...8 { queue.add(number) }
        #expect(queue.take() == [1, 2, 3] && queue.take() == [4, 5, 6])
        #expect(queue.take() == nil)
        queue.end()
        queue.add(9)
        #expect(queue.take() == [7, 8, 9])
        queue.end()
        #expect(queue.take() == nil && !queue.isIdle)
        queue.end()
        #expect(queue.isIdle)
    }
}
