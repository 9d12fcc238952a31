import Basis
import Model
import QueueRules

// Checks each terminal state of each push against its answers, the controls of its message, and the rules of its app.
extension SimulatedWorld {
    /// Checks what a settle makes of one of its members; nil: the member goes on.
    mutating func checkClosed(
        _ member: RegistrationID, as terminalStatus: TerminalStatus?, _ lease: LeaseName, _ before: ParcelRow
    ) {
        let pair = PushPair(message: before.message, registration: member)
        let answers = answerLedger.answers(lease, member)
        if answers.reportsAccepted, !answerLedger.isContradicted(pair) {
            judge(.acceptedKept)
            if terminalStatus?.state != .accepted {
                fail("P2", "an accepted push \(terminalStatus.map { "is recorded as \($0.state.name)" } ?? "goes on")")
            }
        }
        guard let terminalStatus else { return }
        let wrong =
            switch terminalStatus.state {
            case .accepted: acceptedWrongly(answers)
            case .rejected: rejectedWrongly(terminalStatus, pair, answers, before)
            case .unregistered:
                unregisteredWrongly(terminalStatus, answers, answerLedger.finding(lease, member), before)
            case .expired: expiredWrongly(answers, before)
            case .suppressed: suppressedWrongly(terminalStatus, answerLedger.finding(lease, member), before)
            case .cancelled: cancelledWrongly(before)
            case .gaveUp: gaveUpWrongly(terminalStatus, pair, answers, before)
            }
        judge(.terminalStatus(terminalStatus.state))
        if let wrong, !answerLedger.isContradicted(pair) {
            fail("P2", "a push is recorded as \(terminalStatus.text), \(wrong)")
        }
    }

    private func acceptedWrongly(_ answers: ReceivedAnswers) -> String? {
        answers.reportsAccepted ? nil : "but no process received that answer"
    }

    private func rejectedWrongly(
        _ terminalStatus: TerminalStatus, _ pair: PushPair, _ answers: ReceivedAnswers, _ before: ParcelRow
    ) -> String? {
        if terminalStatus.reason == "nothing_to_show" {
            return ledger.refusedHere.contains(pair) ? nil : "but its provider has a form of it"
        }
        // A message that is too large is so in either environment.
        guard let origin = before.origin, answers.answer?.kind != .payloadTooLarge else {
            guard let kind = answers.answer?.kind, kind.isRefusal, !kind.reportsUnregistered else {
                return "but no answer refused it"
            }
            return kind.provider == .fcm || terminalStatus.reason == kind.rawValue ? nil : "but the answer was \(kind)"
        }
        let wasSuspected = providers.seen(pair).contains { !$0.push.isElsewhere && $0.answer.kind.suspectsToken }
        if terminalStatus.reason != origin.reason || !wasSuspected { return "but its origin route did not report it" }
        if answers.answer?.kind.isRefusal == true { return nil }
        return latest(answers, before) >= origin.until ? nil : "but the sibling route could still have been tried"
    }

    private func unregisteredWrongly(
        _ terminalStatus: TerminalStatus, _ answers: ReceivedAnswers, _ finding: MemberFinding, _ before: ParcelRow
    ) -> String? {
        switch terminalStatus.reason {
        case TerminalReason.deviceDeleted: finding.status == .deleted ? nil : "but its registration exists"
        case TerminalReason.retired: finding.status == .retired ? nil : "but its token is live"
        case TerminalReason.userChanged: finding.status == .excluded(.user) ? nil : "but its user is the same"
        case TerminalReason.audienceChanged:
            finding.status == .excluded(.condition) ? nil : "but its audience includes it"
        default:
            answers.answer?.kind.reportsUnregistered == true && before.origin == nil
                ? nil : "but no answer called its token dead"
        }
    }

    /// A push is expired if it could not be tried again in time. `checkShown` checks at the end that nobody saw it.
    private func expiredWrongly(_ answers: ReceivedAnswers, _ before: ParcelRow) -> String? {
        latest(answers, before) >= before.expiresAt ? nil : "but it expires only in \(before.expiresAt - wall)"
    }

    private func suppressedWrongly(_ terminalStatus: TerminalStatus, _ finding: MemberFinding, _ before: ParcelRow)
        -> String?
    {
        switch (terminalStatus.reason, finding.deferral) {
        case (TerminalReason.dailyCap, .dailyCap): nil
        case (TerminalReason.quietHours, .quietHours(let until, _)) where until >= before.expiresAt: nil
        default: "but no rule of its app requires it"
        }
    }

    private func cancelledWrongly(_ before: ParcelRow) -> String? {
        cancelled.contains(before.message) ? nil : "but its message was not cancelled"
    }

    private func gaveUpWrongly(
        _ terminalStatus: TerminalStatus, _ pair: PushPair, _ answers: ReceivedAnswers, _ before: ParcelRow
    ) -> String? {
        switch terminalStatus.reason {
        case TerminalReason.poison:
            return ledger.lapses[pair, default: 0] >= Int(PoisonRule.givenUpFrom)
                ? nil : "but did not end ten processes"
        case TerminalReason.answerLost:
            let isLost = answerLedger.mayBeLost(pair) || ledger.lapses[pair, default: 0] > 0
            return isLost && ledger.wasFree(pair) ? nil : "but none of its answers was lost"
        case TerminalReason.retriesExhausted:
            guard answers.isTried, let message = store.message(before.message) else { return "but was not attempted" }
            // Each try rounds up its wait and the time that it took.
            let rounding = Duration.seconds(2 * (Int64(before.attempt) + 1))
            let spent = latest(answers, before) - message.acceptedAt + rounding
            return spent >= plan.settings.retry.budget ? nil : "but has retry time left"
        default: return "for an unknown reason"
        }
    }

    /// The latest time of another try after these answers: an upper bound of what the retry policy decides.
    private func latest(_ answers: ReceivedAnswers, _ before: ParcelRow) -> WallInstant {
        // A refused credential pauses untried pushes for this long too; clocks may differ.
        var pause = Duration.seconds(16)
        if answers.isTried {
            // A project that accepted pushes a while ago is asked again a minute later.
            let isMissing = answers.answer?.kind == .noSuchProject
            var asked = max(.seconds(isMissing ? 60 : 1), answers.answer?.pauseAsked ?? .zero)
            // A gateway's clock that is behind lengthens a date's pause; by one that is ahead, the date may have passed
            // and mean nothing.
            if let answer = answers.answer, answer.retryAt != nil {
                asked = max(asked + max(.zero, .zero - answers.clockError), answer.kind.floor ?? .zero)
            }
            let doubled = asked * (1 << min(20, Int(before.attempt)))
            let bare = min(doubled, max(plan.settings.retry.ceiling, asked))
            pause = max(pause, bare * 5 / 4 + .seconds(2))
        }
        return wall + pause + clockSlack
    }

    /// Checks at the end that a push recorded as accepted was shown. One recorded as expired, cancelled or suppressed
    /// must not have been.
    mutating func checkShown(_ pair: PushPair) {
        guard let terminalStatus = ledger[pair]?.terminalStatus, !answerLedger.isContradicted(pair) else { return }
        let isShown = providers.seen(pair).contains { $0.answer.kind.isAccepted }
        switch terminalStatus.state {
        case .accepted: if !isShown { fail("P2", "a push is recorded as accepted although no provider accepted it") }
        case .expired, .cancelled, .suppressed:
            judge(.notShown)
            if isShown { fail("P2", "a push is recorded as \(terminalStatus.text) although its provider accepted it") }
        case .rejected, .unregistered, .gaveUp: break
        }
    }
}

extension WorldChecker {
    fileprivate static func terminalStatus(_ state: TerminalState) -> WorldChecker {
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

extension TerminalStatus {
    fileprivate var text: String { reason.isEmpty ? state.name : "\(state.name) (\(reason))" }
}
