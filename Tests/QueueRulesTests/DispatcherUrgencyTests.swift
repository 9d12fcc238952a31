import Basis
import Model
import QueueRules
import Testing

/// The lanes here have room for five members, and for three transactional ones on top.
@Suite("A lane that is full")
struct DispatcherUrgencyTests {
    private static let urgent = DispatcherBench.route(7, hasUrgent: true)

    private static func transactional(_ id: Int64, members: Int = 1) -> LeasedParcel {
        let statuses = [MemberStatus](repeating: .present, count: members)
        return ParcelRunSamples.parcel(statuses, id: id, urgency: .transactional)
    }

    /// Makes a bench with six members of a broadcast in flight while more of it wait.
    private func full(membersMax: Int = 8, urgentMax: Int = 100) -> DispatcherBench {
        var settings = DispatcherBench.settings
        (settings.membersMax, settings.laneUrgentMax, settings.urgentMax) = (membersMax, 3, urgentMax)
        var bench = DispatcherBench(settings: settings)
        bench.lease(ParcelRunSamples.parcel(id: 1))
        let actions = bench.report(
            .leased([ReadParcel(ParcelRunSamples.parcel(id: 2), .repeatable)], asked: bench.request(7)))
        #expect(actions.leaseRequests.isEmpty)
        bench.now = bench.now + .seconds(5)
        return bench
    }

    @Test("requests nothing while only bulk parcels wait")
    func bulkAlone() {
        var bench = full()
        #expect(bench.find([DispatcherBench.route(7)]).leaseRequests.isEmpty)
    }

    @Test("requests transactional parcels as soon as a poll finds one, and sends them")
    func asked() {
        var bench = full()
        #expect(bench.find([Self.urgent]).leaseRequests == [bench.request(7, .urgent)])
        let actions = bench.report(
            .leased([ReadParcel(Self.transactional(3), .repeatable)], asked: bench.request(7, .urgent)))
        #expect(actions.submitted == [0])
    }

    @Test("requests transactional parcels until none comes, then waits for the next poll")
    func untilNothingComes() {
        var bench = full()
        bench.find([Self.urgent])
        let asked = bench.request(7, .urgent)
        #expect(
            bench.report(.leased([ReadParcel(Self.transactional(3), .repeatable)], asked: asked)).leaseRequests == [
                asked
            ]
        )
        #expect(bench.report(.leased([], asked: asked)).leaseRequests.isEmpty)
        #expect(bench.pass(.seconds(1)).leaseRequests.isEmpty)
        bench.now = bench.now + .seconds(5)
        #expect(bench.find([Self.urgent]).leaseRequests == [bench.request(7, .urgent)])
    }

    @Test("requests no transactional parcels if the last parcel before the limit was bulk")
    func nothingUrgentLeft() {
        var bench = DispatcherBench()
        let asked = bench.find([Self.urgent]).leaseRequests[0]
        #expect(asked.scope == .ordinary)
        let five = [MemberStatus](repeating: .present, count: 5)
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(five), .repeatable)], asked: asked))
        #expect(actions.leaseRequests.isEmpty)
    }

    @Test("requests transactional parcels if the last one was transactional or a poll came since")
    func urgentLeft() {
        for (urgency, isSeenMeanwhile) in [(MessageUrgency.transactional, false), (.bulk, true)] {
            var bench = DispatcherBench()
            let asked = bench.find([Self.urgent]).leaseRequests[0]
            bench.now = bench.now + .seconds(5)
            if isSeenMeanwhile { bench.find([Self.urgent]) }
            let five = [MemberStatus](repeating: .present, count: 5)
            let parcel = ParcelRunSamples.parcel(five, urgency: urgency)
            let actions = bench.report(.leased([ReadParcel(parcel, .repeatable)], asked: asked))
            #expect(actions.leaseRequests == [bench.request(7, .urgent)])
        }
    }

    @Test("takes transactional parcels up to its reserve, and more when they are settled")
    func bounded() {
        var bench = full()
        bench.find([Self.urgent])
        let asked = bench.request(7, .urgent)
        let two = Self.transactional(3, members: 2)
        #expect(
            bench.report(.leased([ReadParcel(two, .repeatable)], asked: asked)).leaseRequests == [asked],
            "2 of 3 places are taken")
        let full = bench.report(.leased([ReadParcel(Self.transactional(4, members: 2), .repeatable)], asked: asked))
        #expect(full.leaseRequests.isEmpty, "4 places are taken, and the reserve has 3")
        #expect(bench.dispatcher.membersInFlight == 10)
        let name = LeaseName(parcel: two.id, epoch: two.epoch)
        bench.accept([0, 1], of: name)
        #expect(bench.report(.settled([SettledLease(name, .settled)])).leaseRequests == [asked])
        #expect(bench.dispatcher.membersInFlight == 8)
    }

    @Test("takes several transactional parcels of one lease, up to its reserve")
    func together() {
        var bench = full()
        bench.find([Self.urgent])
        let asked = bench.request(7, .urgent)
        func two(_ ids: ClosedRange<Int64>) -> [ReadParcel] {
            ids.map { ReadParcel(Self.transactional($0), .repeatable) }
        }
        #expect(bench.report(.leased(two(3...4), asked: asked)).leaseRequests == [asked], "2 of 3 places are taken")
        #expect(
            bench.report(.leased(two(5...6), asked: asked)).leaseRequests.isEmpty,
            "4 places are taken, and the reserve has 3")
        #expect(bench.dispatcher.membersInFlight == 10)
        let done = [3, 4].map { SettledLease(LeaseName(parcel: ParcelID($0), epoch: 1), .settled) }
        for lease in done { bench.accept([0], of: lease.name) }
        #expect(bench.report(.settled(done)).leaseRequests == [asked])
        #expect(bench.dispatcher.membersInFlight == 8)
    }

    @Test("takes transactional parcels beyond the process's limit without reducing other lanes")
    func otherLanes() {
        var bench = full(membersMax: 7)
        bench.find([Self.urgent])
        bench.report(
            .leased([ReadParcel(Self.transactional(3, members: 3), .repeatable)], asked: bench.request(7, .urgent)))
        bench.now = bench.now + .seconds(5)
        let elsewhere = LaneKey(CredentialID(2))
        let asked = bench.find([DispatcherBench.route(8)], lane: elsewhere).leaseRequests
        #expect(
            asked == [bench.request(8, lane: elsewhere)], "6 of 7 places are taken, not counting the three urgent ones")
    }

    @Test("leaves other full lanes as much of the shared reserve as it takes itself")
    func sharedReserve() {
        var bench = full(membersMax: 100, urgentMax: 4)
        bench.find([Self.urgent])
        bench.report(
            .leased([ReadParcel(Self.transactional(3, members: 3), .repeatable)], asked: bench.request(7, .urgent)))
        bench.now = bench.now + .seconds(5)
        let elsewhere = LaneKey(CredentialID(2))
        let bulk = bench.find([DispatcherBench.route(8)], lane: elsewhere).leaseRequests[0]
        let six = [MemberStatus](repeating: .present, count: 6)
        bench.report(
            .leased([ReadParcel(ParcelRunSamples.parcel(six, id: 5, route: RouteID(8)), .repeatable)], asked: bulk))
        bench.now = bench.now + .seconds(5)
        let next = bench.find([DispatcherBench.route(8, hasUrgent: true)], lane: elsewhere).leaseRequests
        #expect(next == [bench.request(8, lane: elsewhere, .urgent)], "one of four places in the reserve is left")
        let actions = bench.report(.leased([ReadParcel(Self.transactional(6), .repeatable)], asked: next[0]))
        #expect(actions.leaseRequests.isEmpty)
    }

    @Test("requests no transactional parcels while it cannot send")
    func blocked() {
        var bench = full()
        bench.blocked = [DispatcherBench.lane]
        let sweep = bench.report(DispatcherBench.blocked()).leaseRequests
        #expect(sweep.map(\.scope) == [.expired])
        bench.report(.leased([], asked: sweep[0]))
        bench.now = bench.now + .seconds(5)
        #expect(bench.find([Self.urgent]).leaseRequests.map(\.scope) == [.expired])
    }
}
