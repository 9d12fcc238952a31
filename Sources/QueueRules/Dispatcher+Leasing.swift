import Basis
import Model

extension Dispatcher {
    func placeOfRoute(_ serviceRoute: ServiceRoute) -> Int? {
        routes.firstIndex { $0.ready.serviceRoute == serviceRoute }
    }

    mutating func notePolled(_ ready: [ReadyRoute], _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        isPolling = false
        pollAt = pollAgain ? now : now + settings.pollEvery
        pollAgain = false
        var places: [ServiceRoute: Int] = [:]  // lookup only
        for (place, state) in routes.enumerated() { places[state.ready.serviceRoute] = place }
        let known = routes.count
        for route in ready {
            let place = places[route.serviceRoute] ?? routes.count
            if place == routes.count {
                places[route.serviceRoute] = place
                routes.append(RouteState(route))
            }
            routes[place].notePolled(route, since: pollStartedAt, now)
            actions.append(.resolve(route))
        }
        if routes.count > known { routes.sort { Self.isBefore($0.ready, $1.ready) } }
        let polled = Set(ready.map(\.serviceRoute))  // lookup only
        forgetIdle(polled, now)
        // Routes of direct messages have no work that a poll could find. Their credentials and tokens may change.
        for route in routes where !polled.contains(route.ready.serviceRoute) { actions.append(.resolve(route.ready)) }
    }

    mutating func notePlanned(_ ready: [ReadyRoute], _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        for route in ready {
            if let place = placeOfRoute(route.serviceRoute) {
                routes[place].notePlanned(route, now)
            } else {
                var state = RouteState(route)
                state.notePlanned(route, now)
                routes.insert(state, at: routes.firstIndex { Self.isBefore(route, $0.ready) } ?? routes.count)
                actions.append(.resolve(route))
            }
        }
    }

    /// Forgets routes without work, and lanes that no route and no parcel uses. Both lists stay bounded by what is due.
    ///
    /// The routes of recent direct messages stay, the latest ones: their next message can be leased when it is accepted.
    private mutating func forgetIdle(_ ready: Set<ServiceRoute>, _ now: MonotonicInstant) {  // lookup only
        let isIdle = { (route: RouteState) in route.isIdle && !ready.contains(route.ready.serviceRoute) }
        let cuts = routes.filter(isIdle).compactMap(\.cutAt).filter { now - $0 <= settings.cutRoutesKept }
        let earliest = cuts.sorted(by: >).prefix(settings.cutRoutesMax).last
        routes.removeAll { route in
            guard isIdle(route) else { return false }
            guard let cutAt = route.cutAt, let earliest else { return true }
            return cutAt < earliest
        }
        var used = Set(routes.compactMap(\.lane))  // lookup only
        for run in runs.states { if let lane = run.lane { used.insert(lane) } }
        for place in lanes.states.indices where !used.contains(lanes[place].key) { lanes[place].health.leaveUnused() }
        // A lane's health is remembered while it says anything.
        lanes.forget { !used.contains($0.key) && $0.health.isCalm(now) }
    }

    private static func isBefore(_ left: ReadyRoute, _ right: ReadyRoute) -> Bool {
        left.app == right.app ? left.serviceRoute < right.serviceRoute : left.app < right.app
    }

    mutating func noteResolved(
        _ serviceRoute: ServiceRoute, _ resolution: RouteResolution, _ now: MonotonicInstant,
        _ actions: inout [DispatchAction]
    ) {
        guard let place = placeOfRoute(serviceRoute) else { return }
        routes[place].noteResolved(resolution)
        switch resolution {
        case .uncovered: break
        case .waits(let key, let cause, let reason):
            note(.waits(serviceRoute, cause, reason: reason), of: key, now, &actions)
        case .leaves(let exit): note(.usable(serviceRoute), of: exit.lane, now, &actions)
        }
    }

    /// - Parameters:
    ///   - parcel: the first parcel that came; nil: nothing came.
    ///   - again: how long it is until more rate-limited parcels may be leased.
    mutating func noteLeaseEnded(
        _ request: LeaseRequest, _ parcel: LeasedParcel?, again: Duration?, _ now: MonotonicInstant
    ) {
        leasesOutstanding -= 1
        guard let place = placeOfRoute(request.serviceRoute) else { return }
        // If no parcel came, another process has the quantum.
        let floor = parcel == nil ? MessagePace.askAgainFloor : .zero
        routes[place].noteRated(request, again: again, atLeast: floor, now)
        routes[place].end(request, parcel)
    }

    /// The next poll looks for the route's parcels again; rate-limited parcels are asked for after a pause.
    mutating func noteLeaseFailed(_ request: LeaseRequest, _ now: MonotonicInstant) {
        leasesOutstanding -= 1
        guard let place = placeOfRoute(request.serviceRoute) else { return }
        routes[place].end(request, nil)
        if request.scope == .rateLimited { routes[place].noteRatedFailed(until: now + settings.storePause) }
    }

    mutating func begin(
        _ parcel: LeasedParcel, _ request: LeaseRequest, _ reading: MessageReading, _ now: MonotonicInstant,
        _ actions: inout [DispatchAction]
    ) {
        let name = parcel.leaseName
        // A restored database hands out the same lease twice: the run in hand lost its parcel. Answers to its pushes may
        // still arrive under this name, so the new run's pushes go back.
        let earlier = runs.place(of: name)
        if let earlier { abandon(earlier, &actions) }
        var run = ParcelRun(
            parcel: parcel, leasedAt: request.startedAt, policy: settings.retry, isRepeatable: reading != .unrepeatable)
        let positions = run.takeMembersToSend()
        for alarm in run.takeAlarms() { actions.append(.alarm(parcel.message, request.lane, alarm)) }
        let leaseEnd = request.startedAt + settings.leaseLength
        if let lane = request.lane { lanes.begin(parcel, request.scope, on: lane) }
        let until = settings.noStreamAfter(leasedAt: request.startedAt, run, now: now)
        let state = RunState(
            run: run, lane: request.lane, scope: request.scope, noStreamAfter: until,
            answeredBefore: lanes.known(request.lane).map { lanes[$0].hold.answered } ?? 0, leaseEnd: leaseEnd,
            renewAt: request.startedAt + settings.leaseLength / 3,
            settleAt: now + settings.settleEvery, ratePerSecond: parcel.ratePerSecond)
        let place = runs.append(state)
        guard !positions.isEmpty else { return }
        var count = 0
        if let exit = request.exit, reading != .unread, maySend(request.scope), earlier == nil {
            let lane = lanes.place(of: exit.lane)
            count = lanes[lane].health.admit(positions.count, parcel.urgency, leasedAt: request.startedAt, now)
            let sent = count == positions.count ? positions : Array(positions.prefix(count))
            if count > 0 { actions.append(.submit(name, exit, positions: sent, until: until)) }
        }
        handBack(positions.dropFirst(count), of: place, isUnread: reading == .unread, now)
    }

    /// Returns leased members that must not be sent from here, through the one settle.
    private mutating func handBack(
        _ positions: ArraySlice<Int32>, of place: Int, isUnread: Bool, _ now: MonotonicInstant
    ) {
        for position in positions {
            if isUnread {
                runs[place].run.handBackUnread(Int(position), now)
            } else {
                runs[place].run.record(.unsent(.withdrawn), for: Int(position), now: now)
            }
        }
    }

    private func maySend(_ scope: LeaseScope) -> Bool {
        switch (scope, quarantine) {
        case (.expired, _): false
        case (.ordinary, .off), (.urgent, .off), (.rateLimited, .off): !isDraining
        case (.lapsed, .isolated(_, let isOver)): !isOver && !isDraining
        case (.ordinary, .draining), (.ordinary, .isolated), (.urgent, .draining), (.urgent, .isolated),
            (.rateLimited, .draining),
            (.rateLimited, .isolated), (.lapsed, .draining), (.lapsed, .off):
            false
        }
    }

    /// Asks for parcels round-robin over the apps, one call per service route at a time.
    mutating func leaseWhatCanBeSent(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard !isDraining, !routes.isEmpty else { return }
        switch quarantine {
        case .off: leaseOrdinary(now, &actions)
        case .draining: break
        case .isolated:
            if holdsNothing, let place = routes.firstIndex(where: mayLeaseLapsed) {
                lease(place, .lapsed, now, &actions)
            }
        }
    }

    private mutating func leaseOrdinary(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        var start = 0
        if let lastServed { start = routes.firstIndex { lastServed < $0.ready.app } ?? 0 }
        for offset in 0..<routes.count where leasesOutstanding < settings.leasesMax {
            let place = (start + offset) % routes.count
            let route = routes[place]
            guard !route.isLeasing else { continue }
            if mayLeaseRateLimited(route), let at = route.rated.dueAt, at <= now, route.work == .none || !route.wasRated
            {
                lease(place, .rateLimited, now, &actions)
            } else if route.work != .none && laneHasRoom(for: route) {
                lease(place, .ordinary, now, &actions)
            } else if route.work == .transactional && laneHasUrgentRoom(for: route) {
                lease(place, .urgent, now, &actions)
            } else if route.maySweep && route.resolution != nil && !permission(for: .bulk, on: route).isGiven {
                // A newly found route waits for its lane: a sweep would only delay its first parcel.
                lease(place, .expired, now, &actions)
            }
        }
    }

    private mutating func lease(
        _ place: Int, _ scope: LeaseScope, _ now: MonotonicInstant, _ actions: inout [DispatchAction]
    ) {
        routes[place].begin(scope, passing: scope == .rateLimited ? messagesFull(on: routes[place].lane) : [], now)
        leasesOutstanding += 1
        let route = routes[place]
        lastServed = route.ready.app
        // A half-open lane tries a few pushes, most of them in parcels of one.
        let room = max(1, permission(for: scope == .urgent ? .transactional : .bulk, on: route).room)
        actions.append(
            .lease(
                LeaseRequest(
                    serviceRoute: route.ready.serviceRoute, exit: scope == .expired ? nil : route.exit, startedAt: now,
                    scope: scope, passing: scope == .rateLimited ? route.rated.passed : [],
                    parcelsMax: scope == .expired ? .max : room)))
    }

    func mayLeaseLapsed(_ route: RouteState) -> Bool {
        route.hasLapsed && !route.isLeasing && permission(for: .bulk, on: route).isGiven
    }

    func laneHasRoom(for route: RouteState) -> Bool {
        guard permission(for: .bulk, on: route).room > 0, let place = lanes.known(route.lane) else { return false }
        let (lane, holdMax) = (lanes[place].load, lanes[place].hold.membersMax)
        // A lane may hold as much as is left for all other lanes. So some room is left, however many lanes are slow.
        let left = settings.membersMax - lanes.load.members
        if lane.members == 0 { return left > -settings.membersReserve }
        let parcelsLeft = settings.parcelsMax - lanes.load.parcels
        return lane.members < min(holdMax, left) && lane.parcels < min(settings.laneParcelsMax, parcelsLeft)
    }

    /// The most transactional members that a lane may hold on top of its other bounds.
    func urgentMax(on place: Int) -> Int { min(settings.laneUrgentMax, lanes[place].hold.membersMax) }

    /// Whether a transactional parcel fits, however much bulk the lane holds. A broadcast that fills the lane at its
    /// provider's pace must not delay a single push.
    ///
    /// Urgent leases are counted separately and take nothing from the other bounds. They have few members, and so few
    /// parcels.
    private func laneHasUrgentRoom(for route: RouteState) -> Bool {
        guard permission(for: .transactional, on: route).room > 0, let place = lanes.known(route.lane) else {
            return false
        }
        let left = settings.urgentMax - lanes.load.urgentMembers
        return lanes[place].load.urgentMembers < min(urgentMax(on: place), left)
    }
}
