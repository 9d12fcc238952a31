import DeliveryRules
import JSON
import Logging
import PushModel
import Reactor
import Store

extension DeliveryEngine {
    func perform(_ actions: [DispatchAction]) {
        var unresolved: [ReadyRoute] = []
        for action in actions {
            switch action {
            case .poll: Task { await poll() }
            case .resolve(let route): unresolved.append(route)
            case .lease(let request): Task { await lease(request) }
            case .submit(let name, let lane, let positions, let until): submit(name, lane, positions, until)
            case .extend(let name, let lane, let until): lanes.extend(name, on: lane, until: until)
            case .settle(let name, let pending, let withVerdicts):
                if settlesTogether(name, pending) { continue }
                Task { await settle(name, pending, withVerdicts: withVerdicts) }
            case .renew(let name): Task { await renew(name) }
            case .withdraw(let name, let lane):
                parcelsOut[name]?.isWithdrawn = true
                lanes.withdraw(name, on: lane)
            case .forget(let name, _): parcelsOut[name] = nil
            case .alarm(let message, let alarm): raise(alarm, of: message)
            case .drained: noteDrained()
            }
        }
        guard !unresolved.isEmpty else { return }
        // One at a time: a poll's routes may take longer to look up than the next poll takes to come.
        for route in unresolved where routesQueued.insert(route.line).inserted { routesToResolve.append(route) }
        guard !isResolving else { return }
        isResolving = true
        Task { await resolve() }
    }

    /// Routes that a page of a poll may report.
    private static let routesPerPoll = 256
    private static let pollPagesMax = 64

    private func poll() async {
        do {
            try await takeStops()
            _ = try await stores.parcels.rescue()
            var ready: [ReadyRoute] = []
            var last = pollFrom
            pollFrom = nil
            for turn in 1...Self.pollPagesMax {
                let page = try await stores.parcels.readyRoutes(
                    knownFormats: StoredContent.knownFormats, after: last, limit: Self.routesPerPoll)
                ready += page.routes
                last = page.last
                if !page.isFull { break }
                // Beyond the limit the next poll goes on, so that nobody's routes hide another's for good.
                if turn == Self.pollPagesMax { pollFrom = last }
            }
            let paced = try await stores.parcels.pacedRoutes(
                knownFormats: StoredContent.knownFormats, limit: Self.routesPerPoll * Self.pollPagesMax)
            take(.polled(ReadyRoute.merging(ready, paced: paced)))
        } catch {
            log.warning("Looking for parcels waits for the database", metadata: ["fault": "\(error)"])
            take(.pollFailed)
        }
    }

    /// Whatever was heard or missed of pauses, cancels and rates, the rows say it.
    private func takeStops() async throws(StoreFault) {
        let running = runningMessages
        guard !running.isEmpty else { return }
        let stopped = try await stores.messages.stopped(among: running)
        if !stopped.isEmpty { take(.stopped(stopped)) }
        let rated = try await stores.messages.rates(among: running)
        if !rated.isEmpty { take(.rated(rated)) }
    }

    private func resolve() async {
        defer { isResolving = false }
        while !routesToResolve.isEmpty {
            let routes = routesToResolve
            routesToResolve = []
            routesQueued = []
            await resolve(routes)
        }
    }

    private func resolve(_ routes: [ReadyRoute]) async {
        for route in routes {
            let lane = await lanes.lane(for: route)
            take(.resolved(route.line, lane, canSend: lane.flatMap(lanes.canSend)))
        }
    }

    private func lease(_ request: LeaseRequest) async {
        let order = LeaseOrder(
            route: request.line.route, service: request.line.service, owner: process,
            leaseFor: settings.dispatcher.leaseLength, knownFormats: StoredContent.knownFormats, scope: request.scope)
        do {
            var again: Duration?
            var leased: LeasedParcel?
            if request.scope.mayBringSeveral {
                let parcels = try await stores.parcels.leaseGroup(order, settings.dispatcher.leaseGroup)
                guard parcels.count <= 1 else { return await begin(parcels, request) }
                leased = parcels.first
            } else if request.scope == .paced {
                let share = try await stores.parcels.leasePaced(order, passing: request.passing)
                (leased, again) = (share.parcel, share.again)
            } else {
                leased = try await stores.parcels.lease(order)
            }
            guard let parcel = leased else { return take(.leasedNothing(request, again: again)) }
            steps?.reached(.leaseCommitted)
            let (message, values) = await content(of: parcel)
            keep(parcel, request, message, values)
            take(.leased(parcel, asked: request, message.map(\.reading) ?? .unread, again: again))
        } catch .damaged(let place) {
            log.error("A parcel can't be leased, and waits for its mending", metadata: ["place": "\(place)"])
            take(.leaseFailed(request))
        } catch {
            // A lease that was written without our seeing it runs out, and is rescued.
            log.warning("Leasing waits for the database", metadata: ["fault": "\(error)"])
            take(.leaseFailed(request))
        }
    }

    /// nil: not now. The lease is written, so the parcel is handed back rather than left to lapse.
    private func content(of parcel: LeasedParcel) async -> (ShelvedMessage?, MemberValues?) {
        do {
            let message = try await shelf.message(parcel.message)
            return (message, try await values(of: parcel, message))
        } catch {
            logUnread(parcel, error)
            return (nil, nil)
        }
    }

    /// Several of one call: their messages are read together.
    private func begin(_ parcels: [LeasedParcel], _ request: LeaseRequest) async {
        steps?.reached(.leaseCommitted)
        var read: [ReadParcel] = []
        for (parcel, found) in zip(parcels, await contents(of: parcels)) {
            keep(parcel, request, found.message, found.values)
            read.append(ReadParcel(parcel, found.message.map(\.reading) ?? .unread))
        }
        take(.leasedTogether(read, asked: request))
    }

    private func keep(
        _ parcel: LeasedParcel, _ request: LeaseRequest, _ message: ShelvedMessage?, _ values: MemberValues?
    ) {
        guard let lane = request.lane, let message else { return }
        let out = ParcelOut(
            parcel: parcel, line: request.line, message: message, values: values, lane: lane, answersOutstanding: 0)
        parcelsOut[out.name] = out
    }

    /// One for each, in their order.
    private func contents(
        of parcels: [LeasedParcel]
    ) async -> [(message: ShelvedMessage?, values: MemberValues?)] {
        let messages: [ShelvedMessage]
        do {
            messages = try await shelf.messages(parcels.map(\.message))
        } catch {
            log.warning(
                "Messages' contents can't be read; their parcels go back",
                metadata: ["parcels": "\(parcels.count)", "fault": "\(error)"])
            return parcels.map { _ in (nil, nil) }
        }
        var found: [(message: ShelvedMessage?, values: MemberValues?)] = []
        for (parcel, message) in zip(parcels, messages) {
            do {
                found.append((message, try await values(of: parcel, message)))
            } catch {
                logUnread(parcel, error)
                found.append((nil, nil))
            }
        }
        return found
    }

    /// nil: its message has no holes.
    private func values(
        of parcel: LeasedParcel, _ message: ShelvedMessage
    ) async throws(StoreFault) -> MemberValues? {
        guard let holes = message.compiled?.holes, !holes.isEmpty else { return nil }
        return try await stores.parcels.values(of: parcel.members.map(\.registration), holes.fields)
    }

    private func logUnread(_ parcel: LeasedParcel, _ fault: StoreFault) {
        log.warning(
            "A message's content can't be read; its parcel goes back",
            metadata: ["message_id": "\(parcel.message.value.text)", "fault": "\(fault)"])
    }

    private func settle(_ name: LeaseName, _ pending: PendingSettle, withVerdicts: Bool) async {
        var verdictsDone = !withVerdicts
        do {
            if withVerdicts, !pending.verdicts.isEmpty {
                let report = try await stores.parcels.applyVerdicts(pending.verdicts, under: settings.suspicion)
                if report.retired > 0 { log.info("Tokens retired", metadata: ["count": "\(report.retired)"]) }
                for held in report.held { await note(held, of: parcelsOut[name]?.parcel.app) }
                steps?.reached(.verdictsCommitted)
            }
            verdictsDone = true
            let reply = try await stores.parcels.settle(pending.settlement)
            steps?.reached(.settleCommitted)
            take(.settled(name, reply))
        } catch {
            log.warning("Settling waits for the database", metadata: ["fault": "\(error)"])
            take(.settleFailed(name, verdictsDone: verdictsDone))
        }
    }

    private func note(_ held: HeldRoute, of app: AppID?) async {
        guard heldRoutes.isNews(held.route, now: Clocks.monotonicNow(), quiet: settings.suspicion.window) else {
            return
        }
        var metadata: Logger.Metadata = [
            "environment": "\(held.environment)", "topic": "\(held.topic)", "found": "\(held.found)",
            "answered": "\(max(held.answered, held.found))",
            "remedy": "wait where APNs is in trouble; else register the tokens right, or raise CARILLON_SUSPECT_SHARE",
        ]
        if let app {
            let slug = await lanes.slug(of: app)
            metadata["app"] = "\(slug)"
        }
        log.error(
            "Too many tokens of a route were found in APNs' other environment: they stay where they are",
            metadata: metadata)
    }

    private func renew(_ name: LeaseName) async {
        do {
            let held = try await stores.parcels.renew(
                name.parcel, epoch: name.epoch, owner: process, for: settings.dispatcher.leaseLength)
            take(.renewed(name, held))
        } catch {
            log.warning("Renewing a lease waits for the database", metadata: ["fault": "\(error)"])
            take(.renewFailed(name))
        }
    }

    private func raise(_ alarm: ParcelAlarm, of message: MessageID) {
        switch alarm {
        case .poison(let registration):
            log.error(
                "A push ended three processes and is given up",
                metadata: ["message_id": "\(message.value.text)", "registration": "\(registration.value)"])
        case .ourFault(let reason):
            log.error(
                "A provider found our request malformed",
                metadata: ["message_id": "\(message.value.text)", "reason": "\(reason)"])
        }
    }
}
