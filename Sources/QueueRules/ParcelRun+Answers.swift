import Basis
import Model

extension ParcelRun {
    /// Records the common answer, kept apart so that it costs one branch per push.
    package mutating func recordAccepted(_ position: Int) {
        guard isOpen.indices.contains(position), isOpen[position] else { return }
        if parcel.members[position].isSampled { sample.answered += 1 }
        if parcel.origin != nil {
            judge(position, .found(on: parcel.route), asOf: parcel.leasedAt)
        } else if parcel.members[position].isSuspected || parcel.members[position].isUnproven {
            judge(position, .cleared, asOf: parcel.leasedAt)
        }
        end(position, TerminalStatus(.accepted), isTried: true)
    }

    /// Records the outcome of the member at `position`. A second outcome for the same member is ignored.
    /// - Parameter quote: the provider's documented reason; empty: there is none.
    package mutating func record(_ outcome: Outcome, for position: Int, quote: String = "", now: MonotonicInstant) {
        guard isOpen.indices.contains(position), isOpen[position] else { return }
        switch outcome {
        case .accepted: recordAccepted(position)
        case .rejected(let rejection): recordRejection(rejection, position, now)
        case .deferred(let after, let reason): postpone(position, after: after, reason, quote: quote, now)
        case .unsent(let fault): recordUnsent(fault, position, now)
        case .unknown: recordUnknown(position, now)
        case .withheld(let reason):
            // An earlier lease may have shown the push with other values of the device.
            let isLost = reason == TerminalReason.nothingToShow && mayHaveBeenShown(position)
            end(
                position,
                isLost
                    ? TerminalStatus(.gaveUp, TerminalReason.answerLost) : TerminalStatus(.suppressed, reason))
        }
    }

    /// Counts a rejection in the route's sample.
    mutating func note(_ position: Int, isSuspicion: Bool) {
        guard parcel.members[position].isSampled else { return }
        sample.answered += 1
        if isSuspicion { sample.suspected += 1 }
    }

    private mutating func recordRejection(_ rejection: Rejection, _ position: Int, _ now: MonotonicInstant) {
        if let origin = parcel.origin, rejection.fault.isAboutToken { return recordRefusedInBoth(origin, position) }
        if rejection.fault == .tokenUnknownHere, triesSibling(rejection, position, now) { return }
        note(position, isSuspicion: rejection.fault.isSuspicion)
        switch rejection.fault {
        case .tokenUnregistered:
            let since = rejection.invalidSince.map { min($0, wall(at: now) + Self.clockSkewMax) }
            judge(position, .unregistered(since: since, reason: rejection.reason), asOf: since ?? parcel.leasedAt)
            end(position, TerminalStatus(.unregistered, rejection.reason), isTried: true)
        case .tokenSuspect, .tokenElsewhere, .tokenUnknownHere:
            // A token that was not tried in the sibling environment may be registered in the wrong one.
            let isBlame =
                rejection.fault == .tokenUnknownHere
                ? !parcel.members[position].mayBeInSibling : rejection.fault == .tokenSuspect
            judge(position, .suspected(reason: rejection.reason), asOf: parcel.leasedAt, isBlame: isBlame)
            end(position, TerminalStatus(.rejected, rejection.reason), isTried: true)
        case .message: end(position, TerminalStatus(.rejected, rejection.reason), isTried: true)
        case .ours:
            let alarm = ParcelAlarm.ourFault(reason: rejection.reason)
            if !alarms.contains(alarm) { alarms.append(alarm) }
            end(position, TerminalStatus(.rejected, rejection.reason), isTried: true)
        case .credential: postpone(position, after: nil, .credentialRefused, quote: rejection.reason, now)
        }
    }

    /// The most by which a provider's clock may be ahead of ours. A later time would outrank registrations still to
    /// come.
    private static let clockSkewMax: Duration = .seconds(60)

    private mutating func recordUnsent(_ fault: TransportFault, _ position: Int, _ now: MonotonicInstant) {
        switch fault {
        case .withdrawn: handBack(position, after: .zero, .handedBack, now)
        case .unreachable, .tlsRefused:
            // The lane is blocked and reports it; the parcel is leased again when the lane can send.
            handBack(position, after: policy.floor, .unreachable, now)
        case .refusedStream, .goAway, .streamReset, .connectionLost, .deadlinePassed, .protocolViolation:
            let pause = policy.wait(afterAttempt: Int(parcel.attempt) + 1, entropy: entropy)
            wait(position, for: pause, .notSent, cost: pause, countsAsAttempt: true, now)
        }
    }

    private mutating func recordUnknown(_ position: Int, _ now: MonotonicInstant) {
        guard isRepeatable else {
            end(position, TerminalStatus(.gaveUp, TerminalReason.answerLost), isTried: true)
            return
        }
        let pause = policy.wait(afterAttempt: Int(parcel.attempt) + 1, entropy: entropy)
        wait(position, for: pause, .answerLost, cost: pause, countsAsAttempt: true, now)
    }

    private mutating func postpone(
        _ position: Int, after: Duration?, _ reason: DeferralReason, quote: String, _ now: MonotonicInstant
    ) {
        let (attempt, asked) = (Int(parcel.attempt) + 1, after ?? .zero)
        let backoff = policy.wait(afterAttempt: attempt, asked: asked, entropy: entropy)
        switch reason {
        case .deviceThrottled, .providerBusy, .providerUnavailable, .laneThrottled:
            let cost = policy.cost(of: backoff, afterAttempt: attempt, asked: asked)
            wait(position, for: backoff, WaitCause(reason), quote: quote, cost: cost, countsAsAttempt: true, now)
        case .providerTokenExpired:
            // The fault is ours, not the push's. But a repair that does not help must not be tried every second.
            wait(position, for: backoff, WaitCause(reason), quote: quote, cost: .zero, countsAsAttempt: true, now)
        case .laneBlocked:
            let pause = after ?? policy.floor
            wait(position, for: pause, WaitCause(reason), cost: .zero, countsAsAttempt: false, now)
        case .credentialRefused:
            let pause = after ?? policy.credentialPause
            wait(position, for: pause, WaitCause(reason), quote: quote, cost: .zero, countsAsAttempt: false, now)
        }
    }

    /// Hands back a member whose message can't be read now. It waits, because an immediate retry would fail in the same
    /// way.
    mutating func handBackUnread(_ position: Int, _ now: MonotonicInstant) {
        guard isOpen.indices.contains(position), isOpen[position] else { return }
        handBack(position, after: policy.floor, .handedBack, now)
    }

    /// Hands back a member that was not tried: it goes on as it came, with its expired leases.
    private mutating func handBack(
        _ position: Int, after pause: Duration, _ cause: WaitCause, _ now: MonotonicInstant
    ) {
        let pause = RetryPolicy.wholeSeconds(pause)
        if wall(at: now) + pause >= parcel.expiresAt { return endExpired(position) }
        if let origin = parcel.origin, wall(at: now) + pause >= origin.until {
            return giveUpInSibling(origin, position, isTried: false, isLost: mayHaveBeenShown(position))
        }
        goOn(
            position, route: parcel.route, dueAfter: pause, attempt: parcel.attempt, lapses: lapses(of: position),
            spent: parcel.retrySpent, answerLost: mayHaveBeenShown(position), cause: cause, origin: parcel.origin)
    }

    var entropy: UInt64 {
        UInt64(bitPattern: parcel.id.value) &* 0x9e37_79b9_7f4a_7c15 &+ UInt64(UInt16(bitPattern: parcel.attempt))
    }

    /// Moves a member to a later parcel, unless its lifetime or its retry budget ends before.
    /// - Parameter cost: the part of the pause that we chose. If there is none, the attempt's own time costs nothing
    ///   either.
    private mutating func wait(
        _ position: Int, for pause: Duration, _ cause: WaitCause, quote: String = "", cost: Duration,
        countsAsAttempt: Bool, _ now: MonotonicInstant
    ) {
        let isLost = cause == .answerLost || mayHaveBeenShown(position)
        let pause = RetryPolicy.wholeSeconds(pause)
        if wall(at: now) + pause >= parcel.expiresAt {
            let terminalStatus =
                isLost
                ? TerminalStatus(.gaveUp, TerminalReason.answerLost) : TerminalStatus(.expired, TerminalReason.expired)
            end(position, terminalStatus, isTried: countsAsAttempt)
            return
        }
        if let origin = parcel.origin, wall(at: now) + pause >= origin.until {
            return giveUpInSibling(origin, position, isTried: countsAsAttempt, isLost: isLost)
        }
        let taken = RetryPolicy.wholeSeconds(now - leasedAtMonotonic)
        let spent = cost > .zero ? parcel.retrySpent + cost + taken : parcel.retrySpent
        if spent > policy.budget {
            let reason = isLost ? TerminalReason.answerLost : TerminalReason.retriesExhausted
            end(position, TerminalStatus(.gaveUp, reason), isTried: countsAsAttempt)
            return
        }
        let attempt = countsAsAttempt ? nextAttempt : parcel.attempt
        goOn(
            position, route: parcel.route, dueAfter: pause, attempt: attempt, lapses: 0, spent: spent,
            answerLost: isLost, cause: cause, quote: quote, origin: parcel.origin)
    }

    mutating func handOver(_ position: Int, to route: RouteID) {
        goOn(
            position, route: route, dueAfter: .zero, attempt: parcel.attempt, lapses: lapses(of: position),
            spent: parcel.retrySpent, answerLost: mayHaveBeenShown(position), cause: .moved, origin: nil)
    }

    /// The member's expired leases: those of its parcel, unless none of these leases was free to send to it.
    private func lapses(of position: Int) -> Int16 { wasNeverSent(position) ? 0 : lapsesGoingOn }

    /// A member that leaves a parcel of several is tried once more in quarantine: another member may have crashed the
    /// owners.
    var lapsesGoingOn: Int16 {
        parcel.members.count > 1 ? min(parcel.lapses, PoisonRule.bisectedFrom - 1) : parcel.lapses
    }

    var nextAttempt: Int16 { min(parcel.attempt, Int16.max - 1) + 1 }

    mutating func goOn(
        _ position: Int, route: RouteID, dueAfter: Duration, dueAt: WallInstant? = nil, attempt: Int16, lapses: Int16,
        spent: Duration, answerLost: Bool, cause: WaitCause, quote: String = "", origin: OriginRejection?,
        isCounted: Bool = true
    ) {
        if stop == .cancelled {
            let terminalStatus = TerminalStatus.unsent(isCancelled: true, mayHaveBeenShown: answerLost)
            return end(position, terminalStatus, isTried: attempt > parcel.attempt)
        }
        let key = Remainder(
            route: route, dueAfter: dueAfter, dueAt: dueAt, attempt: attempt, lapses: lapses, retrySpent: spent,
            answerLost: answerLost, cause: cause, quote: quote, origin: origin, isCounted: isCounted)
        remainders.add(parcel.members[position].registration, to: key)
        close(position)
    }

    mutating func endExpired(_ position: Int) {
        let terminalStatus =
            mayHaveBeenShown(position)
            ? TerminalStatus(.gaveUp, TerminalReason.answerLost) : TerminalStatus(.expired, TerminalReason.expired)
        end(position, terminalStatus)
    }

    mutating func end(_ position: Int, _ terminalStatus: TerminalStatus, isTried: Bool = false) {
        terminalCounts.add(terminalStatus)
        ended.add(position, terminalStatus, attempts: isTried ? nextAttempt : parcel.attempt)
        if terminalStatus.isUnshown, isCounted(position), !mayHaveBeenShown(position) {
            takenBack.append(parcel.members[position].registration)
        }
        close(position)
    }

    /// Whether this lease or an earlier one incremented the member's badge.
    private func isCounted(_ position: Int) -> Bool {
        parcel.countsBadges && parcel.members[position].status != .deleted
            && !(parcel.uncounted.indices.contains(position) && parcel.uncounted[position])
    }

    private mutating func close(_ position: Int) {
        precondition(isOpen[position], "a member reaches a terminal state only once")
        isOpen[position] = false
        openCount -= 1
        hasChanges = true
        let index = Int(parcel.members[position].index)
        settledBits[index >> 3] |= 1 << UInt8(index & 7)
    }

    mutating func judge(_ position: Int, _ verdict: TokenVerdict, asOf: WallInstant, isBlame: Bool = false) {
        let member = parcel.members[position]
        verdicts.append(
            GuardedVerdict(
                registration: member.registration, generation: member.generation,
                route: parcel.origin?.route ?? parcel.route, verdict: verdict, asOf: asOf, isBlame: isBlame))
    }

    package mutating func takeAlarms() -> [ParcelAlarm] {
        defer { alarms = [] }
        return alarms
    }
}

extension WaitCause {
    fileprivate init(_ reason: DeferralReason) {
        self =
            switch reason {
            case .deviceThrottled: .deviceThrottled
            case .providerBusy, .providerUnavailable: .providerBusy
            case .laneThrottled: .providerThrottled
            case .credentialRefused: .credentialRefused
            case .providerTokenExpired: .providerTokenExpired
            case .laneBlocked: .laneBlocked
            }
    }
}
