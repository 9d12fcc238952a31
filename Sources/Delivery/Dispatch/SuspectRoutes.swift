import Basis
import Model

/// Routes already reported because too many of their tokens were found in the other environment. Each is reported once
/// for as long as that lasts.
package struct SuspectRoutes: Sendable {
    package init() {}

    private var last: [RouteID: MonotonicInstant] = [:]
    /// Above this number all are forgotten, and reported again.
    package static let countMax = 1_000

    /// - Parameter quiet: a route that was not suspect for this long is reported again.
    package mutating func isNew(_ route: RouteID, now: MonotonicInstant, quiet: Duration) -> Bool {
        if last.count >= Self.countMax, last[route] == nil { last = [:] }
        defer { last[route] = now }
        guard let before = last[route] else { return true }
        return now - before > quiet
    }
}
