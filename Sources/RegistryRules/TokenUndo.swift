import Model

// What an operator's undo does to a registration.
extension TokenLifecycle {
    /// Decides the undo of one entry of the feed.
    ///
    /// Only the token that was retired comes back: not where another took its place, nor where it lives elsewhere. It
    /// comes back as a new generation: answers to pushes from before the undo are older than it, and judge nothing.
    /// The registration time stays, so that a provider that still calls the token dead retires it again.
    package static func undo(
        _ retirement: Retirement, state: RegistrationState, generation: TokenGeneration, isTokenTaken: Bool
    ) -> UndoDecision {
        guard retirement.verdict == .retired else { return .notARetirement }
        if retirement.isUndone { return .inEffect }
        guard retirement.generation == generation else { return .replaced }
        guard state == .retired else { return .inEffect }
        return isTokenTaken ? .moved : .revived(generation.next)
    }
}

/// An entry of the feed, as an undo sees it.
package struct Retirement: Equatable, Sendable {
    package let verdict: FeedbackVerdict
    /// Of the token that it speaks of.
    package let generation: TokenGeneration
    package let isUndone: Bool
    package init(verdict: FeedbackVerdict, generation: TokenGeneration, isUndone: Bool) {
        self.verdict = verdict
        self.generation = generation
        self.isUndone = isUndone
    }
}

package enum UndoDecision: Equatable, Sendable {
    /// Active again, with this generation.
    case revived(TokenGeneration)
    /// Undone before, or registered again since: nothing is left to do.
    case inEffect
    case notARetirement
    /// The installation has another token now.
    case replaced
    /// Another registration of the app has the token now.
    case moved
}
