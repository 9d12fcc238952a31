import Basis
import Model
import QueueRules
import Testing

@Suite("A push that waits for a stream")
struct DispatcherWaitTests {
    private static let bulk = DispatcherBench.route(7)

    private static func bench(leaseLength: Duration = .seconds(600)) -> DispatcherBench {
        var settings = DispatcherSettings(leaseLength: leaseLength, requestDeadline: .seconds(20))
        (settings.laneMembersMax, settings.membersMax, settings.pollEvery) = (100, 1_000, .seconds(60))
        return DispatcherBench(settings: settings)
    }

    private static func parcel(_ id: Int64, members: Int, _ urgency: MessageUrgency = .bulk) -> LeasedParcel {
        ParcelRunSamples.parcel([MemberStatus](repeating: .present, count: members), id: id, urgency: urgency)
    }

    private static func withdrawn(_ positions: Range<Int>, of parcel: Int64 = 1) -> DispatchEvent {
        let others = positions.map { PositionedOutcome(position: Int32($0), outcome: .unsent(.withdrawn)) }
        let name = LeaseName(parcel: ParcelID(parcel), epoch: 1)
        return .answered([AnsweredLease(name, accepted: [], others: others)])
    }

    /// Leases forty members, of which two are answered within five seconds, and the others come back.
    private static func slow() -> (bench: DispatcherBench, actions: [DispatchAction]) {
        var bench = bench()
        bench.lease(parcel(1, members: 40))
        bench.report(.leased([], asked: bench.request(7)))
        bench.pass(.seconds(4))
        bench.accept([0, 1])
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        bench.now = bench.now + .seconds(1)
        let actions = bench.report(withdrawn(2..<40))
        return (bench, actions)
    }

    @Test("gets none later than five seconds after the lease's reply", arguments: [40, 600])
    func bounded(leaseSeconds: Int) {
        var bench = Self.bench(leaseLength: .seconds(leaseSeconds))
        #expect(bench.lease(Self.parcel(1, members: 2)).streamsUntil == [bench.now + .seconds(5)])
    }

    @Test("gets none later than ten seconds after the lease's statement, if the reply was slow")
    func slowReply() throws {
        var bench = Self.bench()
        let asked = try #require(bench.find([Self.bulk]).leaseRequests.last)
        bench.now = bench.now + .seconds(8)
        let actions = bench.report(.leased([ReadParcel(Self.parcel(1, members: 2), .repeatable)], asked: asked))
        #expect(actions.streamsUntil == [asked.startedAt + .seconds(10)])
    }

    @Test("goes on in a new parcel with its attempts unchanged, which is leased without a poll")
    func leasedAnew() throws {
        var (bench, actions) = Self.slow()
        let settle = try #require(actions.settles.first?.pending.settlement)
        let remainder = try #require(settle.remainders.first)
        #expect(remainder.members.count == 38 && remainder.attempt == 0 && remainder.isDue)
        actions = bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(actions.leaseRequests.map(\.serviceRoute) == [Self.bulk.serviceRoute])
    }

    @Test("comes back from a lane that then holds what it was seen to send, and at least eight")
    func holdsLess() {
        var (bench, _) = Self.slow()
        let asked = bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).leaseRequests
        #expect(asked.count == 1)
        let full = bench.report(.leased([ReadParcel(Self.parcel(2, members: 8), .repeatable)], asked: bench.request(7)))
        #expect(full.leaseRequests.isEmpty, "eight members fill the lane")
    }

    @Test("comes back from a lane that takes more again for each push that it sends in time")
    func holdsMore() {
        var (bench, _) = Self.slow()
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        bench.report(.leased([ReadParcel(Self.parcel(2, members: 8), .repeatable)], asked: bench.request(7)))
        let name = LeaseName(parcel: ParcelID(2), epoch: 1)
        let actions = bench.accept([0, 1, 2, 3, 4, 5, 6, 7], of: name)
        #expect(actions.leaseRequests.count == 1)
        let more = bench.report(
            .leased([ReadParcel(Self.parcel(3, members: 7), .repeatable)], asked: bench.request(7)))
        #expect(more.leaseRequests.count == 1, "sixteen members fill the lane now")
    }

    @Test("comes back from a lane that takes fewer transactional pushes too")
    func urgent() {
        var (bench, _) = Self.slow()
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        let demand = CutDemand(Self.bulk.serviceRoute, members: 9)
        #expect(bench.dispatcher.admit(CutID(1), [demand], now: bench.now) == [nil])
        let less = CutDemand(Self.bulk.serviceRoute, members: 8)
        #expect(bench.dispatcher.admit(CutID(2), [less], now: bench.now) == [DispatcherBench.lane])
    }

    @Test("says nothing about the lane if its message was stopped")
    func stopped() {
        var bench = Self.bench()
        bench.lease(Self.parcel(1, members: 40))
        bench.report(.leased([], asked: bench.request(7)))
        bench.pass(.seconds(1))
        bench.report(Self.withdrawn(0..<40))
        let actions = bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(actions.leaseRequests.isEmpty)
        let demand = CutDemand(Self.bulk.serviceRoute, members: 20)
        #expect(bench.dispatcher.admit(CutID(1), [demand], now: bench.now) == [DispatcherBench.lane])
    }
}

extension [DispatchAction] {
    fileprivate var streamsUntil: [MonotonicInstant] {
        compactMap { action in
            if case .submit(_, _, _, let until) = action { until } else { nil }
        }
    }
}
