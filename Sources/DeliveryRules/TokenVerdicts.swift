import PushModel

// What a provider's word does to a registration.
extension TokenLifecycle {
    /// Decides one verdict: the state that it leads to, nil where it changes nothing.
    ///
    /// A verdict counts only for the generation that it speaks of, and never where the device registered again after
    /// the time that it speaks of: the provider's own in a 410, else the lease's (P5).
    package static func judge(_ verdict: GuardedVerdict, standing: TokenStanding) -> RegistrationState? {
        guard verdict.generation == standing.generation, standing.state != .retired else { return nil }
        switch verdict.verdict {
        case .unregistered(let since, _):
            return standing.registeredAt <= (since ?? verdict.asOf) ? .retired : nil
        case .suspected:
            return standing.state == .active && standing.registeredAt <= verdict.asOf ? .suspected : nil
        case .cleared:
            return standing.state == .suspected ? .active : nil
        }
    }
}

/// What a verdict is held against.
package struct TokenStanding: Equatable, Sendable {
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
package struct SuspicionRule: Equatable, Sendable {
    package let window: Duration
    /// Of all answers, 0 to 1.
    package let shareMax: Double
    package let sampleMin: Int

    package init(window: Duration, shareMax: Double, sampleMin: Int) {
        precondition(shareMax >= 0 && shareMax <= 1 && sampleMin >= 0 && window >= .zero)
        self.window = window
        self.shareMax = shareMax
        self.sampleMin = sampleMin
    }

    /// - Parameter sample: what the route answered within the window that began with the minute of the doubt.
    package func confirms(suspectedFor: Duration, sample: AnswerSample) -> Bool {
        suspectedFor >= window && sample.answered >= sampleMin
            && Double(sample.suspected) <= shareMax * Double(sample.answered)
    }
}
