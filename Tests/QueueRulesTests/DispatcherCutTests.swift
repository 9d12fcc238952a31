import Basis
import Model
import QueueRules
import Testing

@Suite("A dispatcher that is asked to send direct messages at once")
struct DispatcherCutTests {
    private static let serviceRoute = ServiceRoute(RouteID(3))
    private static let id = CutID(1)

    /// A dispatcher that has resolved route 3 and knows of no parcels there.
    private func idle() -> DispatcherBench {
        var bench = DispatcherBench()
        let actions = bench.find([DispatcherBench.route(3)])
        if let request = actions.leaseRequests.first { bench.report(.leased([], asked: request)) }
        return bench
    }

    private func cut(_ bench: DispatcherBench, _ parcel: LeasedParcel = ParcelRunSamples.parcel()) -> DispatchEvent {
        .cut(
            Self.id,
            [
                CutParcels(
                    serviceRoute: Self.serviceRoute, startedAt: bench.now, parcels: [ReadParcel(parcel, .repeatable)])
            ])
    }

    /// Asks for a lane for so many members.
    @discardableResult
    private func lane(_ bench: inout DispatcherBench, _ members: Int = 1, on route: Int64 = 3) -> LaneKey? {
        let serviceRoute = ServiceRoute(RouteID(route))
        return bench.dispatcher.admit(Self.id, [CutDemand(serviceRoute, members: members)], now: bench.now)[0]
    }

    private func expect(
        _ expected: LaneKey?, _ bench: inout DispatcherBench, _ members: Int = 1, on route: Int64 = 3,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let lane = lane(&bench, members, on: route)
        #expect(lane == expected, sourceLocation: sourceLocation)
    }

    @Test("submits the parcels of a cut without a lease of its own")
    func submitted() {
        var bench = idle()
        expect(DispatcherBench.lane, &bench)
        let actions = bench.report(cut(bench))
        let submits = actions.filter { if case .submit = $0 { true } else { false } }
        #expect(submits.count == 1 && actions.leaseRequests.isEmpty)
    }

    @Test("leaves parcels ready on a route that it does not know")
    func unknown() {
        var bench = idle()
        expect(nil, &bench, on: 4)
    }

    @Test("leaves parcels ready behind older transactional ones until a lease asks for these")
    func inTurn() throws {
        var bench = idle()
        let request = try #require(bench.find([DispatcherBench.route(3)]).leaseRequests.first)
        bench.now = bench.now + .milliseconds(1)
        bench.report(.planned([DispatcherBench.route(3, hasUrgent: true)]))
        expect(nil, &bench)
        #expect(!bench.report(.leased([], asked: request)).leaseRequests.isEmpty)
        expect(DispatcherBench.lane, &bench)
    }

    @Test("leaves parcels ready if their lane can't send")
    func blocked() {
        var bench = idle()
        bench.report(DispatcherBench.blocked())
        expect(nil, &bench)
    }

    @Test("counts the members of cuts under way against the bounds of the lane and of the process")
    func full() {
        var settings = DispatcherBench.settings
        settings.laneUrgentMax = 5
        var bench = DispatcherBench(settings: settings)
        if let request = bench.find([DispatcherBench.route(3)]).leaseRequests.first {
            bench.report(.leased([], asked: request))
        }
        expect(nil, &bench, 6)
        expect(DispatcherBench.lane, &bench, 3)
        expect(nil, &bench, 3)
        bench.report(.cut(Self.id, []))
        expect(DispatcherBench.lane, &bench, 3)
    }

    @Test("drains only after the last cut that may lease")
    func drained() {
        var bench = idle()
        expect(DispatcherBench.lane, &bench)
        #expect(!bench.report(.drain).contains(.drained))
        expect(nil, &bench)
        #expect(bench.report(.cut(Self.id, [])).contains(.drained))
    }

    @Test("drains beside cuts that can't lease")
    func drainedBeside() {
        var bench = idle()
        expect(nil, &bench, on: 4)
        #expect(bench.report(.drain).contains(.drained))
    }

    @Test("remembers the route of a recent direct message, and resolves it at each poll")
    func remembered() {
        var bench = idle()
        lane(&bench)
        bench.report(.cut(Self.id, []))
        #expect(bench.pass(.seconds(5)) == [.poll])
        #expect(bench.report(.polled([])) == [.resolve(DispatcherBench.route(3))])
        expect(DispatcherBench.lane, &bench)
        bench.now = bench.now + DispatcherBench.settings.cutRoutesKept + .seconds(1)
        bench.report(.timer)
        #expect(bench.report(.polled([])) == [])
        expect(nil, &bench)
    }
}
