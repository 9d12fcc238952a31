import PushModel

/// Which messages a planner asks for, and what it is told of the one that it gets.
package struct PlannedUrgencies: Sendable {
    package let transactionalAlone: Bool
    /// Told as soon as a bulk message is claimed, which may take its time then; more than once where it is tried again.
    private let bulkBegins: @Sendable () -> Void

    package init(transactionalAlone: Bool = false, bulkBegins: @escaping @Sendable () -> Void = {}) {
        self.transactionalAlone = transactionalAlone
        self.bulkBegins = bulkBegins
    }

    func note(_ turn: PlanTurn) {
        if turn.priority != MessageUrgency.transactional.rawValue { bulkBegins() }
    }
}
