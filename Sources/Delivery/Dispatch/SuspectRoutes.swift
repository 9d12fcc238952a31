import Basis
import Model

/// Routes already reported because of too many tokens that were found in the other environment, or refused. Each is
/// reported once for as long as that lasts, or at intervals.
package struct SuspectRoutes: Sendable {
    package init() {}

    private var last: [RouteID: MonotonicInstant] = [:]
    /// Above this number all are forgotten, and reported again.
    package static let countMax = 1_000

    /// Whether the route was not reported for this long. It is from now on.
    package mutating func isDue(_ route: RouteID, now: MonotonicInstant, every: Duration) -> Bool {
        if let before = last[route], now - before < every { return false }
        _ = isNew(route, now: now, quiet: every)
        return true
    }

    /// - Parameter quiet: a route that was not suspect for this long is reported again.
    package mutating func isNew(_ route: RouteID, now: MonotonicInstant, quiet: Duration) -> Bool {
        if last.count >= Self.countMax, last[route] == nil { last = [:] }
        defer { last[route] = now }
        guard let before = last[route] else { return true }
        return now - before > quiet
    }
}
