import Basis
import Model
import QueueRules
import Testing

@Suite("A parcel whose lease lapsed twice")
struct DispatcherQuarantineTests {
    private static let lapsed = ReadyRoute(
        route: RouteID(7), app: AppID(1), provider: .apns, environment: .production, topic: "", hasOrdinary: false,
        hasLapsed: true)
    private let name = LeaseName(parcel: ParcelID(9), epoch: 1)

    private func suspect() -> LeasedParcel { ParcelRunSamples.parcel(id: 9, lapses: 2) }

    /// Holds one parcel while a poll finds a lapsed one.
    private func quarantined(_ bench: inout DispatcherBench) -> [DispatchAction] {
        let again = bench.lease().leaseRequests
        for request in again { bench.report(.leased([], asked: request)) }
        bench.now = bench.now + .seconds(5)
        return bench.find([Self.lapsed])
    }

    @Test("enters quarantine at once if the process holds nothing else, and travels alone")
    func isolated() {
        var bench = DispatcherBench()
        let requests = bench.find([Self.lapsed, DispatcherBench.route(8)]).leaseRequests
        #expect(requests == [bench.request(7, .lapsed)])
        let actions = bench.report(.leased([ReadParcel(suspect(), .repeatable)], asked: requests[0]))
        #expect(actions.submitted == [0, 1, 2])
        #expect(actions.leaseRequests.isEmpty, "no other lease is requested while the parcel is out")
    }

    @Test("waits until the parcels in progress are withdrawn, answered and settled")
    func waits() {
        var bench = DispatcherBench()
        let draining = quarantined(&bench)
        #expect(draining.withdrawn == [DispatcherBench.name])
        #expect(draining.leaseRequests.isEmpty)
        bench.accept([0, 1, 2])
        #expect(
            bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).leaseRequests == [
                bench.request(7, .lapsed)
            ])
    }

    @Test("travels alone: a parcel whose lease was in progress goes back unsent")
    func latecomer() {
        var bench = DispatcherBench()
        let ordinary = bench.find([DispatcherBench.route(8)]).leaseRequests[0]
        bench.now = bench.now + .seconds(5)
        #expect(bench.find([Self.lapsed]).leaseRequests.isEmpty)
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: ordinary))
        #expect(actions.submitted.isEmpty)
        #expect(actions.settles.first?.pending.settlement.remainders.first?.members.count == 3)
        let next = bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).leaseRequests
        #expect(next == [bench.request(7, .lapsed)])
    }

    @Test("yields when its window ends, keeps its lapses, and returns after the others' window")
    func alternates() {
        var bench = DispatcherBench()
        let asked = bench.find([Self.lapsed, DispatcherBench.route(8)]).leaseRequests[0]
        bench.report(.leased([ReadParcel(suspect(), .repeatable)], asked: asked))
        #expect(bench.pass(.seconds(4)).withdrawn.isEmpty)
        #expect(bench.pass(.seconds(1)).withdrawn == [name])
        let withdrawn = (Int32(0)...2).map { PositionedOutcome(position: $0, outcome: .unsent(.withdrawn)) }
        let settle = bench.report(.answered([AnsweredLease(name, accepted: [], others: withdrawn)])).settles.first
        #expect(settle?.pending.settlement.remainders.map(\.lapses) == [2])
        #expect(bench.report(.settled([SettledLease(name, .settled)])).leaseRequests == [bench.request(8)])
        bench.report(.leased([], asked: bench.request(8)))
        bench.now = bench.now + .seconds(29)
        bench.report(.timer)
        #expect(bench.report(.polled([Self.lapsed])).leaseRequests.isEmpty)
        #expect(bench.dispatcher.nextWake() == bench.now + .seconds(1))
        #expect(bench.pass(.seconds(1)).leaseRequests == [bench.request(7, .lapsed)])
    }

    @Test("ends its quarantine window early if no other suspected parcel waits")
    func early() {
        var bench = DispatcherBench()
        let asked = bench.find([Self.lapsed, DispatcherBench.route(8)]).leaseRequests[0]
        bench.report(.leased([ReadParcel(suspect(), .repeatable)], asked: asked))
        bench.accept([0, 1, 2], of: name)
        let next = bench.report(.settled([SettledLease(name, .settled)])).leaseRequests
        #expect(next == [bench.request(7, .lapsed)], "more suspected parcels may be waiting")
        #expect(bench.report(.leased([], asked: next[0])).leaseRequests == [bench.request(8)])
    }

    @Test("leaves other lanes running while its own lane cannot send")
    func blocked() {
        var bench = DispatcherBench()
        bench.blocked = [DispatcherBench.lane]
        let elsewhere = LaneKey(CredentialID(2))
        bench.find([Self.lapsed])
        bench.now = bench.now + .seconds(5)
        let requests = bench.find([DispatcherBench.route(8)], lane: elsewhere).leaseRequests
        #expect(requests.contains(bench.request(8, lane: elsewhere)))
    }

    @Test("lets a process drain")
    func drains() {
        var bench = DispatcherBench()
        _ = quarantined(&bench)
        bench.report(.drain)
        bench.accept([0, 1, 2])
        #expect(bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).contains(.drained))
    }
}

@Suite("A parcel whose message cannot be read for now")
struct DispatcherUnreadTests {
    @Test("returns to the queue unchanged, without another lapse")
    func unread() {
        var bench = DispatcherBench()
        let asked = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(lapses: 1), .unread)], asked: asked))
        #expect(actions.submitted.isEmpty)
        let remainders = actions.settles.first?.pending.settlement.remainders
        #expect(remainders?.map(\.lapses) == [1])
        #expect(remainders?.map(\.members.count) == [3])
    }
}

@Suite("A dispatcher's list of lanes and of lease requests")
struct DispatcherListTests {
    @Test("drops a lane with the last route that uses it")
    func lanes() {
        var bench = DispatcherBench()
        for number in Int64(1)...50 {
            bench.now = bench.now + .seconds(5)
            let lane = LaneKey(CredentialID(number))
            for request in bench.find([DispatcherBench.route(number)], lane: lane).leaseRequests {
                bench.report(.leased([], asked: request))
            }
        }
        bench.now = bench.now + .seconds(5)
        bench.find([])
        #expect(bench.dispatcher.knownLanes == 0)
    }

    @Test("limits the lease requests in progress, over any number of routes")
    func leases() {
        var settings = DispatcherBench.settings
        settings.leasesMax = 4
        var bench = DispatcherBench(settings: settings)
        let routes = (Int64(1)...20).map { DispatcherBench.route($0) }
        let asked = bench.find(routes).leaseRequests
        #expect(asked.count == 4)
        #expect(bench.report(.leased([], asked: asked[0])).leaseRequests.count == 1)
    }
}
