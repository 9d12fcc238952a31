import Basis
import Model
import QueueRules

extension TokenLifecycle {
    /// Decides one verdict. Returns the state that it leads to, nil if it changes nothing.
    ///
    /// A verdict counts only for its own generation, and not if the device registered again after its time: the
    /// provider's own in a 410, else the lease's (P5). A suspicion of a suspected token changes nothing, and is kept.
    /// It repeats the pending suspicion, or opens the next window.
    ///
    /// The second blame retires a token that only subscriptions named and that never took a push. Anybody can name one,
    /// so no answer about it is in a sample that could confirm its suspicion.
    ///
    /// A found token also moves its registration, to a new generation, because an answer from the old route must not
    /// judge it on the new one. That generation counts as compared, as does one that is suspected in both environments.
    package static func judge(_ verdict: GuardedVerdict, status: TokenStatus) -> RegistrationState? {
        guard verdict.generation == status.generation, status.state != .retired else { return nil }
        switch verdict.verdict {
        case .unregistered(let since, _): return status.registeredAt <= (since ?? verdict.asOf) ? .retired : nil
        case .suspected, .suspectedInBoth:
            guard status.registeredAt <= verdict.asOf else { return nil }
            return status.unproven?.isBlamed(before: verdict) == true ? .retired : .suspected
        case .cleared: return status.state == .suspected || status.unproven != nil ? .active : nil
        case .found: return .active
        }
    }
}

/// The stored state that a verdict is compared with.
package struct TokenStatus: Equatable, Sendable {
    package let state: RegistrationState
    package let generation: TokenGeneration
    package let registeredAt: WallInstant
    /// nil: a backend registered the token, or it took a push.
    package let unproven: UnprovenToken?

    package init(
        state: RegistrationState, generation: TokenGeneration, registeredAt: WallInstant, unproven: UnprovenToken? = nil
    ) { (self.state, self.generation, self.registeredAt, self.unproven) = (state, generation, registeredAt, unproven) }
}

/// A token that only subscriptions named, and that never took a push.
package struct UnprovenToken: Equatable, Sendable {
    /// The time of its first blame; nil: none yet.
    package let blamedAt: WallInstant?
    /// The answers about the route's other tokens look like a mistake of ours (`SuspicionRule.isBatch`). Meanwhile no
    /// blame counts.
    package let isGuarded: Bool

    package init(blamedAt: WallInstant?, isGuarded: Bool) { (self.blamedAt, self.isGuarded) = (blamedAt, isGuarded) }

    package func counts(_ verdict: GuardedVerdict) -> Bool { verdict.isBlame && !isGuarded }

    /// Whether the verdict is the second blame. The push must have been leased after the first one: pushes that were
    /// under way together, and a verdict that is written twice, are one.
    package func isBlamed(before verdict: GuardedVerdict) -> Bool {
        counts(verdict) && blamedAt.map { $0 < verdict.asOf } ?? false
    }
}

/// When a suspicion is confirmed (P5).
///
/// The window must have passed, with enough answers over all processes, and few enough of the route's answers in it may
/// be suspicions. A whole batch of suspicions is our own mistake, not the tokens'.
///
/// A judged suspicion is over, whatever the result: the next one about the same token opens its own window.
package struct SuspicionRule: Equatable, Sendable {
    package let window: Duration
    /// The largest share of suspicions, 0 to 1.
    package let shareMax: Double
    package let sampleMin: Int

    /// The longest time to wait for a sample on a route with few answers. A week gives a sample to every route on which
    /// a dead token costs anything; the per-minute counts are kept for longer.
    package static let windowMax: Duration = .seconds(7 * 86_400)
    /// The pause before a suspicion whose window is over, but that lacks a sample, is judged again.
    package static let checkAgainAfter: Duration = .seconds(60)

    package init(window: Duration, shareMax: Double, sampleMin: Int) {
        precondition(shareMax >= 0 && shareMax <= 1 && sampleMin >= 0)
        precondition(window >= .zero && window <= Self.windowMax)
        (self.window, self.shareMax, self.sampleMin) = (window, shareMax, sampleMin)
    }

    package func judge(_ suspicion: PendingSuspicion) -> SuspicionDecision {
        guard suspicion.age >= window else { return .waits(for: window - suspicion.age) }
        // More suspicions than the smallest sample allows are a batch: later answers don't excuse it.
        let first = suspicion.inWindow
        if isTooMany(first.suspected, of: max(first.answered, sampleMin)) { return .dropped }
        if first.answered >= sampleMin { return .confirmed }
        if suspicion.sinceThen.answered >= sampleMin {
            if isTooMany(suspicion.sinceThen.suspected, of: suspicion.sinceThen.answered) { return .dropped }
            // Few suspicions among few answers may be a small batch. Its good tokens work at the next push, or get no
            // push, which costs nothing. A bad token is suspected again.
            if let again = suspicion.repeatedAfter, again >= window { return .confirmed }
        }
        return suspicion.age >= Self.windowMax ? .dropped : .waits(for: Self.checkAgainAfter)
    }

    /// Whether so many of a route's answers within a window blame the token that the cause is probably ours: another
    /// project, topic or environment. No token of such a batch is retired, so an operator has to be told.
    ///
    /// A small app never sends the smallest sample. There, no answer at all may have been another one.
    package func isBatch(_ sample: AnswerSample) -> Bool {
        isTooMany(sample.suspected, of: max(sample.answered, sampleMin))
            || sample.suspected >= Self.wholeAudienceMin && sample.suspected >= sample.answered
    }

    /// A few devices may well be gone together.
    package static let wholeAudienceMin = 10

    func isTooMany(_ suspected: Int, of answered: Int) -> Bool { Double(suspected) > shareMax * Double(answered) }
}

/// A suspicion that was not judged yet, and its route's answers.
package struct PendingSuspicion: Equatable, Sendable {
    package let age: Duration
    /// How long after it the token was last suspected again; nil: not since.
    package let repeatedAfter: Duration?
    /// Answers within the window, which begins with the minute of the suspicion. The answers around it are included, so
    /// a whole batch counts against itself.
    package let inWindow: AnswerSample
    /// All answers from that minute on, up to `SuspicionRule.windowMax`.
    package let sinceThen: AnswerSample

    package init(age: Duration, repeatedAfter: Duration? = nil, inWindow: AnswerSample, sinceThen: AnswerSample) {
        (self.age, self.repeatedAfter, self.inWindow, self.sinceThen) = (age, repeatedAfter, inWindow, sinceThen)
    }
}

package enum SuspicionDecision: Equatable, Sendable {
    /// Too early, or too few answers yet. Judged again after this time.
    case waits(for: Duration)
    case confirmed
    /// Not confirmed. The token stays suspected until it works, is registered again, or is suspected again.
    case dropped
}
