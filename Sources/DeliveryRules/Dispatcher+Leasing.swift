import PushModel

extension Dispatcher {
    func placeOfRun(_ name: LeaseName) -> Int? { runs.firstIndex { $0.name == name } }

    func placeOfRoute(_ route: RouteID) -> Int? { routes.firstIndex { $0.ready.route == route } }

    /// Lanes are few; a new one can send until it says otherwise.
    mutating func placeOfLane(_ key: LaneKey) -> Int {
        if let place = lanes.firstIndex(where: { $0.key == key }) { return place }
        lanes.append(LaneState(key: key))
        return lanes.count - 1
    }

    mutating func notePolled(_ ready: [ReadyRoute], _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        isPolling = false
        pollAt = pollAgain ? now : now + settings.pollEvery
        pollAgain = false
        for route in ready {
            if let place = placeOfRoute(route.route) {
                routes[place].ready = route
                routes[place].hasWork = true
                routes[place].maySweep = true
            } else {
                let place = routes.firstIndex { isBefore(route, $0.ready) } ?? routes.count
                routes.insert(RouteState(ready: route, hasWork: true, maySweep: true), at: place)
            }
            actions.append(.resolve(route))
        }
        // Routes without work are forgotten, so that the list is bounded by what is due.
        routes.removeAll { state in
            !state.hasWork && !state.isLeasing && !ready.contains { $0.route == state.ready.route }
        }
    }

    private func isBefore(_ left: ReadyRoute, _ right: ReadyRoute) -> Bool {
        left.app == right.app ? left.route < right.route : left.app < right.app
    }

    mutating func noteResolved(_ route: RouteID, _ lane: LaneKey?) {
        guard let place = placeOfRoute(route) else { return }
        routes[place].lane = lane
        routes[place].isResolved = true
        if let lane { _ = placeOfLane(lane) }
    }

    mutating func noteLeaseEnded(_ request: LeaseRequest, hasWork: Bool) {
        leasesOutstanding -= 1
        guard let place = placeOfRoute(request.route) else { return }
        routes[place].isLeasing = false
        if request.expiredOnly { routes[place].maySweep = hasWork } else { routes[place].hasWork = hasWork }
    }

    mutating func noteLeased(
        _ parcel: LeasedParcel, _ request: LeaseRequest, _ isRepeatable: Bool, _ now: MonotonicInstant,
        _ actions: inout [DispatchAction]
    ) {
        noteLeaseEnded(request, hasWork: true)
        var run = ParcelRun(
            parcel: parcel, leasedAt: request.startedAt, policy: settings.retry, isRepeatable: isRepeatable)
        let positions = run.takeMembersToSend()
        for alarm in run.takeAlarms() { actions.append(.alarm(parcel.message, alarm)) }
        let leaseEnd = request.startedAt + settings.leaseLength
        if let lane = request.lane { lanes[placeOfLane(lane)].members += parcel.members.count }
        let state = RunState(
            run: run, lane: request.lane, leaseEnd: leaseEnd, renewAt: request.startedAt + settings.leaseLength / 3,
            settleAt: now + settings.settleEvery)
        runs.append(state)
        guard !positions.isEmpty else { return }
        if let lane = request.lane, !request.expiredOnly, !isDraining {
            actions.append(
                .submit(state.name, lane, positions: positions, until: state.noStreamAfter(settings.requestDeadline)))
        } else {
            withdrawUnsent(positions, of: state.name, now)
        }
    }

    /// Leased, but not to be sent from here: back through the one settle.
    private mutating func withdrawUnsent(_ positions: [Int32], of name: LeaseName, _ now: MonotonicInstant) {
        guard let place = placeOfRun(name) else { return }
        for position in positions { runs[place].run.record(.unsent(.withdrawn), for: Int(position), now: now) }
    }

    /// Asks for parcels, one call a route at a time, going round the apps.
    mutating func leaseWhatCanBeSent(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard !isDraining, !routes.isEmpty else { return }
        var start = 0
        if let lastServed { start = routes.firstIndex { lastServed < $0.ready.app } ?? 0 }
        for offset in 0..<routes.count {
            let place = (start + offset) % routes.count
            guard !routes[place].isLeasing else { continue }
            let canSend = routes[place].hasWork && laneHasRoom(routes[place].lane)
            // A route that was just found waits for its lane: a sweep would only stand before its first parcel.
            let sweep =
                !canSend && routes[place].maySweep && routes[place].isResolved && !laneCanSend(routes[place].lane)
            guard canSend || sweep else { continue }
            routes[place].isLeasing = true
            if sweep { routes[place].maySweep = false }
            leasesOutstanding += 1
            lastServed = routes[place].ready.app
            let lane = routes[place].lane
            actions.append(
                .lease(
                    LeaseRequest(
                        route: routes[place].ready.route, lane: sweep ? nil : lane, startedAt: now, expiredOnly: sweep))
            )
        }
    }

    private func laneCanSend(_ key: LaneKey?) -> Bool {
        guard let key, let lane = lanes.first(where: { $0.key == key }) else { return false }
        return lane.canSend
    }

    private func laneHasRoom(_ key: LaneKey?) -> Bool {
        guard let key, let lane = lanes.first(where: { $0.key == key }), lane.canSend else { return false }
        return lane.members < settings.laneMembersMax && membersInFlight < settings.membersMax
    }
}
