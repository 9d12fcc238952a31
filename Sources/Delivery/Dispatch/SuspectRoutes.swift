import Basis
import Model

/// Routes whose tokens were found in the other environment and stay where they are, as far as that was told: once for as
/// long as it lasts.
package struct SuspectRoutes: Sendable {
    package init() {}

    /// When it was last so.
    private var last: [RouteID: MonotonicInstant] = [:]
    /// Beyond it all are forgotten, and told again.
    package static let countMax = 1_000

    /// - Parameter quiet: what it takes without it until it is news again.
    package mutating func isNew(_ route: RouteID, now: MonotonicInstant, quiet: Duration) -> Bool {
        if last.count >= Self.countMax, last[route] == nil { last = [:] }
        defer { last[route] = now }
        guard let before = last[route] else { return true }
        return now - before > quiet
    }
}
