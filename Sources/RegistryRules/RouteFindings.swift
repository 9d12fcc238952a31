import QueueRules

/// What was heard about a route's tokens when the other environment took some of them.
package struct RouteFindings: Equatable, Sendable {
    /// Tokens found in the other environment within the window, those in question among them.
    package let found: Int
    /// All answers within the window that were settled.
    package let answered: Int
    /// Answers before the window, up to `SuspicionRule.windowMax`, that neither doubted a token nor came from the other
    /// environment: so often was this one right.
    package let borneOut: Int

    package init(found: Int, answered: Int, borneOut: Int) {
        self.found = found
        self.answered = answered
        self.borneOut = borneOut
    }
}

extension SuspicionRule {
    /// Whether the tokens in question move to the environment that took them.
    ///
    /// A provider that calls every token unknown looks like an app that named the wrong environment for all of them. The
    /// difference is what was before: where the route's own environment has taken tokens, most of them don't live elsewhere
    /// all at once, and no more move than may be doubted. Where it never has, what the app named was never borne out.
    ///
    /// Tokens that were found count when they are judged, and all other answers when they are settled, later.
    package func letsMove(_ findings: RouteFindings) -> Bool {
        let answered = max(findings.answered, findings.found, sampleMin)
        return findings.borneOut <= 0 || !isTooMany(findings.found, of: answered)
    }
}

extension GuardedVerdict {
    /// What is left of it where tokens that were found don't move: this one works, wherever it lives.
    package var staying: GuardedVerdict {
        guard case .found = verdict else { return self }
        return GuardedVerdict(
            registration: registration, generation: generation, route: route, verdict: .cleared, asOf: asOf)
    }
}
