import Basis
import Model
import Reactor

/// The credential that each service route was last seen to have.
///
/// A read that overlapped a change of credentials may have seen the old ones: its result is used, but not cached.
package struct RouteCredentialCache<Record: Sendable>: Sendable {
    package static var lasts: Duration { .seconds(5) }
    /// The number of routes remembered; above it, outdated ones are forgotten.
    package static var routesMax: Int { 16_384 }

    package struct Ticket: Sendable {
        fileprivate let changes: UInt64
        fileprivate let readAt: MonotonicInstant
    }

    private struct Entry: Sendable {
        let record: Record?
        let readAt: MonotonicInstant
    }

    private var seen: [ServiceRoute: Entry] = [:]
    private var changes: UInt64 = 0

    package init() {}

    package mutating func forget() {
        seen = [:]
        changes += 1
    }

    /// Returns nil if the route was not read recently, and `.some(nil)` if it was read and has no credential.
    package func record(of serviceRoute: ServiceRoute, now: MonotonicInstant) -> Record?? {
        seen[serviceRoute].flatMap { now - $0.readAt < Self.lasts ? .some($0.record) : nil }
    }

    package func ticket(now: MonotonicInstant) -> Ticket { Ticket(changes: changes, readAt: now) }

    package mutating func store(_ record: Record?, of serviceRoute: ServiceRoute, _ ticket: Ticket) {
        guard ticket.changes == changes else { return }
        if seen.count >= Self.routesMax {
            seen = seen.filter { ticket.readAt - $0.value.readAt < Self.lasts }
            if seen.count >= Self.routesMax { seen = [:] }
        }
        seen[serviceRoute] = Entry(record: record, readAt: ticket.readAt)
    }
}
