import Model

/// Which messages a planner asks for, and what it is told of the one that it gets.
package struct PlannedUrgencies: Sendable {
    package let transactionalAlone: Bool
    /// Told as soon as one is claimed whose slice may take its time: of a bulk message, or of one that names so many devices
    /// that it goes on. More than once where it is tried again.
    private let longBegins: @Sendable () -> Void

    package init(transactionalAlone: Bool = false, longBegins: @escaping @Sendable () -> Void = {}) {
        self.transactionalAlone = transactionalAlone
        self.longBegins = longBegins
    }

    func note(_ plan: ClaimedPlan) {
        if plan.priority != MessageUrgency.transactional.rawValue || plan.plannedThrough > 0 { longBegins() }
    }
}
