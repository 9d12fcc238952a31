import Basis

extension Dispatcher {
    /// Whether submitted pushes of a lease may still go to their lane: they were not taken back, and the lease has not
    /// ended.
    package func maySubmit(_ name: LeaseName) -> Bool {
        runs.place(of: name).map { runs[$0].run.openCount > 0 && !runs[$0].isWithdrawn } ?? false
    }

    /// Counts answers of the lane to pushes of a lease, before the event that reports them and others.
    /// - Returns: the number of such answers so far; nil: no push of the lease waits for one.
    package mutating func noteArrived(_ count: Int, of name: LeaseName) -> Int? {
        guard let place = runs.place(of: name), runs[place].run.openCount > 0 else { return nil }
        runs[place].arrivedCount += count
        return runs[place].arrivedCount
    }

    mutating func noteAnswers(_ lease: AnsweredLease, _ now: MonotonicInstant) {
        // A late answer to a lease that ended is dropped: its parcel is accounted for elsewhere.
        guard let place = runs.place(of: lease.name) else { return }
        let open = runs[place].run.openCount
        for position in lease.accepted { runs[place].run.recordAccepted(Int(position)) }
        for other in lease.others {
            runs[place].run.record(other.outcome, for: Int(other.position), quote: other.quote, now: now)
        }
        noteWaits(lease, place, now)
        if let complaint = lease.complaint { runs[place].run.note(complaint) }
        let returned = open - runs[place].run.openCount
        noteReturned(returned, to: runs[place].lane, leasedAt: runs[place].run.leasedAtMonotonic)
        if runs[place].ratePerSecond != nil {
            if lease.isSent { runs[place].isSent = true }
            noteLess(on: runs[place].lane)
        }
    }

    /// Measures how long the lease's pushes waited for the lane.
    private mutating func noteWaits(_ lease: AnsweredLease, _ place: Int, _ now: MonotonicInstant) {
        guard let key = runs[place].lane else { return }
        let handedBack = lease.others.count { $0.outcome == .unsent(.withdrawn) }
        let lane = lanes.place(of: key)
        let isInTime = now - runs[place].run.leasedAtMonotonic < settings.laneWaitMax / 2
        lanes[lane].hold.noteAnswered(lease.accepted.count + lease.others.count - handedBack, isInTime: isInTime)
        // A parcel in quarantine yields when its window is over.
        guard handedBack > 0, now >= runs[place].noStreamAfter, runs[place].scope != .lapsed else { return }
        runs[place].wasLate = true
        lanes[lane].hold.noteLate(answeredBefore: runs[place].answeredBefore)
    }

    mutating func noteSettled(
        _ name: LeaseName, _ reply: SettleReply, _ now: MonotonicInstant, _ actions: inout [DispatchAction]
    ) {
        guard let place = runs.place(of: name) else { return }
        runs[place].settleAgainAt = nil
        runs[place].verdictsDone = false
        runs[place].settleAt = now + settings.settleEvery
        if runs[place].wasLate { noteWork(of: runs[place].run.parcel, now) }
        switch runs[place].run.concludeSettle(reply) {
        case .goesOn: break
        case .finished: retire(place)
        case .lost: abandon(place, &actions)
        }
    }

    /// Pushes that came back late are ready again. No poll is needed to find them.
    private mutating func noteWork(of parcel: LeasedParcel, _ now: MonotonicInstant) {
        for place in routes.indices where routes[place].ready.route == parcel.route {
            routes[place].noteWork(isUrgent: parcel.urgency == .transactional, now)
        }
    }

    mutating func noteSettleFailed(_ lease: UnsettledLease, _ now: MonotonicInstant) {
        guard let place = runs.place(of: lease.name) else { return }
        if lease.verdictsDone { runs[place].verdictsDone = true }
        if lease.isRefused { runs[place].run.noteSettleRefused() }
        runs[place].settleAgainAt = now + settings.storePause
    }

    mutating func noteRenewed(
        _ name: LeaseName, _ stillLeased: Bool, _ now: MonotonicInstant, _ actions: inout [DispatchAction]
    ) {
        guard let place = runs.place(of: name), let startedAt = runs[place].renewStartedAt else { return }
        runs[place].renewStartedAt = nil
        guard stillLeased else {
            // A settle in flight may have finished the parcel, or will meet the same fence.
            if runs[place].run.settling == nil {
                abandon(place, &actions)
            } else {
                runs[place].renewAt = now + settings.storePause
            }
            return
        }
        runs[place].leaseEnd = startedAt + settings.leaseLength
        runs[place].renewAt = startedAt + settings.leaseLength / 3
    }

    mutating func noteRenewFailed(_ name: LeaseName, _ now: MonotonicInstant) {
        guard let place = runs.place(of: name) else { return }
        runs[place].renewStartedAt = nil
        runs[place].renewAt = now + settings.storePause
    }

    /// Takes back the pushes of every parcel that have no stream yet.
    mutating func withdrawAll(_ actions: inout [DispatchAction]) {
        for place in runs.indices { withdraw(place, &actions) }
    }

    mutating func withdraw(_ place: Int, _ actions: inout [DispatchAction]) {
        guard let lane = runs[place].lane else { return }
        runs[place].isWithdrawn = true
        actions.append(.withdraw(runs[place].name, lane))
    }

    mutating func advance(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        passHealth(now, &actions)
        let due = runs.takeDue(now)
        // Without an answer from the database until the lease's end, the parcel is no longer ours (rule 12).
        for name in due {
            if let place = runs.place(of: name), runs[place].leaseEnd <= now { abandon(place, &actions) }
        }
        for name in due {
            guard let place = runs.place(of: name) else { continue }
            settleIfDue(place, now, &actions)
            renewIfDue(place, now, &actions)
        }
        runs.setAlarms()
        if !isDraining, !isPolling, pollAt <= now {
            isPolling = true
            pollStartedAt = now
            actions.append(.poll)
        }
        updateQuarantine(now, &actions)
        askForPassed()
        leaseWhatCanBeSent(now, &actions)
        if isDraining, !reportedDrained, holdsNothing {
            reportedDrained = true
            actions.append(.drained)
        }
    }

    private mutating func settleIfDue(_ place: Int, _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        let name = runs[place].name
        if let pending = runs[place].run.settling {
            guard let again = runs[place].settleAgainAt, again <= now else { return }
            runs[place].settleAgainAt = nil
            actions.append(.settle(name, pending, withVerdicts: !runs[place].verdictsDone))
            return
        }
        let isComplete = runs[place].run.openCount == 0
        guard runs[place].run.hasChanges, isComplete || runs[place].settleAt <= now else { return }
        guard let pending = runs[place].run.takeSettlement() else { return }
        for alarm in runs[place].run.takeAlarms() {
            actions.append(.alarm(pending.settlement.message, runs[place].lane, alarm))
        }
        actions.append(.settle(name, pending, withVerdicts: true))
    }

    private mutating func renewIfDue(_ place: Int, _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard runs[place].renewStartedAt == nil, runs[place].renewAt <= now else { return }
        runs[place].renewStartedAt = now
        actions.append(.renew(runs[place].name))
    }

    /// Another process owns the parcel, or the lease is over: nothing more is written from here.
    mutating func abandon(_ place: Int, _ actions: inout [DispatchAction]) {
        withdraw(place, &actions)
        retire(place)
    }

    private mutating func retire(_ place: Int) {
        let state = runs.remove(at: place)
        noteReturned(state.run.openCount, to: state.lane, leasedAt: state.run.leasedAtMonotonic)
        if let lane = state.lane { lanes.end(state.run.parcel, state.scope, on: lane) }
        if state.ratePerSecond != nil { noteLess(on: state.lane) }
    }
}
