import Model

extension TokenLifecycle {
    /// Decides the undo of one entry of the feed.
    ///
    /// Only the retired token comes back: not if another token replaced it, nor if another registration has it. It
    /// comes back as a new generation, so answers to pushes from before the undo don't judge it. The registration time
    /// stays: a provider that still rejects the token retires it again.
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

/// An entry of the feed, reduced to what an undo reads.
package struct Retirement: Equatable, Sendable {
    package let verdict: FeedbackVerdict
    package let generation: TokenGeneration
    package let isUndone: Bool
    package init(verdict: FeedbackVerdict, generation: TokenGeneration, isUndone: Bool) {
        (self.verdict, self.generation, self.isUndone) = (verdict, generation, isUndone)
    }
}

package enum UndoDecision: Equatable, Sendable {
    /// The token is active again, with this generation.
    case revived(TokenGeneration)
    /// Undone before, or registered again since: there is nothing left to do.
    case inEffect
    case notARetirement
    /// The installation has another token now.
    case replaced
    /// Another registration of the app has the token now.
    case moved
}
