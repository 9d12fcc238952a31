import Basis
import Model
import QueueRules

// What a provider's word does to a registration.
extension TokenLifecycle {
    /// Decides one verdict: the state that it leads to, nil where it changes nothing.
    ///
    /// A verdict counts only for the generation that it speaks of, and never where the device registered again after
    /// the time that it speaks of: the provider's own in a 410, else the lease's (P5). A doubt about a suspected token
    /// changes nothing of it, and is kept: it repeats the doubt that waits, or opens the next window.
    ///
    /// A token that was found moves its registration as well, to a new generation: an answer from the old route must
    /// not judge it on the new one. Both that generation and one that is doubted in both environments count as compared.
    package static func judge(_ verdict: GuardedVerdict, status: TokenStatus) -> RegistrationState? {
        guard verdict.generation == status.generation, status.state != .retired else { return nil }
        switch verdict.verdict {
        case .unregistered(let since, _):
            return status.registeredAt <= (since ?? verdict.asOf) ? .retired : nil
        case .suspected, .suspectedInBoth:
            return status.registeredAt <= verdict.asOf ? .suspected : nil
        case .cleared:
            return status.state == .suspected ? .active : nil
        case .found:
            return .active
        }
    }
}

/// What a verdict is held against.
package struct TokenStatus: Equatable, Sendable {
    package let state: RegistrationState
    package let generation: TokenGeneration
    package let registeredAt: WallInstant
    package init(state: RegistrationState, generation: TokenGeneration, registeredAt: WallInstant) {
        self.state = state
        self.generation = generation
        self.registeredAt = registeredAt
    }
}

/// When a doubt becomes a verdict (P5): after a window, if few enough of the route's answers within it were doubts, and
/// enough answers were heard at all, over all processes. A whole batch of doubts is our own mistake, not the tokens'.
///
/// A doubt that was judged is over, whatever came of it: the next one about the same token opens a window of its own.
package struct SuspicionRule: Equatable, Sendable {
    package let window: Duration
    /// Of all answers, 0 to 1.
    package let shareMax: Double
    package let sampleMin: Int

    /// A route that gives no sample within the window is listened to for longer, at most this long. A week's answers
    /// make a sample for all but those whom a dead token costs nothing; the minutes of routes are kept for longer.
    package static let windowMax: Duration = .seconds(7 * 86_400)
    /// How soon a doubt is looked at again that has stood for its window and waits for a sample.
    package static let checkAgainAfter: Duration = .seconds(60)

    /// The product's own, where no setting says otherwise.
    package static let standard = SuspicionRule(window: .seconds(600), shareMax: 0.2, sampleMin: 50)

    package init(window: Duration, shareMax: Double, sampleMin: Int) {
        precondition(shareMax >= 0 && shareMax <= 1 && sampleMin >= 0)
        precondition(window >= .zero && window <= Self.windowMax)
        self.window = window
        self.shareMax = shareMax
        self.sampleMin = sampleMin
    }

    package func judge(_ suspicion: PendingSuspicion) -> SuspicionDecision {
        guard suspicion.age >= window else { return .waits(for: window - suspicion.age) }
        // More doubts than the smallest sample bears are a batch: answers that come later don't make it good.
        let first = suspicion.inWindow
        if isTooMany(first.suspected, of: max(first.answered, sampleMin)) { return .dropped }
        if first.answered >= sampleMin { return .confirmed }
        if suspicion.sinceThen.answered >= sampleMin {
            if isTooMany(suspicion.sinceThen.suspected, of: suspicion.sinceThen.answered) { return .dropped }
            // Few doubts among few answers may be a small batch. Its tokens work at the next push, or are not pushed
            // to, which costs nothing; a bad token is doubted again.
            if let again = suspicion.repeatedAfter, again >= window { return .confirmed }
        }
        return suspicion.age >= Self.windowMax ? .dropped : .waits(for: Self.checkAgainAfter)
    }

    func isTooMany(_ suspected: Int, of answered: Int) -> Bool {
        Double(suspected) > shareMax * Double(answered)
    }
}

/// A doubt that has not been judged, and what its route answered.
package struct PendingSuspicion: Equatable, Sendable {
    package let age: Duration
    /// How long after it the token was last doubted again; nil: not since.
    package let repeatedAfter: Duration?
    /// Answers within the window that began with the minute of the doubt: it holds those among which the doubt arose, so
    /// that a whole batch of them speaks against itself.
    package let inWindow: AnswerSample
    /// All answers from that minute on, up to `SuspicionRule.windowMax`.
    package let sinceThen: AnswerSample

    package init(age: Duration, repeatedAfter: Duration? = nil, inWindow: AnswerSample, sinceThen: AnswerSample) {
        self.age = age
        self.repeatedAfter = repeatedAfter
        self.inWindow = inWindow
        self.sinceThen = sinceThen
    }
}

package enum SuspicionDecision: Equatable, Sendable {
    /// Too early, or too few answers yet. → looked at again after this
    case waits(for: Duration)
    /// The token is retired.
    case confirmed
    /// Not borne out. The token stays suspected until it works, is registered again, or is doubted anew.
    case dropped
}
