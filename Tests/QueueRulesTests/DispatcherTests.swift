import Basis
import Model
import QueueRules
import Testing

@Suite("A dispatcher that polls for work")
struct DispatcherPollingTests {
    @Test("leases one service of a route while the route's other service has no lane")
    func services() {
        for waiting in [TopicService.app, .voip] {
            var bench = DispatcherBench()
            let ready = [TopicService.app, .voip].map { service in
                ReadyRoute(
                    route: RouteID(3), service: service, app: AppID(1), provider: .apns, environment: .production,
                    topic: "")
            }
            bench.report(.timer)
            bench.report(.polled(ready))
            var actions: [DispatchAction] = []
            for route in ready {
                let lane = route.service == waiting ? nil : DispatcherBench.lane
                actions += bench.report(DispatcherBench.resolved(route.serviceRoute, lane))
            }
            let asked = actions.leaseRequests.filter { $0.scope == .ordinary }
            #expect(asked.map(\.serviceRoute) == ready.map(\.serviceRoute).filter { $0.service != waiting })
            #expect(asked.map(\.lane) == [DispatcherBench.lane])
        }
    }

    @Test("polls at its start, and again after the interval")
    func polls() {
        var bench = DispatcherBench()
        #expect(bench.report(.timer) == [.poll])
        #expect(bench.report(.polled([])) == [])
        #expect(bench.dispatcher.nextWake() == bench.now + .seconds(5))
        #expect(bench.pass(.seconds(5)) == [.poll])
    }

    @Test("polls at once after a hint")
    func hint() {
        var bench = DispatcherBench()
        bench.find([])
        #expect(bench.report(.hint) == [.poll])
    }

    @Test("polls again after a hint that arrived during a poll")
    func hintWhilePolling() {
        var bench = DispatcherBench()
        bench.report(.timer)
        #expect(bench.report(.hint) == [])
        #expect(bench.report(.polled([])) == [.poll])
        #expect(bench.report(.polled([])) == [])
    }

    @Test(
        "leases planned work without a poll, and resolves the lane first if it is unknown"
    )
    func planned() {
        var bench = DispatcherBench()
        bench.find([])
        #expect(bench.report(.planned([DispatcherBench.route(3)])) == [.resolve(DispatcherBench.route(3))])
        let request = bench.request(3)
        #expect(
            bench.report(DispatcherBench.resolved(ServiceRoute(RouteID(3)), DispatcherBench.lane)) == [.lease(request)])
        #expect(bench.report(.leased([], asked: request)) == [])
        #expect(bench.report(.planned([DispatcherBench.route(3)])) == [.lease(bench.request(3))])
    }

    @Test("requests parcels again if a plan arrived during a call that returned nothing")
    func plannedAfterCall() {
        var bench = DispatcherBench()
        let early = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
        bench.now = bench.now + .milliseconds(1)
        #expect(bench.report(.planned([DispatcherBench.route(7)])).leaseRequests.isEmpty)
        #expect(bench.report(.leased([], asked: early)).leaseRequests.count == 1)
    }

    @Test("trusts a plan that arrived during a poll, whatever the poll saw of the route", arguments: [true, false])
    func plannedWhilePolling(sawLapsed: Bool) {
        var bench = DispatcherBench()
        bench.find([DispatcherBench.route(3)])
        bench.report(.leased([], asked: bench.request(3)))
        // The sweep for expired parcels ends before the poll.
        for sweep in bench.report(DispatcherBench.blocked()).leaseRequests {
            bench.report(.leased([], asked: sweep))
        }
        bench.report(.hint)
        bench.report(.planned([DispatcherBench.route(3, hasUrgent: true)]))
        let saw = sawLapsed ? [DispatcherBench.route(3, hasOrdinary: false, hasLapsed: true)] : []
        for sweep in bench.report(.polled(saw)).leaseRequests { bench.report(.leased([], asked: sweep)) }
        var asked = bench.report(.lane(DispatcherBench.lane, .recovered)).leaseRequests
        if sawLapsed {
            // A lapsed parcel travels alone. By now this one no longer exists.
            #expect(asked.map(\.scope) == [.lapsed])
            asked = bench.report(.leased([], asked: asked[0])).leaseRequests
        }
        #expect(asked.map(\.scope) == [.ordinary])
    }

    @Test("requests transactional parcels of planned work although the lane is full")
    func plannedUrgent() {
        var bench = DispatcherBench()
        bench.lease(ParcelRunSamples.parcel(Array(repeating: .present, count: 5), route: RouteID(7)))
        #expect(bench.report(.planned([DispatcherBench.route(7)])).leaseRequests.isEmpty)
        #expect(
            bench.report(.planned([DispatcherBench.route(7, hasUrgent: true)])).leaseRequests.map(\.scope) == [.urgent])
    }

    @Test("pauses before the next poll if one failed")
    func pollFails() {
        var bench = DispatcherBench()
        bench.report(.timer)
        #expect(bench.report(.pollFailed) == [])
        #expect(bench.pass(.milliseconds(499)) == [])
        #expect(bench.pass(.milliseconds(1)) == [.poll])
    }

    @Test("resolves the lane of each route, then requests a parcel")
    func resolves() {
        var bench = DispatcherBench()
        bench.report(.timer)
        #expect(bench.report(.polled([DispatcherBench.route(3)])) == [.resolve(DispatcherBench.route(3))])
        let actions = bench.report(DispatcherBench.resolved(ServiceRoute(RouteID(3)), DispatcherBench.lane))
        #expect(actions == [.lease(bench.request(3))])
    }

    @Test("keeps one lease request in progress per route")
    func oneCall() {
        var bench = DispatcherBench()
        #expect(bench.find([DispatcherBench.route(3)]).leaseRequests.count == 1)
        #expect(bench.pass(.seconds(1)).leaseRequests.isEmpty)
    }

    @Test("repeats lease requests until one returns nothing, then leaves the route to the next poll")
    func untilEmpty() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.report(.leased([], asked: bench.request(7))).leaseRequests.isEmpty)
        #expect(bench.pass(.seconds(1)).leaseRequests.isEmpty)
        bench.now = bench.now + .seconds(5)
        #expect(bench.find([DispatcherBench.route(7)]).leaseRequests.count == 1)
    }

    @Test("requests parcels again if a poll found the route during a call that returned nothing")
    func pollAfterCall() {
        var bench = DispatcherBench()
        let early = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
        bench.now = bench.now + .milliseconds(1)
        bench.report(.hint)
        bench.report(.polled([DispatcherBench.route(7)]))
        #expect(bench.report(.leased([], asked: early)).leaseRequests.count == 1)
    }

    @Test("polls again after a pause if a lease request failed")
    func leaseFails() {
        var bench = DispatcherBench()
        let request = bench.find([DispatcherBench.route(3)]).leaseRequests[0]
        #expect(bench.report(.leaseFailed(request)) == [])
        #expect(bench.pass(.milliseconds(500)) == [.poll])
    }

    @Test("starts with the app after the one that it served last")
    func fair() {
        var bench = DispatcherBench()
        let five = [MemberStatus](repeating: .present, count: 5)
        bench.lease(ParcelRunSamples.parcel(five))
        bench.now = bench.now + .seconds(5)
        #expect(bench.find([DispatcherBench.route(7), DispatcherBench.route(2, app: 9)]).leaseRequests.isEmpty)
        bench.accept([0, 1, 2, 3, 4])
        let next = bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).leaseRequests.map(
            \.serviceRoute.route)
        #expect(next == [RouteID(2), RouteID(7)])
    }
}

@Suite("A route whose lane cannot send")
struct DispatcherBlockedTests {
    @Test("requests only expired parcels, once per poll")
    func sweeps() {
        var bench = DispatcherBench()
        let requests = bench.find([DispatcherBench.route(3)], lane: nil).leaseRequests
        #expect(requests == [bench.request(3, lane: nil, .expired)])
        #expect(bench.report(.leased([], asked: requests[0])).leaseRequests.isEmpty)
        #expect(bench.pass(.seconds(1)).leaseRequests.isEmpty)
        bench.now = bench.now + .seconds(5)
        bench.report(.timer)
        #expect(bench.report(.polled([DispatcherBench.route(3)])).leaseRequests.count == 1)
    }

    @Test("sweeps again at once while expired parcels are found")
    func sweepsOn() {
        var bench = DispatcherBench()
        let sweep = bench.find([DispatcherBench.route(7)], lane: nil).leaseRequests[0]
        let expired = ParcelRunSamples.parcel(expiresAfter: .zero)
        #expect(bench.report(.leased([ReadParcel(expired, .repeatable)], asked: sweep)).leaseRequests == [sweep])
    }

    @Test("leases again as soon as its lane can send")
    func opens() {
        var bench = DispatcherBench()
        bench.blocked = [DispatcherBench.lane]
        let sweep = bench.find([DispatcherBench.route(3)]).leaseRequests[0]
        bench.report(.leased([], asked: sweep))
        let requests = bench.report(.lane(DispatcherBench.lane, .recovered)).leaseRequests
        #expect(requests == [bench.request(3)])
    }

    @Test("returns unexpired parcels that a sweep leased, and sends none of them")
    func sweptAlive() {
        var bench = DispatcherBench()
        let sweep = bench.find([DispatcherBench.route(7)], lane: nil).leaseRequests[0]
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: sweep))
        #expect(actions.submitted.isEmpty)
        #expect(actions.settles.first?.pending.settlement.remainders.first?.members.count == 3)
    }

    @Test("resolves its lane again when credentials change")
    func credentials() {
        var bench = DispatcherBench()
        bench.find([DispatcherBench.route(3)], lane: nil)
        #expect(bench.report(.credentialsChanged) == [.resolve(DispatcherBench.route(3))])
    }
}

@Suite("The number of members that a process holds")
struct DispatcherBoundsTests {
    @Test("stops at the lane's limit, and grows again when parcels are settled")
    func laneBound() {
        var bench = DispatcherBench()
        let first = bench.lease()
        #expect(first.leaseRequests.count == 1, "3 of 5 pushes are taken")
        let second = bench.report(
            .leased([ReadParcel(ParcelRunSamples.parcel(id: 2), .repeatable)], asked: first.leaseRequests[0]))
        #expect(second.leaseRequests.isEmpty, "6 pushes are taken, and the limit is 5")
        #expect(bench.dispatcher.membersInFlight == 6)
        bench.accept([0, 1, 2])
        let actions = bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(bench.dispatcher.membersInFlight == 3)
        #expect(actions.leaseRequests.count == 1)
    }

    @Test("stops at the process's limit over all lanes")
    func processBound() {
        var bench = DispatcherBench()
        let four = [MemberStatus](repeating: .present, count: 4)
        bench.lease(ParcelRunSamples.parcel(four))
        bench.now = bench.now + .seconds(5)
        let elsewhere = LaneKey(CredentialID(2))
        let asked = bench.find([DispatcherBench.route(8)], lane: elsewhere).leaseRequests
        #expect(asked.count == 1)
        bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(four, id: 2), .repeatable)], asked: asked[0]))
        #expect(bench.dispatcher.membersInFlight == 8)
        bench.now = bench.now + .seconds(5)
        let third = LaneKey(CredentialID(3))
        #expect(bench.find([DispatcherBench.route(9)], lane: third).leaseRequests.isEmpty)
    }

    @Test("leaves every idle lane room for a parcel, however much slow lanes hold")
    func slowLanes() {
        let settings = DispatcherBench.bounded(laneMembersMax: 20, membersMax: 40, membersReserve: 20)
        var bench = DispatcherBench(settings: settings)
        for number in Int64(1)...6 {
            let lane = LaneKey(CredentialID(number))
            var asked = bench.find([DispatcherBench.route(number, app: number)], lane: lane).leaseRequests
            #expect(!asked.isEmpty, "lane \(number)")
            var parcel = number * 100
            while let request = asked.last {
                let five = [MemberStatus](repeating: .present, count: 5)
                asked =
                    bench.report(
                        .leased([ReadParcel(ParcelRunSamples.parcel(five, id: parcel), .repeatable)], asked: request)
                    ).leaseRequests
                parcel += 1
            }
            bench.now = bench.now + .seconds(1)
        }
        #expect(bench.dispatcher.membersInFlight <= 60)
    }
}
