package struct PositionedOutcome: Equatable, Sendable {
    package let position: Int32
    package let outcome: Outcome
    /// The provider's documented reason for a wait ("ServiceUnavailable"); empty: it gave none.
    package let quote: String
    package init(position: Int32, outcome: Outcome, quote: String = "") {
        (self.position, self.outcome, self.quote) = (position, outcome, quote)
    }
}
