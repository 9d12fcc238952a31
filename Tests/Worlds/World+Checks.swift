import Basis
import Encodings
import Model
import QueueRules

// The promises, held against every commit and every stream.
extension SimulatedWorld {
    mutating func recordNew(_ parcel: ParcelRow) {
        checkHour(of: parcel)
        for member in parcel.members {
            let pair = PushPair(message: parcel.message, registration: member)
            if let wrong = ledger.freeze(pair) { fail("P2", wrong) }
        }
    }

    /// A lease: badges change on the first, and what is handed out is what stands.
    mutating func noteLeased(_ parcel: LeasedParcel) {
        guard let message = store.message(parcel.message) else { return fail("P1", "a parcel without its message") }
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
                // Nobody's badge yet, unless it was raised before; of who is no registration, nobody's ever.
                if store.inlineTarget(member.registration) != nil { continue }
            } else if parcel.leasedAt < parcel.expiresAt {
                ledger.raiseBadge(pair, message.badge)
            } else if store.inlineTarget(member.registration) != nil {
                // Nobody's badge, of a push that is not sent.
                continue
            }
            let badge = ledger.badge(of: member.registration)
            judge(.badgeSent)
            if member.badge != badge {
                fail("P3", "badge \(member.badge) would be sent where \(badge) is due")
            }
        }
    }

    /// A settle: each member that was open and is not any more either ended, or goes on in one of the new parcels.
    mutating func noteSettled(_ settlement: Settlement, _ before: ParcelRow, newParcelsAfter last: Int64) {
        let goingOn = store.parcels.filter { $0.id.value > last }.flatMap(\.members)
        var closed: [RegistrationID] = []
        for index in before.members.indices where !before.settled[index] {
            guard settlement.settledBits[index >> 3] & (1 << UInt8(index & 7)) != 0 else { continue }
            closed.append(before.members[index])
        }
        guard Set(goingOn).count == goingOn.count, Set(goingOn).isSubset(of: Set(closed)) else {
            return fail("P2", "a remainder names a member twice, or one that is not its own")
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
            fail("P2", "\(ended.count) members ended, the endings say otherwise")
        }
        let name = LeaseName(parcel: settlement.parcel, epoch: settlement.epoch)
        let terminalCounts = settlement.terminalStatusOfMembers
        for member in closed { checkClosed(member, as: terminalCounts[member], name, before) }
        for member in ended {
            guard let terminalStatus = terminalCounts[member] else {
                return fail("P2", "the history does not say how a member ended")
            }
            if let wrong = ledger.end(PushPair(message: before.message, registration: member), terminalStatus) {
                fail("P2", wrong)
            }
        }
        if let sum = store.brokenSum { fail("P2", sum) }
        recordInSibling(settlement, before)
    }

    /// No stream opens for a parcel that somebody else may hold.
    mutating func checkFence(_ push: WirePush) {
        checkNotStopped(push)
        checkHour(of: push)
        checkRate(of: push)
        judge(.fence)
        // A clock that was set forward ends a lease before its time, and no owner can know.
        let isCutShort = plan.clockStepEvery != nil && ledger.promisedUntil(push.lease) > now
        let parcel = store.parcel(push.lease.parcel)
        guard let parcel, parcel.epoch == push.lease.epoch, let lease = parcel.lease, lease.until > wall else {
            if !isCutShort { fail("P4", "a stream opens for a parcel whose lease is over") }
            return
        }
        checkLatency(push, parcel)
        // Five seconds are more than the worst clock goes wrong by within a lease.
        let lateness: Duration = plan.clockStepEvery == nil ? .seconds(5) : .seconds(50)
        // Only what has not long to live can be late.
        if parcel.expiresAt < databaseWall(at: plan.faultsEnd) { judge(.expiredUnsent) }
        if wall > parcel.expiresAt + lateness { fail("P2", "a push is sent that has expired") }
        if answerLedger.finding(push.lease, push.registration).status.isExcluded {
            fail("P2", "a push is sent to a device that its audience no longer includes")
        }
        if ledger[PushPair(message: push.message, registration: push.registration)]?.isEnded != false {
            fail("P4", "a push is sent that has ended")
        }
    }

    /// What lapsed often travels alone: with a push that ends its process nothing else may lapse (rule 10).
    mutating func checkQuarantine(_ index: Int) {
        let leases = processes[index].leases
        if leases.contains(where: { $0.parcel.lapses >= PoisonRule.quarantineFrom }) { judge(.quarantine) }
        guard leases.count > 1 else { return }
        // It has an hour only once it was handed to its lane.
        let travelling = leases.filter { $0.until != nil && $0.parcel.lapses >= PoisonRule.quarantineFrom }
        if !travelling.isEmpty { fail("P2", "a parcel that lapsed twice travels beside others") }
    }

    mutating func checkRetired(_ before: RegistrationRow) {
        guard before.isLive, let after = store.registration(before.id), !after.isLive else { return }
        judge(.retired)
        ledger.disturb(before.id)
        let token = providers[before.stored.provider, before.stored.token]
        if !token.unregisteredReported.contains(where: { $0 >= before.registeredAt }) {
            fail("P5", "a token was retired that no answer called dead since it was registered")
        }
    }

    /// Never for a message, a credential, a project or an access token.
    mutating func checkSuspected(_ before: RegistrationRow) {
        guard let after = store.registration(before.id), after.stored.state == .suspected,
            before.stored.state == .active
        else { return }
        judge(.suspected)
        let token = providers[before.stored.provider, before.stored.token]
        if !token.suspicionReported.contains(where: { $0 >= before.registeredAt }) {
            fail("P5", "a token is suspected that no answer doubted since it was registered")
        }
    }

    /// A doubt was confirmed: the token was bad, or at least its route was not full of doubts, and where it took long to
    /// hear enough answers the token was doubted again.
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
            fail("P5", "a token was retired in a wave of doubts: \(sample.suspected) of \(sample.answered) answers")
        }
        if sample.answered >= rule.sampleMin { return }
        let all = ledger.sample(on: suspicion.route, within: first...wall)
        if all.answered < rule.sampleMin || Double(all.suspected) > rule.shareMax * Double(all.answered) {
            fail("P5", "a token was retired on a poor sample: \(all.suspected) of \(all.answered) answers")
        }
        if suspicion.repeatedAt == nil { fail("P5", "a token was retired on one doubt among few answers") }
    }

    mutating func checkBounds(_ index: Int) {
        let process = processes[index]
        if !process.leases.isEmpty { judge(.inFlight) }
        let inFlight = process.leases.reduce(0) { $0 + ($1.lane == nil ? 0 : $1.parcel.members.count) }
        if process.dispatcher.membersInFlight != inFlight {
            fail("P8", "\(process.dispatcher.membersInFlight) members are said to be in flight, \(inFlight) are")
        }
        if process.dispatcher.runningLeases.count != process.leases.count {
            fail("P8", "the dispatcher and its shell hold different leases")
        }
        // What is on its way when the bound is reached comes on top.
        let ofOneCall = max(plan.parcelMembersMax, quantaMax, plan.settings.leaseGroup.membersMax)
        // A call for what is urgent adds to a bound of its own.
        let bound =
            plan.settings.membersMax + plan.settings.membersReserve + plan.settings.urgentMax
            + 2 * plan.settings.leasesMax * ofOneCall
        if inFlight > bound { fail("P8", "\(inFlight) members in flight, at most \(bound) may be") }
        // Of lanes, each that holds nothing gets something all the same; and what is urgent has a member at least.
        let calls = plan.settings.leasesMax * (2 + process.lanes.count)
        let parcelsBound =
            plan.settings.parcelsMax + plan.settings.urgentMax + calls * plan.settings.leaseGroup.parcelsMax
        let parcels = process.leases.count { $0.lane != nil }
        if parcels > parcelsBound { fail("P8", "\(parcels) parcels in hand, at most \(parcelsBound) may be") }
        if process.ticksWithoutTime > 100 { fail("P8", "the dispatcher spins") }
    }
}

extension Settlement {
    /// Looked up, never walked.
    fileprivate var terminalStatusOfMembers: [RegistrationID: TerminalStatus] {
        var terminalCounts: [RegistrationID: TerminalStatus] = [:]
        for entry in history {
            guard case .ended(let terminalStatus) = entry.event else { continue }
            for member in entry.members { terminalCounts[member] = terminalStatus }
        }
        return terminalCounts
    }
}
