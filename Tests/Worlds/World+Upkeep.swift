import Basis
import QueueRules

// The upkeep of processes beside their engines, transaction by transaction.
extension SimulatedWorld {
    mutating func runUpkeep(_ index: Int) {
        queue.put(.housekeeping(processes[index].addressee), at: after(.seconds(1) ... .seconds(3)))
        guard !processes[index].isDraining else { return }
        call(.plan, index)
        for upkeep in Upkeep.allCases { notify(upkeep, index) }
        if plan.writes > 0 { fanOut(index) }
        if plan.updates > 0 { pushItems(index) }
        if plan.writes + plan.updates > 0 { call(.endExpired, index) }
    }

    /// Starts a round, one at a time: a notification during a round causes another one afterwards.
    mutating func notify(_ upkeep: Upkeep, _ index: Int) {
        guard !processes[index].isDraining else { return }
        guard processes[index].roundsInFlight.insert(upkeep).inserted else {
            processes[index].notified.insert(upkeep)
            return
        }
        call(.maintain(UpkeepRound(upkeep)), index)
    }

    mutating func receive(_ reply: StoreReply, of round: UpkeepRound, _ index: Int) {
        guard case .maintained(let kept) = reply else { return end(round, hasFailed: true, index) }
        if round.passes > 0, !kept.isFull { judge(.carriedOut) }
        if kept.count > 0, round.step?.makesReady == true { notifyOthers(index) }
        var next = round
        next.advance(kept)
        if next.passes > UpkeepRound.batchesMax { return fail("P8", "\(round.upkeep) does not end") }
        guard next.step != nil else { return end(next, hasFailed: false, index) }
        call(.maintain(next), index)
    }

    private mutating func end(_ round: UpkeepRound, hasFailed: Bool, _ index: Int) {
        let incarnation = processes[index].incarnation
        processes[index].roundsInFlight.remove(round.upkeep)
        // A failed round counts too: some of it may have been done before.
        if round.moved > 0 || hasFailed {
            switch round.upkeep {
            case .fallDue: call(.plan, index)
            case .stops: send(.hint, to: index)
            case .rescue, .confirm: break
            }
        }
        guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
        if processes[index].notified.remove(round.upkeep) != nil { notify(round.upkeep, index) }
    }
}

// One transaction, and its record for the checkers.
extension SimulatedWorld {
    mutating func apply(_ round: UpkeepRound, _ from: Addressee) -> UpkeepReply {
        guard let step = round.step else { return UpkeepReply() }
        let before = store
        let reply = store.maintain(step, plan.upkeepLimits, under: plan.suspicion, now: wall)
        switch step {
        case .rescue: recordRescued(before)
        case .confirm: recordConfirmed(before)
        case .end:
            for (settlement, parcel) in reply.settled {
                incidents.endedUnsent += 1
                noteSettled(settlement, parcel, newParcelsAfter: before.lastParcel)
            }
        case .fallDue, .checkControls, .putOnHold, .release, .liftRates, .forgetStops, .forgetRates: break
        }
        if reply.count > 0 { noteTakenOver(step, from) }
        return reply
    }

    private mutating func recordRescued(_ before: SimulatedStore) {
        for parcel in before.parcels where parcel.lease != nil && store.parcel(parcel.id)?.lease == nil {
            let pairs = parcel.members.indices.filter { !parcel.settled[$0] }
                .map { PushPair(message: parcel.message, registration: parcel.members[$0]) }
            ledger.noteLapse(LeaseName(parcel: parcel.id, epoch: parcel.epoch), pairs)
            let owner = processes.first { $0.id == parcel.lease?.owner && $0.isAlive }
            if let owner { incidents.note(owner.isFrozen ? .lapsedFrozen : .lapsedAlive) }
            if !plan.mayLapse { fail("P4", "a lease expired without a fault") }
        }
    }

    private mutating func recordConfirmed(_ before: SimulatedStore) {
        for suspicion in before.suspicions {
            guard let row = before.registration(suspicion.registration), store.registration(row.id)?.isLive == false
            else {
                continue
            }
            ledger.disturb(row.id)
            checkConfirmed(suspicion, row)
        }
    }
}

// Processes that end in the middle of a round.
extension SimulatedWorld {
    /// Kills the calling process in some worlds: before its call arrives, before the reply does, or with the next call
    /// under way.
    mutating func endAmid(_ call: StoreCall) {
        guard isFaulty, plan.killEvery != nil, plan.stepKills > 0, case .maintain(let round) = call.request,
            let step = round.step.flatMap(StoreStep.init), now >= sparedUntil[step] ?? .zero,
            random.happens(perMille: plan.stepKills), wouldWrite(call)
        else { return }
        sparedUntil[step] = now + .seconds(10)
        queue.put(.ends(call.from), at: after(.zero ... .milliseconds(150)))
    }

    /// Whether the call would change rows. Its process did not send it, or will not receive the reply.
    func wouldWrite(_ call: StoreCall) -> Bool {
        var other = self
        return other.apply(call).hasWritten
    }

    /// Notes that a process ended before its call arrived.
    mutating func noteKilled(before call: StoreCall) {
        guard let step = StoreStep(call.request), wouldWrite(call) else { return }
        incidents.note(.endedBefore, step)
        if case .maintain(let round) = call.request, round.passes > 0 { leave(round, call.from) }
    }

    /// Notes that a process ended before the reply came.
    mutating func noteKilled(behind call: StoreCall, _ reply: StoreReply) {
        guard let step = StoreStep(call.request), reply.hasWritten else { return }
        incidents.note(.endedAfter, step)
        guard case .maintain(var round) = call.request, case .maintained(let kept) = reply, kept.isFull else { return }
        round.advance(kept)
        let next = StoreCall(from: call.from, owner: call.owner, request: .maintain(round))
        if wouldWrite(next) { leave(round, call.from) }
    }

    /// Notes a step left half done.
    private mutating func leave(_ round: UpkeepRound, _ from: Addressee) {
        guard let step = round.step, let name = StoreStep(step) else { return }
        incidents.note(.endedAmid, name)
        leftHalfDone[step] = from
    }

    private mutating func noteTakenOver(_ step: UpkeepStep, _ from: Addressee) {
        guard let left = leftHalfDone[step], left != from else { return }
        leftHalfDone[step] = nil
        incidents.note(.takenOver)
    }
}

extension UpkeepStep {
    fileprivate var makesReady: Bool {
        switch self {
        case .release, .liftRates: true
        case .rescue, .confirm, .fallDue, .checkControls, .putOnHold, .end, .forgetStops, .forgetRates: false
        }
    }
}

extension StoreReply {
    /// Whether the call has changed rows.
    var hasWritten: Bool {
        switch self {
        case .failed, .routes, .demand, .replayed: false
        case .nodeWritten(let raisedAny): raisedAny
        case .fannedOut(let ready): ready != nil
        case .leased(let parcels, _, _): !parcels.isEmpty
        case .verdictsWritten, .senders, .cut: true
        case .renewed(let stillLeased): stillLeased.contains(true)
        case .settled(let replies): replies.contains { $0?.isWritten == true }
        case .planned(let slice): slice != nil
        case .maintained(let kept): kept.count > 0
        }
    }
}

extension SettleReply {
    fileprivate var isWritten: Bool {
        if case .settled = self { true } else { false }
    }
}
