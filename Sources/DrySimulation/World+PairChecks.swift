import DeliveryRules
import PushModel

// Each ending of each push, held against what was heard of it, what was said of its message, and the rules of its app.
extension SimulatedWorld {
    /// What a settle makes of one of its members; nil: it goes on.
    mutating func checkClosed(_ member: RegistrationID, as ending: Ending?, _ lease: LeaseName, _ before: ParcelRow) {
        let pair = PushPair(message: before.message, registration: member)
        let heard = book.heard(lease, member)
        if heard.saysAccepted, !book.isContradicted(pair) {
            judge(.acceptedKept)
            if ending?.state != .accepted {
                fail("P2", "an accepted push \(ending.map { "is recorded as \($0.state.name)" } ?? "goes on")")
            }
        }
        guard let ending else { return }
        let wrong =
            switch ending.state {
            case .accepted: acceptedWrongly(heard)
            case .rejected: rejectedWrongly(ending, pair, heard, before)
            case .unregistered: unregisteredWrongly(ending, heard, book.finding(lease, member), before)
            case .expired: expiredWrongly(heard, before)
            case .suppressed: suppressedWrongly(ending, book.finding(lease, member), before)
            case .cancelled: cancelledWrongly(before)
            case .gaveUp: gaveUpWrongly(ending, pair, heard, before)
            }
        judge(.ending(ending.state))
        if let wrong, !book.isContradicted(pair) { fail("P2", "a push is recorded as \(ending.words), \(wrong)") }
    }

    private func acceptedWrongly(_ heard: HeardWords) -> String? {
        heard.saysAccepted ? nil : "and nobody heard that it was"
    }

    private func rejectedWrongly(
        _ ending: Ending, _ pair: PushPair, _ heard: HeardWords, _ before: ParcelRow
    ) -> String? {
        if ending.reason == "nothing_to_show" {
            return ledger.refusedHere.contains(pair) ? nil : "and its provider has a form of it"
        }
        // What is wrong with a message is wrong with it in either environment.
        guard let home = before.home, heard.answer?.word != .payloadTooLarge else {
            guard let word = heard.answer?.word, word.isRefusal, !word.saysDead else {
                return "and no answer refused it"
            }
            return word.provider == .fcm || ending.reason == word.rawValue ? nil : "and the answer was \(word)"
        }
        let wasDoubted = providers.seen(pair).contains { !$0.push.isElsewhere && $0.answer.word.doubtsToken }
        if ending.reason != home.reason || !wasDoubted { return "and home did not say so" }
        if heard.answer?.word.isRefusal == true { return nil }
        return latest(heard, before) >= home.until ? nil : "and the other environment could still have been asked"
    }

    private func unregisteredWrongly(
        _ ending: Ending, _ heard: HeardWords, _ finding: MemberFinding, _ before: ParcelRow
    ) -> String? {
        switch ending.reason {
        case EndingReason.deviceDeleted: finding.standing == .deleted ? nil : "and its registration is there"
        case EndingReason.retired: finding.standing == .retired ? nil : "and its token lives"
        case EndingReason.userChanged: finding.standing == .excluded(.user) ? nil : "and its user is the same"
        case EndingReason.audienceChanged:
            finding.standing == .excluded(.condition) ? nil : "and its audience includes it"
        default: heard.answer?.word.saysDead == true && before.home == nil ? nil : "and no answer called its token dead"
        }
    }

    /// What could not be tried again before it expired has expired; nobody saw it is said at the end.
    private func expiredWrongly(_ heard: HeardWords, _ before: ParcelRow) -> String? {
        latest(heard, before) >= before.expiresAt ? nil : "and it has \(before.expiresAt - wall) to live"
    }

    private func suppressedWrongly(_ ending: Ending, _ finding: MemberFinding, _ before: ParcelRow) -> String? {
        switch (ending.reason, finding.hold) {
        case (EndingReason.dailyCap, .dailyCap): nil
        case (EndingReason.quietHours, .quietHours(let until, _)) where until >= before.expiresAt: nil
        default: "and no rule of its app says so"
        }
    }

    private func cancelledWrongly(_ before: ParcelRow) -> String? {
        cancelled.contains(before.message) ? nil : "and nobody cancelled its message"
    }

    private func gaveUpWrongly(
        _ ending: Ending, _ pair: PushPair, _ heard: HeardWords, _ before: ParcelRow
    ) -> String? {
        switch ending.reason {
        case EndingReason.poison:
            return ledger.lapses[pair, default: 0] >= Int(PoisonRule.lapsesMax) ? nil : "and ended no three processes"
        case EndingReason.answerLost:
            let isLost = book.mayBeLost(pair) || ledger.lapses[pair, default: 0] > 0
            return isLost && ledger.wasFree(pair) ? nil : "and no answer of it was lost"
        case EndingReason.retriesExhausted:
            guard heard.isTried, let message = store.message(before.message) else { return "and was not tried" }
            // Each try rounds up its wait and the time that it took.
            let rounding = Duration.seconds(2 * (Int64(before.attempt) + 1))
            let spent = latest(heard, before) - message.acceptedAt + rounding
            return spent >= plan.settings.retry.budget ? nil : "and has tries left"
        default: return "for no reason that there is"
        }
    }

    /// When it could be tried again at the latest, by what was heard of it: an upper bound of what the policy makes of it.
    private func latest(_ heard: HeardWords, _ before: ParcelRow) -> WallInstant {
        // A credential that is refused pauses so long also what was not tried; clocks may differ.
        var pause = Duration.seconds(16)
        if heard.isTried {
            // A project that others found a while ago is asked for a minute later.
            let isMissing = heard.answer?.word == .noSuchProject
            var asked = max(.seconds(isMissing ? 60 : 1), heard.answer?.pauseAsked ?? .zero)
            // A date is read by a clock that may be behind, or ahead of it: then it says nothing.
            if let answer = heard.answer, answer.retryAt != nil {
                asked = max(asked + max(.zero, .zero - heard.clockError), answer.word.floor ?? .zero)
            }
            let doubled = asked * (1 << min(20, Int(before.attempt)))
            let bare = min(doubled, max(plan.settings.retry.ceiling, asked))
            pause = max(pause, bare * 5 / 4 + .seconds(2))
        }
        return wall + pause + clockSlack
    }

    /// When all is over: who has an ending that says so was not shown the push, and who has one that says the opposite was.
    mutating func checkShown(_ pair: PushPair) {
        guard let ending = ledger[pair]?.ending, !book.isContradicted(pair) else { return }
        let isShown = providers.seen(pair).contains { $0.answer.word.isAccepted }
        switch ending.state {
        case .accepted: if !isShown { fail("P2", "a push is called accepted that no provider accepted") }
        case .expired, .cancelled, .suppressed:
            judge(.notShown)
            if isShown { fail("P2", "a push is called \(ending.words) that its provider accepted") }
        case .rejected, .unregistered, .gaveUp: break
        }
    }
}

extension WorldChecker {
    fileprivate static func ending(_ state: TerminalState) -> WorldChecker {
        switch state {
        case .accepted: .accepted
        case .rejected: .rejected
        case .unregistered: .unregistered
        case .expired: .expired
        case .suppressed: .suppressed
        case .cancelled: .cancelled
        case .gaveUp: .gaveUp
        }
    }
}

extension Ending {
    fileprivate var words: String { reason.isEmpty ? state.name : "\(state.name) (\(reason))" }
}
