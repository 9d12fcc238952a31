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
        #expect(queue.take() == [entries[0]])
        for entry in entries[1...] { queue.add(entry) }
        #expect(queue.take() == nil && !queue.isIdle)
        queue.end([entries[0]])
        #expect(queue.take() == Array(entries[1...]))
        queue.end(Array(entries[1...]))
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
            #expect(queue.take() == nil, "one transaction at a time")
            left += batch.map(\.name)
            sizes.append(batch.count)
            queue.end(batch)
        }
        #expect(sizes == [100, 100, 50] && left == entries.map(\.name))
        // An empty queue starts again at once.
        queue.add(entries[7])
        #expect(queue.take() == [entries[7]])
    }

    @Test("return after a failure without blocking the settles behind them")
    func failure() throws {
        var queue = SettleQueue()
        let entries = try (1...3).map { try Self.entry($0) }
        for entry in entries { queue.add(entry) }
        #expect(queue.take() == entries)
        let next = try Self.entry(4)
        queue.add(next)
        queue.end(entries)
        #expect(queue.take() == [next])
        // The reply to a commit was lost: the same settle is added again while another group is in progress.
        queue.add(entries[1])
        #expect(queue.take() == nil)
        queue.end([next])
        #expect(queue.take() == [entries[1]])
    }

    @Test("leave alone, three at a time, if they were refused or carry verdicts")
    func alone() throws {
        var queue = SettleQueue()
        let alone = [
            try Self.entry(1, refused: true), try Self.entry(2, Self.unregistered),
            try Self.entry(3, Self.unregistered),
            try Self.entry(4, Self.unregistered),
        ]
        #expect(alone.map(\.withVerdicts) == [false, true, true, true])
        let others = [try Self.entry(5), try Self.entry(6, .unsent(.withdrawn))]
        #expect(others[1].pending.settlement.remainders.count == 1)
        for entry in alone + others { queue.add(entry) }
        #expect(queue.take() == others, "they wait for none of the first")
        for entry in alone[..<3] { #expect(queue.take() == [entry]) }
        #expect(queue.take() == nil)
        queue.end([alone[1]])
        #expect(queue.take() == [alone[3]])
        #expect(queue.take() == nil)
        for entry in [alone[0], alone[2], alone[3]] { queue.end([entry]) }
        #expect(!queue.isIdle, "the transaction is on its way")
        queue.end(others)
        #expect(queue.isIdle)
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
