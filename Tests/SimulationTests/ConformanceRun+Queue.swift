import Basis
import Model
import QueueRules
import Store
import Worlds

// Leases, and what becomes of them.
extension ConformanceRun {
    static let owners = [ProcessID(UniversalID(high: 1, low: 1)), ProcessID(UniversalID(high: 2, low: 2))]

    var mono: MonotonicInstant { MonotonicInstant(nanoseconds: now.microseconds * 1_000) }

    mutating func lease() async throws -> String? {
        guard !simulated.routes.isEmpty else { return nil }
        let rateLimited = simulated.parcels.filter { $0.isRateLimited && $0.dueAt <= now }
        if !rateLimited.isEmpty, random.happens(perMille: 500) {
            return try await leaseQuantum(random.pick(rateLimited))
        }
        let due = simulated.parcels.filter { $0.isReady && $0.dueAt <= now }
        // Leases mostly aim at parcels that exist: an empty lease proves little. Parcels of stopped messages are rare
        // and prove the most.
        let stopped = due.filter { simulated.isStopped($0.message) }
        let limited = due.filter { isLimitedInGroup($0, due) }
        let reporting = !stopped.isEmpty ? stopped : limited.isEmpty || random.happens(perMille: 300) ? due : limited
        let wanted = due.isEmpty || random.happens(perMille: 150) ? nil : random.pick(reporting)
        let route = wanted?.route ?? random.pick(simulated.routes.map(\.id))
        let owner = random.pick(Self.owners)
        let usual: LeaseScope =
            wanted?.urgency == .transactional && random.happens(perMille: 500) ? .urgent : .ordinary
        let fitting: LeaseScope = wanted?.isQuarantined == true ? .lapsed : usual
        let scope = random.happens(perMille: 800) ? fitting : random.pick([.ordinary, .urgent, .lapsed, .expired])
        let formats: [Int16] = random.happens(perMille: 200) ? [1] : [1, 2]
        let own = wanted?.service ?? .app
        let service = random.happens(perMille: 900) ? own : random.pick(TopicService.allCases)
        pushHistory.append("lease route \(route.value) \(service), \(scope), formats \(formats)")
        let order = LeaseOrder(
            route: route, service: service, owner: owner, leaseFor: Self.leaseFor, knownFormats: formats, scope: scope)
        return try await lease(order)
    }

    /// Whether a lease must apply limits to the parcel, and may take other parcels in the same group.
    private func isLimitedInGroup(_ parcel: ParcelRow, _ due: [ParcelRow]) -> Bool {
        let limits = simulated.limits(of: parcel.app)
        guard parcel.urgency == .transactional, limits.quietHours != nil || limits.dailyCap != nil else { return false }
        return due.contains {
            $0.id != parcel.id && $0.route == parcel.route && $0.service == parcel.service
                && $0.urgency == .transactional
        }
    }

    private mutating func leaseQuantum(_ wanted: ParcelRow) async throws -> String? {
        let owner = random.pick(Self.owners)
        let formats: [Int16] = random.happens(perMille: 200) ? [1] : [1, 2]
        let service = wanted.service
        let passing = random.happens(perMille: 100) ? [wanted.message] : []
        if random.happens(perMille: 50) { try await postpone(wanted.message) }
        pushHistory.append(
            "lease a share on route \(wanted.route.value) \(service), formats \(formats), without \(passing.count)")
        return try await lease(
            LeaseOrder(
                route: wanted.route, service: service, owner: owner, leaseFor: Self.leaseFor, knownFormats: formats,
                scope: .rateLimited, passing: passing))
    }

    /// Records answers for some members, then settles everything new. An expired lease settles in vain.
    mutating func answerAndSettle() async throws -> String? {
        guard !runs.isEmpty else { return nil }
        let overtaken = overtaken
        let isLate = !overtaken.isEmpty && random.happens(perMille: 300)
        let place = isLate ? random.pick(overtaken) : random.below(runs.count)
        for position in runs[place].run.takeMembersToSend() where random.happens(perMille: 300) {
            runs[place].run.record(drawOutcome(), for: Int(position), now: mono)
        }
        for position in 0..<runs[place].run.parcel.members.count where random.happens(perMille: 500) {
            runs[place].run.record(drawOutcome(), for: position, now: mono)
        }
        noteComplaint(place)
        guard let pending = runs[place].run.takeSettlement() else { return nil }
        pushHistory.append("settle parcel \(pending.settlement.parcel.value), \(pending.settlement.pendingAfter) stay")
        let difference = try await applyVerdicts(pending.verdicts)
        if let difference { return difference }
        let real = await stores.parcels.settle([pending.settlement], now: now)
        let reply = simulated.settle([pending.settlement], now: now)[0]
        pastSettlements.append(pending.settlement)
        if runs[place].run.concludeSettle(reply) != .goesOn { runs.remove(at: place) }
        return differ("settle", real, [.success(reply)])
    }

    /// Some providers name the field of a message that they refuse.
    mutating func noteComplaint(_ place: Int) {
        guard runs[place].run.parcel.id.value.isMultiple(of: 2) else { return }
        runs[place].run.note(MessageComplaint(reason: "PayloadTooLarge", text: "message.data"))
    }

    /// The runs whose parcel another owner has leased since. They are rare, and fencing exists for them.
    var overtaken: [Int] {
        runs.indices.filter { place in
            let own = runs[place].run.parcel
            return runs.contains { $0.run.parcel.id == own.id && $0.run.parcel.epoch > own.epoch }
        }
    }

    private mutating func drawOutcome() -> Outcome {
        let since = now + .seconds(-Int64(random.below(200)))
        return random.pick([
            .accepted, .accepted, .accepted, .unsent(.withdrawn), .unknown(.connectionLost),
            .deferred(after: .seconds(5), .providerBusy), .deferred(after: nil, .laneBlocked),
            .rejected(Rejection(fault: .tokenUnregistered, reason: "Unregistered", invalidSince: since)),
            .rejected(Rejection(fault: .tokenUnregistered, reason: "ExpiredToken")),
            .rejected(Rejection(fault: .tokenElsewhere, reason: "DeviceTokenNotForTopic")),
            .rejected(Rejection(fault: .tokenUnknownHere, reason: "BadDeviceToken")),
            .rejected(Rejection(fault: .tokenUnknownHere, reason: "BadDeviceToken")),
            .rejected(Rejection(fault: .message, reason: "PayloadTooLarge")),
        ])
    }

    /// Repeats a settlement that may have been written before or refused, as after a lost reply or by a fenced owner.
    mutating func settleAgain() async throws -> String? {
        guard !pastSettlements.isEmpty else { return nil }
        let settlement = random.pick(pastSettlements)
        pushHistory.append("settle again parcel \(settlement.parcel.value)")
        let real = await stores.parcels.settle([settlement], now: now)
        return differ("settle again", real, simulated.settle([settlement], now: now).map { .success($0) })
    }

    mutating func renew() async throws -> String? {
        guard !runs.isEmpty else { return nil }
        let owner = random.pick(runs).owner
        var names: [LeaseName] = []
        for held in runs where random.happens(perMille: held.owner == owner ? 700 : 100) {
            let parcel = held.run.parcel
            // One process may still hold runs of both an older and the present lease of a parcel.
            guard !names.contains(where: { $0.parcel == parcel.id }) else { continue }
            names.append(
                LeaseName(parcel: parcel.id, epoch: parcel.epoch + (random.happens(perMille: 100) ? 1 : 0)))
        }
        pushHistory.append("renew parcels \(names.map(\.parcel.value))")
        let real = await stores.parcels.renew(names, owner: owner, for: Self.leaseFor, now: now)
        let renewed = simulated.renew(names, owner: owner, for: Self.leaseFor, now: now)
        return differ("renew", real, renewed.map { .success($0) })
    }

    mutating func rescue() async throws -> String? {
        pushHistory.append("rescue at \(now.microseconds)")
        let real = try await stores.parcels.rescue(now: now)
        return differ("rescue", real, simulated.rescue(now: now))
    }

    /// Applies verdicts of any origin: right and wrong generations, before and after the registration time, two about
    /// one token.
    mutating func judge() async throws -> String? {
        var verdicts: [GuardedVerdict] = []
        for _ in 0..<random.within(1...4) where !simulated.registrations.isEmpty {
            let row = random.pick(simulated.registrations)
            let generation = row.stored.generation.value - (random.happens(perMille: 200) ? 1 : 0)
            let asOf = row.registeredAt + random.pick([.seconds(-1), .zero, .seconds(1)])
            let verdict: TokenVerdict = random.pick([
                .unregistered(since: asOf, reason: "Unregistered"), .unregistered(since: nil, reason: "ExpiredToken"),
                .suspected(reason: "BadDeviceToken"), .suspected(reason: "BadDeviceToken"), .cleared,
                .suspectedInBoth(reason: "BadDeviceToken"), .found(on: duplicate(of: row.stored.route)),
            ])
            verdicts.append(
                GuardedVerdict(
                    registration: row.id, generation: TokenGeneration(generation), route: row.stored.route,
                    verdict: verdict, asOf: asOf,
                    isBlame: random.happens(perMille: 700)))
        }
        pushHistory.append("judge \(verdicts.count)")
        return try await applyVerdicts(verdicts)
    }

    /// The sibling route, or the route itself where it has none.
    private func duplicate(of id: RouteID) -> RouteID {
        guard let own = simulated.route(id) else { return id }
        let duplicate = simulated.routes.first {
            $0.app == own.app && $0.provider == own.provider && $0.topic == own.topic
                && $0.environment != own.environment
        }
        return duplicate?.id ?? id
    }

    /// Gives an app a credential for one environment (for all services or for calls alone), retires it, or lets the
    /// provider refuse it for a while.
    mutating func changeSender() async throws -> String? {
        let place = random.below(apps.count)
        let (app, environment) = (apps[place], random.pick(PushEnvironment.allCases))
        let service: TopicService? = random.happens(perMille: 300) ? .voip : nil
        let name = SenderName(app: app, environment: environment, service: service)
        let known = simulated.senders.firstIndex {
            $0.app == app && $0.environment == environment && $0.service == service
        }
        guard let known, let credential = credentials[name] else {
            pushHistory.append("credential for app \(app.value), \(environment), \(service.map { "\($0)" } ?? "all")")
            let new = NewCredential(
                id: try await stores.credentials.nextIDs(1)[0], app: app, provider: .apns, environment: environment,
                kind: service == nil ? .token : .certificate,
                topics: service == nil ? [] : ["com.example.app.voip"],
                wholeTopics: service == nil ? [] : ["com.example.app.voip", ".voip"], facts: Array("{}".utf8),
                sealed: [1])
            _ = try await stores.credentials.insert([new], app: app, activate: true, once: nil) { _ in [] }
            credentials[name] = new.id
            simulated.senders.append(SenderRow(app: app, environment: environment, service: service))
            return nil
        }
        guard random.happens(perMille: 700) else {
            pushHistory.append("no credential for app \(app.value), \(environment)")
            _ = try await stores.credentials.retire([credential], app: app)
            simulated.senders.remove(at: known)
            return nil
        }
        pushHistory.append("refused credential of app \(app.value), \(environment)")
        try await stores.credentials.block(credential, reason: "Forbidden", for: .seconds(30), now: now)
        let until = simulated.senders[known].blockedUntil ?? now
        simulated.senders[known].blockedUntil = max(until, now + .seconds(30))
        return nil
    }

    mutating func applyVerdicts(_ verdicts: [GuardedVerdict]) async throws -> String? {
        let real = try await stores.parcels.applyVerdicts(verdicts, under: Self.rule, now: now)
        let report = simulated.applyVerdicts(verdicts, under: Self.rule, now: now)
        return differ("retired", real.retired, report.retired) ?? differ("suspected", real.suspected, report.suspected)
            ?? differ("cleared", real.cleared, report.cleared)
            ?? differ("held", real.suspectRoutes.map(\.route).sorted(), report.suspectRoutes)
    }

    mutating func confirm() async throws -> String? {
        pushHistory.append("confirm at \(now.microseconds)")
        let real = try await stores.parcels.confirmSuspicions(Self.rule, now: now)
        let expected = simulated.confirmSuspicions(Self.rule, now: now)
        return differ("confirm", real, SuspicionReport(judged: expected.judged, retired: expected.retired))
    }
}
