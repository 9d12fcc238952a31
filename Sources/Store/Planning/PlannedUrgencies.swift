import Model

/// The urgencies that a planner asks for, and a callback for slices that may take long.
package struct PlannedUrgencies: Sendable {
    package let transactionalAlone: Bool
    /// Called as soon as a plan is claimed whose slice may take long: of a bulk message, or of one that names so many
    /// devices that it goes on. It is called again if the plan is tried again.
    private let longBegins: @Sendable () -> Void

    package init(transactionalAlone: Bool = false, longBegins: @escaping @Sendable () -> Void = {}) {
        (self.transactionalAlone, self.longBegins) = (transactionalAlone, longBegins)
    }

    func note(_ plan: ClaimedPlan) {
        if plan.priority != MessageUrgency.transactional.rawValue || plan.plannedThrough > 0 { longBegins() }
    }
}
