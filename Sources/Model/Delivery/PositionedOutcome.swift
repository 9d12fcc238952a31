package struct PositionedOutcome: Equatable, Sendable {
    package let position: Int32
    package let outcome: Outcome
    package init(position: Int32, outcome: Outcome) { (self.position, self.outcome) = (position, outcome) }
}
