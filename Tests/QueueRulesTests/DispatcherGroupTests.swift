import Basis
import Model
import QueueRules
import Testing

@Suite("Small parcels of one lease")
struct DispatcherGroupTests {
    private func group(_ ids: ClosedRange<Int64>, _ urgency: MessageUrgency = .bulk) -> [ReadParcel] {
        ids.map { ReadParcel(ParcelRunSamples.parcel([.present], id: $0, urgency: urgency), .repeatable) }
    }

    @Test("leave separately and are settled separately, as each one is answered")
    func together() throws {
        var bench = DispatcherBench()
        let request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        let actions = bench.report(.leased(group(1...3), asked: request))
        let submits = actions.filter { if case .submit = $0 { true } else { false } }
        #expect(submits.count == 3)
        #expect(bench.dispatcher.membersInFlight == 3)
        // Only one lease request is in progress, and the reply to it causes the next one.
        #expect(actions.leaseRequests.count == 1)
        let second = LeaseName(parcel: ParcelID(2), epoch: 1)
        let settles = bench.accept([0], of: second).settles
        #expect(settles.map(\.name) == [second])
        bench.report(.settled([SettledLease(second, .settled)]))
        #expect(bench.dispatcher.runningLeases.map(\.parcel.value) == [1, 3])
        #expect(bench.dispatcher.membersInFlight == 2)
    }

    @Test("return to the queue if their content cannot be read, while the other parcels are sent")
    func unread() throws {
        var bench = DispatcherBench()
        let request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        let parcels = [
            ReadParcel(ParcelRunSamples.parcel([.present], id: 1), .unread),
            ReadParcel(ParcelRunSamples.parcel([.present], id: 2), .repeatable),
        ]
        let actions = bench.report(.leased(parcels, asked: request))
        #expect(actions.settles.map(\.name.parcel.value) == [1])
        #expect(actions.contains { if case .submit(let name, _, _, _) = $0 { name.parcel.value == 2 } else { false } })
    }

    @Test("stop at the parcel limits of the lane and of the process, even if each has one member")
    func bounded() throws {
        var settings = DispatcherBench.usual
        (settings.laneParcelsMax, settings.parcelsMax) = (3, 5)
        var bench = DispatcherBench(settings: settings)
        let first = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        #expect(bench.report(.leased(group(1...3), asked: first)).leaseRequests.isEmpty)
        // Another lane has room for one lease request at least.
        bench.now = bench.now + .seconds(1)
        let other = LaneKey(CredentialID(2))
        let second = try #require(bench.find([DispatcherBench.route(9, app: 2)], lane: other).leaseRequests.last)
        #expect(bench.report(.leased(group(4...5), asked: second)).leaseRequests.isEmpty)
        let done = [4, 5].map { SettledLease(LeaseName(parcel: ParcelID($0), epoch: 1), .settled) }
        for lease in done { bench.accept([0], of: lease.name) }
        #expect(bench.report(.settled(done)).leaseRequests.map(\.lane) == [other])
    }

    @Test("leave other lanes room for parcels, and urgent parcels on top do not reduce that room")
    func otherLanes() throws {
        var settings = DispatcherBench.usual
        (settings.laneParcelsMax, settings.parcelsMax, settings.laneUrgentMax) = (4, 6, 2)
        var bench = DispatcherBench(settings: settings)
        let first = try #require(bench.find([DispatcherBench.route(7, hasUrgent: true)]).leaseRequests.last)
        let asked = bench.report(.leased(group(1...3, .transactional), asked: first)).leaseRequests
        #expect(asked == [bench.request(7, .urgent)], "three of six places are left")
        bench.report(.leased(group(4...5, .transactional), asked: asked[0]))
        bench.now = bench.now + .seconds(1)
        let other = LaneKey(CredentialID(2))
        let second = try #require(bench.find([DispatcherBench.route(9, app: 2)], lane: other).leaseRequests.last)
        let more = bench.report(.leased(group(6...6), asked: second)).leaseRequests
        #expect(more.map(\.lane) == [other], "one parcel is leased, and two places are left")
    }

    @Test("fill the urgent reserve of a full lane, which does not count toward the ordinary limit")
    func urgent() throws {
        var settings = DispatcherBench.usual
        (settings.laneParcelsMax, settings.laneUrgentMax) = (3, 2)
        var bench = DispatcherBench(settings: settings)
        let first = try #require(bench.find([DispatcherBench.route(7, hasUrgent: true)]).leaseRequests.last)
        let asked = bench.report(.leased(group(1...3, .transactional), asked: first)).leaseRequests
        #expect(asked == [bench.request(7, .urgent)])
        #expect(bench.report(.leased(group(4...5, .transactional), asked: asked[0])).leaseRequests.isEmpty)
        #expect(bench.dispatcher.membersInFlight == 5)
        let end = SettledLease(LeaseName(parcel: ParcelID(1), epoch: 1), .settled)
        bench.accept([0], of: end.name)
        let more = bench.report(.settled([end])).leaseRequests
        #expect(more.map(\.scope) == [.ordinary], "two parcels count toward the limit; the urgent reserve does not")
    }
}
