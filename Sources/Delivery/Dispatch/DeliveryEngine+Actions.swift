import Content
import Logging
import Model
import QueueRules
import Reactor
import Store

extension DeliveryEngine {
    func perform(_ actions: [DispatchAction], _ found: [FoundParcel]) {
        var contents: [LeaseName: FoundParcel] = [:]  // lookup only
        for content in found { contents[content.parcel.leaseName] = content }
        var unresolved: [ReadyRoute] = []
        var settles: [SettleEntry] = []
        var renewals: [LeaseName] = []
        var waitsChanged = false
        for action in actions {
            switch action {
            case .poll: Task { await poll() }
            case .resolve(let route): unresolved.append(route)
            case .lease(let request): Task { await lease(request) }
            case .submit(let name, let exit, let positions, let until):
                guard let content = contents[name] else { preconditionFailure("the event brought the parcel") }
                submit(OutgoingParcel(content, exit, positions, until: until))
            case .settle(let name, let pending, let withVerdicts):
                settles.append(SettleEntry(name, pending, withVerdicts: withVerdicts))
            case .renew(let name): renewals.append(name)
            case .withdraw(let name, let lane): lanes.open.withdraw(name, on: lane)
            case .lane(let lane, .report(let wait, let before)):
                waitsChanged = true
                lanes.open.log(lane, wait, before: before)
            case .lane(_, .reportRoutes): waitsChanged = true
            case .lane(let lane, .announceRefusedTopic(let route, let reason)):
                lanes.open.logRefusedTopic(route, lane, reason: reason)
            case .lane(let lane, .announceRefusal(let reason)): Task { await announceRefusal(lane, reason) }
            case .lane(let lane, .retry): lanes.open.retry(lane)
            case .alarm(let message, let lane, let alarm): lanes.open.log(alarm, of: message, on: lane)
            case .drained: noteDrained()
            }
        }
        if waitsChanged { lanes.report(waits: dispatcher.waits) }
        settle(settles)
        renew(renewals)
        resolve(unresolved)
    }

    private func announceRefusal(_ lane: LaneKey, _ reason: String) async {
        await lanes.announceRefusal(lane, reason)
        take(.credentialsChanged)
    }

    private func resolve(_ unresolved: [ReadyRoute]) {
        guard !unresolved.isEmpty else { return }
        // One at a time: resolving one poll's routes may take longer than the time until the next poll.
        for route in unresolved where routesQueued.insert(route.serviceRoute).inserted { routesToResolve.append(route) }
        guard !isResolving else { return }
        isResolving = true
        Task { await resolve() }
    }

    private static let routesPerPoll = 256
    private static let pollPagesMax = 64

    private func poll() async {
        do {
            try await takeStops()
            _ = try await stores.parcels.rescue()
            var ready: [ReadyRoute] = []
            var last = pollFrom
            pollFrom = nil
            for pageNumber in 1...Self.pollPagesMax {
                let page = try await stores.parcels.readyRoutes(
                    knownFormats: StoredContent.knownFormats, after: last, limit: Self.routesPerPoll)
                ready += page.routes
                last = page.last
                if !page.isFull { break }
                // The next poll goes on from here, so that one app's routes never hide another's for good.
                if pageNumber == Self.pollPagesMax { pollFrom = last }
            }
            let rateLimited = try await stores.parcels.rateLimitedRoutes(
                knownFormats: StoredContent.knownFormats, limit: Self.routesPerPoll * Self.pollPagesMax)
            take(.polled(ReadyRoute.merging(ready, rateLimited: rateLimited)))
        } catch {
            stores.context.database.failed("search for parcels delayed", error)
            take(.pollFailed)
        }
    }

    /// Reads pauses, cancels and rates from the rows, in case a notification was missed.
    private func takeStops() async throws(StoreFault) {
        let running = dispatcher.runningMessages
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
            for route in routes { take(.resolved(route.serviceRoute, await lanes.resolve(route))) }
        }
    }

    private func lease(_ request: LeaseRequest) async {
        let order = LeaseOrder(
            route: request.serviceRoute.route, service: request.serviceRoute.service, owner: process,
            leaseFor: settings.dispatcher.leaseLength, knownFormats: StoredContent.knownFormats, scope: request.scope,
            passing: request.passing)
        let log = log
        var size = settings.dispatcher.leaseGroup
        size.parcelsMax = min(size.parcelsMax, request.parcelsMax)
        do {
            let leased = try await stores.parcels.lease(order, size) {
                log.error("Parcel is unreadable; skipped until its lease expires", metadata: ["fault": "\($0)"])
            }
            await begin(leased, request)
        } catch .damaged(let place) {
            log.error("Parcel can't be leased: stored data is damaged", metadata: ["place": "\(place)"])
            take(.leaseFailed(request))
        } catch {
            // If the lease was written but its reply lost, it expires and is rescued.
            stores.context.database.failed("leasing delayed", error)
            take(.leaseFailed(request))
        }
    }

    private func begin(_ leased: Lease, _ request: LeaseRequest) async {
        if !leased.parcels.isEmpty { steps?.reached(.leaseCommitted) }
        let found = await contents(of: leased.parcels, on: request.serviceRoute)
        let provider = request.exit?.target.provider
        take(.leased(found.map { $0.read(by: provider) }, asked: request, again: leased.again), found)
    }
}
