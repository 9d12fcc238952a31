import Basis
import Model
import QueueRules

// The way to the database: calls arrive late, after their caller gave up, or never; replies get lost.
extension SimulatedWorld {
    mutating func call(_ request: StoreRequest, _ index: Int) {
        let call = StoreCall(from: processes[index].addressee, owner: processes[index].id, request: request)
        endAmid(call)
        let arrival = after(.milliseconds(1) ... .milliseconds(isFaulty ? 60 : 5))
        let givesUp = after(.milliseconds(200) ... .seconds(3))
        guard isFaulty else {
            queue.put(.callArrives(call, willBeAnswered: true), at: arrival)
            return
        }
        guard now >= weather.storeSlowUntil else {
            troublePoll(call)
            return callSlowly(call)
        }
        let lot = random.below(1_000)
        if lot < plan.storeCallLost + plan.storeReplyLost + plan.storeCallLate { troublePoll(call) }
        if lot < plan.storeCallLost {
            noteNeverWas(call)
            queue.put(.callAnswered(call, .failed), at: givesUp)
        } else if lot < plan.storeCallLost + plan.storeReplyLost {
            queue.put(.callArrives(call, willBeAnswered: false), at: arrival)
            queue.put(.callAnswered(call, .failed), at: max(arrival, givesUp))
        } else if lot < plan.storeCallLost + plan.storeReplyLost + plan.storeCallLate {
            // The caller has given up; the server has not.
            queue.put(.callAnswered(call, .failed), at: givesUp)
            queue.put(
                .callArrives(call, willBeAnswered: false), at: givesUp + random.within(.zero ... .seconds(30)))
        } else {
            queue.put(.callArrives(call, willBeAnswered: true), at: arrival)
        }
    }

    /// Runs a slow statement. If it takes too long, its deadline ends it, or it commits and the reply comes too late.
    private mutating func callSlowly(_ call: StoreCall) {
        let arrival = after(.milliseconds(100) ... .seconds(6))
        let givesUp = after(.seconds(1) ... .seconds(3))
        guard arrival >= givesUp else { return queue.put(.callArrives(call, willBeAnswered: true), at: arrival) }
        incidents.note(.tooSlow)
        queue.put(.callAnswered(call, .failed), at: givesUp)
        if random.happens(perMille: 500) { return noteNeverWas(call) }
        queue.put(.callArrives(call, willBeAnswered: false), at: arrival)
    }

    private mutating func noteNeverWas(_ call: StoreCall) {
        incidents.note(.neverWas)
        if let step = StoreStep(call.request), wouldWrite(call) { incidents.note(.neverWas, step) }
    }

    mutating func arrive(_ call: StoreCall, _ willBeAnswered: Bool) {
        let isCallerGone = processes[call.from.process].incarnation != call.from.incarnation
        if isCallerGone { noteKilled(before: call) }
        if isCallerGone, random.happens(perMille: 300) { return }
        guard now >= weather.storeDownUntil else {
            incidents.note(.gone)
            troublePoll(call)
            if willBeAnswered { queue.put(.callAnswered(call, .failed), at: after(.zero ... .seconds(1))) }
            return
        }
        let reply = apply(call)
        guard willBeAnswered else {
            incidents.note(.unreceived)
            if reply.hasWritten, let step = StoreStep(call.request) { incidents.note(.unreceived, step) }
            return
        }
        queue.put(.callAnswered(call, reply), at: after(.milliseconds(1) ... .milliseconds(isFaulty ? 60 : 5)))
    }

    /// Notes that the process receives the database's reply later, or not this time.
    private mutating func troublePoll(_ call: StoreCall) {
        guard case .poll = call.request, processes[call.from.process].incarnation == call.from.incarnation else {
            return
        }
        processes[call.from.process].isPollTroubled = true
    }

    mutating func notePollReceived(_ index: Int) {
        if processes[index].isPollTroubled { processes[index].receivesSince = now }
        processes[index].isPollTroubled = false
    }

    private static let formats: [Int16] = [1]

    /// Runs one transaction, and records it for the checkers.
    mutating func apply(_ call: StoreCall) -> StoreReply {
        switch call.request {
        case .poll(let running):
            let ready = store.readyRoutes(knownFormats: Self.formats, now: wall)
            let rateLimited = store.rateLimitedRoutes(knownFormats: Self.formats, now: wall)
            return .routes(
                ReadyRoute.merging(ready, rateLimited: rateLimited), store.stopped(among: running),
                store.rates(among: running))
        case .lease(let request): return applyLease(request, call.owner)
        case .renew(let names): return .renewed(applyRenewals(names, call.owner))
        case .verdicts(let entry):
            applyVerdicts(entry.pending)
            return .verdictsWritten
        case .settle(let entries): return .settled(applySettles(entries))
        case .plan: return .planned(applyPlan())
        case .maintain(let round): return .maintained(apply(round, call.from))
        case .heartbeat(let project): return applyHeartbeat(project, call.owner)
        case .find(let cut): return .demand(demand(of: cut))
        case .cut(let cut): return apply(cut, call.owner)
        case .writeNode(let number): return .nodeWritten(raisedAny: applyWrite(number))
        case .fanOut: return .fannedOut(applyFanOut())
        case .endExpired: return .fannedOut(applyEnds())
        case .updateItems(let lines): return .nodeWritten(raisedAny: applyUpdates(lines))
        case .pushItems(let work): return .fannedOut(applyItemPushes(work))
        }
    }

    private mutating func applyLease(_ request: LeaseRequest, _ owner: ProcessID) -> StoreReply {
        store.senders = senders
        let order = LeaseOrder(
            route: request.serviceRoute.route, service: request.serviceRoute.service, owner: owner,
            leaseFor: plan.settings.leaseLength, knownFormats: Self.formats, scope: request.scope,
            passing: request.passing)
        var size = plan.settings.leaseGroup
        size.parcelsMax = min(size.parcelsMax, request.parcelsMax)
        let lease = store.lease(order, size, now: wall)
        return .leased(lease.parcels, number: take(lease.parcels, request.scope), again: lease.again)
    }

    /// - Returns: the number of the first lease.
    mutating func take(_ parcels: [LeasedParcel], _ scope: LeaseScope) -> Int {
        guard let first = parcels.first else { return ledger.noteLease() }
        let number = take(first, scope)
        for parcel in parcels.dropFirst() { _ = take(parcel, scope) }
        return number
    }

    private mutating func take(_ parcel: LeasedParcel, _ scope: LeaseScope) -> Int {
        let number = ledger.noteLease()
        noteLeased(parcel)
        answerLedger.begin(parcel)
        checkRate(of: parcel, scope)
        ledger.offer(parcel)
        ledger.promise(
            LeaseName(parcel: parcel.id, epoch: parcel.epoch),
            until: now + SimulatedTime(plan.settings.leaseLength))
        if !plan.mayLapse { judge(.calmLease) }
        return number
    }

    private mutating func applyRenewals(_ names: [LeaseName], _ owner: ProcessID) -> [Bool] {
        let length = plan.settings.leaseLength
        let replies = store.renew(names, owner: owner, for: length, now: wall)
        for (name, isHeld) in zip(names, replies) where isHeld {
            ledger.promise(name, until: now + SimulatedTime(length))
        }
        return replies
    }

    /// Settles each entry as if alone. nil: the database refused this entry, and not the others.
    private mutating func applySettles(_ entries: [SettleEntry]) -> [SettleReply?] {
        if entries.count > 1 { incidents.note(.settledTogether) }
        return entries.map { entry in
            if isFaulty, entry.pending.isGroupable, random.happens(perMille: plan.storeCallLost) {
                if entries.count > 1 { incidents.note(.settleRefused) }
                return nil
            }
            return applySettle(entry.pending)
        }
    }

    private mutating func applySettle(_ pending: PendingSettle) -> SettleReply {
        let settlement = lie?.falsified(pending.settlement) ?? pending.settlement
        let before = store.parcel(settlement.parcel)
        let lastParcel = store.lastParcel
        let reply = store.settle([settlement], now: wall)[0]
        switch reply {
        case .settled:
            guard let before else { break }
            noteSettled(settlement, before, newParcelsAfter: lastParcel)
            ledger.record(settlement.sample, on: before.origin?.route ?? before.route, at: wall)
        case .fenced(let status):
            let isOwn =
                status?.epoch == settlement.epoch && status?.settles == settlement.settles + 1
                && status?.isLeased == true
            if isOwn { incidents.ambiguousSettles += 1 } else { incidents.losers += 1 }
        }
        return reply
    }

    private mutating func applyPlan() -> SimulatedSlice? {
        let lastParcel = store.lastParcel
        let slices = store.plan(
            atMost: 1, idsMax: plan.idsMax, parcelMembersMax: plan.parcelMembersMax, knownFormats: Self.formats,
            now: wall)
        for parcel in store.parcels where parcel.id.value > lastParcel { recordNew(parcel) }
        return slices.first
    }

    private mutating func applyVerdicts(_ pending: PendingSettle) {
        let before = pending.verdicts.compactMap { store.registration($0.registration) }
        let suspectRoutes = store.applyVerdicts(pending.verdicts, under: plan.suspicion, now: wall).suspectRoutes
        recordFound(pending.verdicts, before, suspectRoutes: suspectRoutes)
        recordCompared(before)
        for row in before {
            checkRetired(row)
            checkSuspected(row)
        }
    }
}
