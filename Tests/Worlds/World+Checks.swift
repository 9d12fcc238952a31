import Basis
import Encodings
import Model
import QueueRules

// The promises, checked at every commit and every stream.
extension SimulatedWorld {
    mutating func recordNew(_ parcel: ParcelRow) {
        checkHour(of: parcel)
        for member in parcel.members {
            let pair = PushPair(message: parcel.message, registration: member)
            if let wrong = ledger.freeze(pair) { fail("P2", wrong) }
        }
    }

    /// Checks a lease. The first one changes the badges, and the members carry the badges that the registry has.
    mutating func noteLeased(_ parcel: LeasedParcel) {
        guard let message = store.message(parcel.message) else { return fail("P1", "a parcel has no message") }
        checkSpared(parcel, message)
        checkAudience(parcel, message)
        for (place, member) in parcel.members.enumerated()
        where parcel.leasedAt < parcel.expiresAt && (parcel.deferrals.isEmpty || parcel.deferrals[place] == .none) {
            ledger.free(PushPair(message: parcel.message, registration: member.registration))
        }
        let isLimited = hasLimits(message)
        for (place, member) in parcel.members.enumerated() {
            guard member.status != .deleted, message.badge != .none else { continue }
            let pair = PushPair(message: parcel.message, registration: member.registration)
            let isHeld = !parcel.deferrals.isEmpty && parcel.deferrals[place] != .none
            if isHeld || member.status.isExcluded || isLimited && member.status == .retired {
                // No badge is due yet, unless an earlier lease raised it. Inline targets never have one.
                if store.inlineTarget(member.registration) != nil { continue }
            } else if parcel.leasedAt < parcel.expiresAt {
                ledger.raiseBadge(pair, message.badge)
            } else if store.inlineTarget(member.registration) != nil {
                // An expired push to an inline target is not sent, so no badge is due.
                continue
            }
            let badge = ledger.badge(of: member.registration)
            judge(.badgeSent)
            if member.badge != badge {
                fail("P3", "badge \(member.badge) would be sent instead of \(badge)")
            }
        }
    }

    /// Checks a settle: each member that it closed either ended, or goes on in one of the new parcels.
    mutating func noteSettled(_ settlement: Settlement, _ before: ParcelRow, newParcelsAfter last: Int64) {
        let goingOn = store.parcels.filter { $0.id.value > last }.flatMap(\.members)
        var closed: [RegistrationID] = []
        for index in before.members.indices where !before.settled[index] {
            guard settlement.settledBits[index >> 3] & (1 << UInt8(index & 7)) != 0 else { continue }
            closed.append(before.members[index])
        }
        guard Set(goingOn).count == goingOn.count, Set(goingOn).isSubset(of: Set(closed)) else {
            return fail("P2", "a remainder names a member twice, or a member of another parcel")
        }
        for remainder in settlement.remainders where remainder.route != before.route {
            incidents.handOvers += 1
            switch (store.route(before.route)?.provider, store.route(remainder.route)?.provider) {
            case (.apns, .fcm): incidents.handOversToFCM += 1
            case (.fcm, .apns): incidents.handOversToAPNs += 1
            default: break
            }
        }
        judge(.closed)
        let ended = closed.filter { !goingOn.contains($0) }
        if settlement.terminalCounts.reduce(0, { $0 + $1.count }) != ended.count {
            fail("P2", "\(ended.count) members ended, but their terminal states have another sum")
        }
        let name = LeaseName(parcel: settlement.parcel, epoch: settlement.epoch)
        let terminalCounts = settlement.terminalStatusOfMembers
        for member in closed { checkClosed(member, as: terminalCounts[member], name, before) }
        for member in ended {
            guard let terminalStatus = terminalCounts[member] else {
                return fail("P2", "the history lacks the terminal state of a member")
            }
            if let wrong = ledger.end(PushPair(message: before.message, registration: member), terminalStatus) {
                fail("P2", wrong)
            }
        }
        for member in settlement.takenBack {
            let pair = PushPair(message: before.message, registration: member)
            if let wrong = ledger.takeBack(pair) { fail("P3", wrong) }
        }
        if let sum = store.brokenSum { fail("P2", sum) }
        recordInSibling(settlement, before)
    }

    /// Checks that no stream opens for a parcel that another owner may hold.
    mutating func checkFence(_ push: WirePush) {
        checkNotStopped(push)
        checkHour(of: push)
        checkRate(of: push)
        checkConditions(of: push)
        judge(.fence)
        // A clock set forward ends a lease before its time, and no owner can know.
        let isCutShort = plan.clockStepEvery != nil && ledger.promisedUntil(push.lease) > now
        let parcel = store.parcel(push.lease.parcel)
        guard let parcel, parcel.epoch == push.lease.epoch, let lease = parcel.lease, lease.until > wall else {
            if !isCutShort { fail("P4", "a stream opens for a parcel whose lease is over") }
            return
        }
        checkLatency(push, parcel)
        // Five seconds are more than the worst clock drifts within a lease.
        let lateness: Duration = plan.clockStepEvery == nil ? .seconds(5) : .seconds(50)
        // Only a push that expires before the faults end can be late.
        if parcel.expiresAt < databaseWall(at: plan.faultsEnd) { judge(.expiredUnsent) }
        if wall > parcel.expiresAt + lateness { fail("P2", "an expired push is sent") }
        if answerLedger.finding(push.lease, push.registration).status.isExcluded {
            fail("P2", "a push is sent to a device that its audience no longer includes")
        }
        if ledger[PushPair(message: push.message, registration: push.registration)]?.isEnded != false {
            fail("P4", "a push is sent after it ended")
        }
    }

    /// Checks that a parcel in quarantine is leased alone: when its push ends the process, no other lease may expire
    /// (rule 10).
    mutating func checkQuarantine(_ index: Int) {
        let leases = processes[index].leases
        if leases.contains(where: { $0.parcel.lapses >= PoisonRule.quarantineFrom }) { judge(.quarantine) }
        guard leases.count > 1 else { return }
        // `until` is set when the parcel is handed to its lane.
        let travelling = leases.filter { $0.until != nil && $0.parcel.lapses >= PoisonRule.quarantineFrom }
        if !travelling.isEmpty { fail("P2", "a parcel whose lease expired twice is not leased alone") }
    }

    mutating func checkRetired(_ before: RegistrationRow) {
        guard before.isLive, let after = store.registration(before.id), !after.isLive else { return }
        judge(.retired)
        ledger.disturb(before.id)
        let token = providers[before.stored.provider, before.stored.token]
        // Only subscriptions named it, and it never took a push: the second blame is enough.
        let blames = token.suspicionReported.count { $0 >= before.registeredAt }
        if before.isUnproven, before.blamedAt != nil, blames >= 2 { return }
        if !token.unregisteredReported.contains(where: { $0 >= before.registeredAt }) {
            fail("P5", "a token was retired although no answer since its registration called it dead")
        }
    }

    /// Checks that a token is suspected only for an answer about it, not about a message, a credential, a project or an
    /// access token.
    mutating func checkSuspected(_ before: RegistrationRow) {
        guard let after = store.registration(before.id), after.stored.state == .suspected,
            before.stored.state == .active
        else { return }
        judge(.suspected)
        let token = providers[before.stored.provider, before.stored.token]
        if !token.suspicionReported.contains(where: { $0 >= before.registeredAt }) {
            fail("P5", "a token is suspected although no answer since its registration cast suspicion on it")
        }
    }

    /// Checks a confirmed suspicion. Either the token was bad, or its route was not full of suspicions. Where the
    /// sample took long to fill, the token must have been suspected again.
    mutating func checkConfirmed(_ suspicion: SuspicionRow, _ row: RegistrationRow) {
        let token = providers[row.stored.provider, row.stored.token]
        guard token.flaw == nil, token.environment == store.route(suspicion.route)?.environment else { return }
        judge(.confirmed)
        let first = suspicion.suspectedAt.minute
        // Up to the end of the window's last minute.
        let window = first...(first + plan.suspicion.window).minute + .seconds(60)
        let sample = ledger.sample(on: suspicion.route, within: window)
        let rule = plan.suspicion
        if Double(sample.suspected) > rule.shareMax * Double(max(sample.answered, rule.sampleMin)) {
            fail("P5", "a token was retired in a wave of suspicions: \(sample.suspected) of \(sample.answered) answers")
        }
        if sample.answered >= rule.sampleMin { return }
        let all = ledger.sample(on: suspicion.route, within: first...wall)
        if all.answered < rule.sampleMin || Double(all.suspected) > rule.shareMax * Double(all.answered) {
            fail("P5", "a token was retired by a poor sample: \(all.suspected) of \(all.answered) answers")
        }
        if suspicion.repeatedAt == nil { fail("P5", "a token was retired by one suspicion among few answers") }
    }

    mutating func checkBounds(_ index: Int) {
        let process = processes[index]
        if !process.leases.isEmpty { judge(.inFlight) }
        let inFlight = process.leases.reduce(0) { $0 + ($1.lane == nil ? 0 : $1.parcel.members.count) }
        if process.dispatcher.membersInFlight != inFlight {
            fail(
                "P8",
                "the dispatcher counts \(process.dispatcher.membersInFlight) members in flight, but \(inFlight) are")
        }
        if process.dispatcher.runningLeases.count != process.leases.count {
            fail("P8", "the dispatcher and its shell hold different leases")
        }
        // Members of calls that are under way when the bound is reached come on top.
        let ofOneCall = max(plan.parcelMembersMax, quantaMax, plan.settings.leaseGroup.membersMax)
        // A call for urgent parcels adds to a bound of its own.
        let bound =
            plan.settings.membersMax + plan.settings.membersReserve + plan.settings.urgentMax
            + 2 * plan.settings.leasesMax * ofOneCall
        if inFlight > bound { fail("P8", "\(inFlight) members are in flight; the limit is \(bound)") }
        // A lane that holds nothing may lease beyond the bound. An urgent parcel has at least one member, so
        // `urgentMax` bounds parcels too.
        let calls = plan.settings.leasesMax * (2 + process.lanes.count)
        let parcelsBound =
            plan.settings.parcelsMax + plan.settings.urgentMax + calls * plan.settings.leaseGroup.parcelsMax
        let parcels = process.leases.count { $0.lane != nil }
        if parcels > parcelsBound { fail("P8", "\(parcels) parcels are leased; the limit is \(parcelsBound)") }
        if process.ticksWithoutTime > 100 { fail("P8", "the dispatcher wakes again and again without waiting") }
    }
}

extension Settlement {
    /// The terminal status of each ended member. Never iterated.
    fileprivate var terminalStatusOfMembers: [RegistrationID: TerminalStatus] {
        var terminalCounts: [RegistrationID: TerminalStatus] = [:]
        for entry in history {
            guard case .ended(let terminalStatus) = entry.event else { continue }
            for member in entry.members { terminalCounts[member] = terminalStatus }
        }
        return terminalCounts
    }
}
