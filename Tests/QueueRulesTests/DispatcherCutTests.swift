import Basis
import Model
import QueueRules
import Testing

@Suite("A dispatcher that is asked to send direct messages at once")
struct DispatcherCutTests {
    private static let serviceRoute = ServiceRoute(RouteID(3))

    /// A dispatcher that has resolved route 3 and knows of no parcels there.
    private func idle(hasUrgent: Bool = false) -> DispatcherBench {
        var bench = DispatcherBench()
        let route = DispatcherBench.route(3, hasUrgent: hasUrgent)
        let actions = bench.find([route])
        if !hasUrgent, let request = actions.leaseRequests.first { bench.report(.leased([], asked: request)) }
        return bench
    }

    private func cut(_ bench: DispatcherBench, _ parcel: LeasedParcel = ParcelRunSamples.parcel()) -> DispatchEvent {
        .cut([
            CutParcels(
                serviceRoute: Self.serviceRoute, lane: DispatcherBench.lane, startedAt: bench.now,
                parcels: [ReadParcel(parcel, .repeatable)])
        ])
    }

    @Test("submits the parcels of a cut without a lease of its own")
    func submitted() {
        var bench = idle()
        bench.dispatcher.beginCut()
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == DispatcherBench.lane)
        let actions = bench.report(cut(bench))
        let submits = actions.filter { if case .submit = $0 { true } else { false } }
        #expect(submits.count == 1 && actions.leaseRequests.isEmpty)
    }

    @Test("leaves parcels ready on a route that it does not know")
    func unknown() {
        var bench = idle()
        #expect(bench.dispatcher.laneForCut(ServiceRoute(RouteID(4)), now: bench.now) == nil)
    }

    @Test("leaves parcels ready behind older transactional parcels of their route")
    func inTurn() {
        var bench = idle(hasUrgent: true)
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == nil)
    }

    @Test("leaves parcels ready if their lane can't send")
    func blocked() {
        var bench = idle()
        bench.report(.lane(DispatcherBench.lane, canSend: false))
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == nil)
    }

    @Test("leaves parcels ready if their lane is full")
    func full() {
        var settings = DispatcherBench.settings
        settings.laneUrgentMax = 1
        var bench = DispatcherBench(settings: settings)
        if let request = bench.find([DispatcherBench.route(3)]).leaseRequests.first {
            bench.report(.leased([], asked: request))
        }
        bench.dispatcher.beginCut()
        bench.report(cut(bench))
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == nil)
    }

    @Test("drains only after the last cut under way")
    func drained() {
        var bench = idle()
        bench.dispatcher.beginCut()
        #expect(!bench.report(.drain).contains(.drained))
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == nil)
        #expect(bench.report(.cut([])).contains(.drained))
    }

    @Test("remembers the route of a recent direct message, and resolves it at each poll")
    func remembered() {
        var bench = idle()
        bench.dispatcher.beginCut()
        _ = bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now)
        bench.report(.cut([]))
        #expect(bench.pass(.seconds(5)) == [.poll])
        #expect(bench.report(.polled([])) == [.resolve(DispatcherBench.route(3))])
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == DispatcherBench.lane)
        bench.now = bench.now + DispatcherBench.settings.cutRoutesKept + .seconds(1)
        bench.report(.timer)
        #expect(bench.report(.polled([])) == [])
        #expect(bench.dispatcher.laneForCut(Self.serviceRoute, now: bench.now) == nil)
    }
}
