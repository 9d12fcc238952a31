import QueueRules

/// A route's recent answers, to judge tokens that the sibling environment accepted.
package struct RouteFindings: Equatable, Sendable {
    /// Tokens that the sibling environment accepted within the window, those in question among them.
    package let found: Int
    package let answered: Int
    /// Answers before the window, up to `SuspicionRule.windowMax`, that neither suspected a token nor came from the
    /// sibling environment. They prove the route right.
    package let borneOut: Int

    package init(found: Int, answered: Int, borneOut: Int) {
        (self.found, self.answered, self.borneOut) = (found, answered, borneOut)
    }
}

extension SuspicionRule {
    /// Whether the tokens in question move to the environment that accepted them.
    ///
    /// A provider that rejects every token as unknown looks like an app that named the wrong environment for all of
    /// them. The route's past tells them apart. If its own environment has accepted tokens, most of them don't live
    /// elsewhere all at once: no larger share may move than may be suspected. If it never has, the named environment
    /// was never proven right.
    ///
    /// Found tokens count when they are judged, all other answers when they are settled, later.
    package func letsMove(_ findings: RouteFindings) -> Bool {
        let answered = max(findings.answered, findings.found, sampleMin)
        return findings.borneOut <= 0 || !isTooMany(findings.found, of: answered)
    }
}

extension GuardedVerdict {
    /// The verdict that stands if found tokens don't move: the token works, whichever environment it lives in.
    package var staying: GuardedVerdict {
        guard case .found = verdict else { return self }
        return GuardedVerdict(
            registration: registration, generation: generation, route: route, verdict: .cleared, asOf: asOf)
    }
}
