import Basis
import Encodings
import Model
import QueueRules

// The promises, checked when everything is over.
extension SimulatedWorld {
    mutating func checkTheEnd() {
        if let sum = store.brokenSum { fail("P2", sum) }
        for message in store.messages { checkAccount(message) }
        for pair in ledger.pairs {
            checkPair(pair)
            checkShown(pair)
        }
        checkSubscriptions()
        checkItems()
        checkBadges()
        checkDeadAreRetired()
        checkFoundAreRemembered()
        for index in processes.indices { checkNothingIsLeased(index) }
    }

    private mutating func checkAccount(_ message: MessageRow) {
        guard let account = store.account(message.id) else { return }
        let frozen = ledger.pairs.filter { $0.message == message.id }
        let ended = account.outcomes.reduce(0, +)
        let nobodys = message.reasons.filter {
            [TerminalReason.unknownDevice, TerminalReason.unknownUser, TerminalReason.noRegistrationOfKind].contains(
                $0.terminalStatus.reason)
        }
        let unknown = nobodys.reduce(0) { $0 + $1.count }
        let retired = Int64(ended) - unknown - Int64(frozen.count)
        if account.audience != ended || account.pending != 0 || retired < 0 {
            fail("P2", "the audience is \(account.audience ?? -1), but \(ended) ended and \(frozen.count) were planned")
        }
        if frozen.contains(where: { ledger[$0]?.isEnded != true }) { fail("P2", "a member never ended") }
        checkProviders(message, account, frozen, retired: retired)
        checkHistory(message, frozen)
        checkReach(message, frozen)
        checkPoison(message, frozen)
        checkTooLate(message)
    }

    /// Checks each provider's sum against the history of its routes.
    private mutating func checkProviders(
        _ message: MessageRow, _ account: MessageAccount, _ frozen: [PushPair], retired: Int64
    ) {
        let all = account.providers.reduce(0) { $0 + $1.members }
        let known = retired + Int64(frozen.count)
        if all != known { fail("P2", "the accounts by provider have \(all) of \(known) members") }
        for provider in [Provider.apns, .fcm] {
            var recorded = [Int64](repeating: 0, count: TerminalState.allCases.count)
            for row in store.history where row.message == message.id && store.route(row.route)?.provider == provider {
                guard case .ended(let terminalStatus) = row.entry.event else { continue }
                recorded[Int(terminalStatus.state.rawValue) - 1] += Int64(row.entry.members.count)
            }
            let own = account.providers.first { $0.provider == provider }?.outcomes ?? recorded.map { _ in 0 }
            if own != recorded { fail("P2", "\(provider) has \(own) in the account and \(recorded) in the history") }
            let accepted = frozen.count { pair in
                providers.seen(pair).contains { $0.push.provider == provider && $0.answer.kind.isAccepted }
            }
            if own[0] > accepted { fail("P2", "the account has more accepted pushes than \(provider) accepted") }
        }
        judge(.account)
        let silent =
            message.reasons.first { $0.terminalStatus == TerminalStatus(.rejected, "nothing_to_show") }?.count ?? 0
        if silent > frozen.count(where: { ledger.refusedHere.contains($0) }) {
            fail("P2", "a push ended as empty although its provider has a form of it")
        }
    }

    /// Checks that each push has one terminal state in the history. The sums must be those of the message and, for
    /// known devices, of the providers.
    private mutating func checkHistory(_ message: MessageRow, _ frozen: [PushPair]) {
        var recorded: [RegistrationID: Int] = [:]
        var terminalCounts = [Int64](repeating: 0, count: TerminalState.allCases.count)
        var nobodys = terminalCounts
        var attempts: [RegistrationID: Int16] = [:]
        for row in store.history where row.message == message.id {
            if row.parcel.value == 0, case .ended(let terminalStatus) = row.entry.event {
                let count = Int64(row.entry.members.count)
                terminalCounts[Int(terminalStatus.state.rawValue) - 1] += count
                if row.route.value == 0 { nobodys[Int(terminalStatus.state.rawValue) - 1] += count }
                continue
            }
            for member in row.entry.members {
                if row.entry.attempts < attempts[member, default: 0] { fail("P2", "attempts decrease in the history") }
                attempts[member] = row.entry.attempts
                guard case .ended(let terminalStatus) = row.entry.event else { continue }
                recorded[member, default: 0] += 1
                if terminalStatus == TerminalStatus(.gaveUp, TerminalReason.answerLost),
                    !ledger.wasFree(PushPair(message: message.id, registration: member))
                {
                    fail("P2", "a push is recorded as lost although no lease could send it")
                }
                terminalCounts[Int(terminalStatus.state.rawValue) - 1] += 1
            }
        }
        for pair in frozen where recorded[pair.registration] != 1 {
            fail("P2", "the history has \(recorded[pair.registration] ?? 0) terminal states of one push")
        }
        let expected = message.counts.indices.map { state in
            message.providers.reduce(nobodys[state]) { $0 + $1.counts[state] }
        }
        checkReasons(message)
        if terminalCounts != message.counts {
            fail("P2", "the history has \(terminalCounts), the message has \(message.counts)")
        }
        if terminalCounts != expected {
            fail("P2", "the history has \(terminalCounts), the providers have \(expected)")
        }
    }

    /// Checks that the account counts each reason as often as the history does.
    private mutating func checkReasons(_ message: MessageRow) {
        var recorded: [TerminalStatus: Int64] = [:]  // lookup only
        for row in store.history where row.message == message.id {
            guard case .ended(let terminalStatus) = row.entry.event, terminalStatus != TerminalStatus(.accepted) else {
                continue
            }
            recorded[terminalStatus, default: 0] += Int64(row.entry.members.count)
        }
        let isSame =
            message.reasons.allSatisfy { recorded[$0.terminalStatus] == $0.count }
            && recorded.count == message.reasons.count
        if !isSame { fail("P2", "the reasons in the account and in the history differ") }
    }

    /// Checks that only poisonous pushes are given up as poison, where nothing else ends a process.
    private mutating func checkPoison(_ message: MessageRow, _ frozen: [PushPair]) {
        let given =
            message.reasons.first { $0.terminalStatus == TerminalStatus(.gaveUp, TerminalReason.poison) }?.count ?? 0
        let guilty = frozen.filter { poisonous.contains($0.registration) }.count
        if plan.onlyPoisonLapses, guilty > 0 { judge(.poison) }
        if plan.onlyPoisonLapses, given > guilty {
            fail("P2", "\(given) pushes were given up as poison, but \(guilty) are poisonous")
        }
    }

    /// Checks that each undisturbed registration that was never refused got its push.
    private mutating func checkReach(_ message: MessageRow, _ frozen: [PushPair]) {
        let missed = frozen.filter { pair in
            let seen = providers.seen(pair)
            guard !ledger.disturbed.contains(pair.registration), !ledger.refusedHere.contains(pair),
                !hasLeft(pair, message), !seen.contains(where: { $0.answer.kind.isRefusal })
            else { return false }
            return !seen.contains { $0.answer.kind.isAccepted }
        }
        if !missed.isEmpty { judge(.reached) }
        let poisoned = missed.filter { ledger.lapses[$0, default: 0] >= Int(PoisonRule.givenUpFrom) }
        // Each of these terminal states was checked against its reason when it was settled.
        let excuses: [TerminalState] = [.expired, .gaveUp, .cancelled, .suppressed]
        for pair in missed where !answerLedger.isContradicted(pair) {
            guard let state = ledger[pair]?.terminalStatus?.state, !excuses.contains(state) else { continue }
            fail("P1", "a push was not shown, and is recorded as \(state.name)")
        }
        guard plan.everyoneIsReached, forms[message.id]?.content.isSeenTwice == false else { return }
        judge(.everybody)
        if missed.count > poisoned.count {
            fail("P1", "\(missed.count - poisoned.count) devices were not reached without an allowed cause")
        }
    }

    /// Whether the subscription ended before its push was sent. Each such end was checked when it was settled.
    private func hasLeft(_ pair: PushPair, _ message: MessageRow) -> Bool {
        message.audienceWanted.isOfSubscriptions
            && ledger[pair]?.terminalStatus?.reason == TerminalReason.audienceChanged
    }

    private mutating func checkPair(_ pair: PushPair) {
        let seen = providers.seen(pair)
        let id = PushIdentity.apnsID(message: pair.message, registration: pair.registration)
        if seen.count > 1 { judge(.name) }
        if seen.contains(where: { $0.push.apnsID != id }) { fail("P4", "one push has two apns-ids") }
        for (earlier, later) in zip(seen, seen.dropFirst()) {
            let isExcused =
                providers.isAnswerLost(earlier.push) || ledger.hasLapsed(earlier.push.lease)
                || isCutShort(later.push.lease)
            let asked = answerLedger.answers(earlier.push.lease, pair.registration).pauseAsked(earlier.answer)
            if asked != nil, !isExcused { judge(.pauseAsked) }
            if let pause = asked, !isExcused,
                later.at - earlier.at + SimulatedTime(clockSlack) < SimulatedTime(pause)
            {
                fail("P7", "\(earlier.answer.kind) requested a pause of \(pause), but the next attempt came sooner")
            }
            guard earlier.answer.kind.isAccepted else { continue }
            if !isExcused { fail("P4", "a push was repeated although its answer came and was settled") }
        }
        if seen.contains(where: \.answer.kind.isAccepted) { judge(.repeated) }
        let shown = seen.count { $0.answer.kind.isAccepted }
        if shown > 0, forms[pair.message]?.content.isSeenTwice == true,
            seen.contains(where: { providers.isAnswerLost($0.push) || ledger.hasLapsed($0.push.lease) })
        {
            judge(.seenTwice)
        }
        if shown > 1, forms[pair.message]?.content.isSeenTwice == true,
            !seen.contains(where: { isCutShort($0.push.lease) })
        {
            fail("P4", "a push was repeated that must not be")
        }
    }

    /// The most by which two times that the database wrote may be wrong against each other, where its clock is set.
    var clockSlack: Duration { plan.clockStepEvery == nil ? .zero : .seconds(40) }

    /// Whether the database's clock was set forward during the lease. Its owner held it, and another one did too.
    private func isCutShort(_ lease: LeaseName) -> Bool { plan.clockStepEvery != nil && ledger.hasLapsed(lease) }

    private mutating func checkBadges() {
        for row in store.registrations {
            let badge = ledger.badge(of: row.id)
            if badge > 0 { judge(.badgeKept) }
            if row.badge != badge { fail("P3", "the registry has badge \(row.badge) instead of \(badge)") }
        }
    }

    /// Checks that a reported and settled death younger than the registration has retired it.
    private mutating func checkDeadAreRetired() {
        for seen in providers.log {
            // In the sibling environment such an answer is only a suspicion (decision 0016).
            guard seen.answer.kind.reportsUnregistered, !seen.push.isElsewhere, !providers.isAnswerLost(seen.push),
                !ledger.hasLapsed(seen.push.lease), let row = store.registration(seen.push.registration)
            else { continue }
            let since = seen.answer.since ?? seen.push.leasedAt
            let isTheSame =
                row.stored.provider == seen.push.provider && row.stored.token == seen.push.token
                && row.registeredAt + clockSlack <= since
            if isTheSame { judge(.deadRetired) }
            if isTheSame, row.isLive { fail("P5", "a token is live that \(seen.push.provider) called dead") }
        }
    }

    private mutating func checkNothingIsLeased(_ index: Int) {
        if processes[index].dispatcher.membersInFlight != 0 {
            fail("P8", "a lane counts members that have ended")
        }
        judge(.nothingLeased)
        let actions = processes[index].dispatcher.handle(.drain, now: processes[index].clock.read(at: now))
        if actions != [.drained] { fail("P8", "an idle dispatcher still has to drain: \(actions)") }
    }
}

extension Audience {
    fileprivate var isOfSubscriptions: Bool {
        switch selection {
        case .subscribers, .revoked, .itemSubscribers: true
        case .all, .tags, .filter, .stale, .installations, .users, .tokens: false
        }
    }
}
