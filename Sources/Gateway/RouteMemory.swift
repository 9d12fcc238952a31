import PushModel
import Reactor

/// Which credential each route's line was last seen to have.
///
/// A read that was under way when credentials changed may have seen the old ones: it is used, and not remembered.
package struct RouteMemory<Record: Sendable>: Sendable {
    package static var lasts: Duration { .seconds(5) }
    /// Routes remembered at once; above it, the stale ones are forgotten.
    package static var routesMax: Int { 16_384 }

    /// Taken before a read, handed back with what it saw.
    package struct Ticket: Sendable {
        fileprivate let changes: UInt64
        fileprivate let readAt: MonotonicInstant
    }

    private struct Seen: Sendable {
        let record: Record?
        let readAt: MonotonicInstant
    }

    private var seen: [RouteLine: Seen] = [:]
    private var changes: UInt64 = 0

    package init() {}

    package mutating func forget() {
        seen = [:]
        changes += 1
    }

    /// nil: not seen lately. Some nil: seen, and there was none.
    package func record(of line: RouteLine, now: MonotonicInstant) -> Record?? {
        seen[line].flatMap { now - $0.readAt < Self.lasts ? .some($0.record) : nil }
    }

    package func ticket(now: MonotonicInstant) -> Ticket { Ticket(changes: changes, readAt: now) }

    package mutating func keep(_ record: Record?, of line: RouteLine, _ ticket: Ticket) {
        guard ticket.changes == changes else { return }
        if seen.count >= Self.routesMax {
            seen = seen.filter { ticket.readAt - $0.value.readAt < Self.lasts }
            if seen.count >= Self.routesMax { seen = [:] }
        }
        seen[line] = Seen(record: record, readAt: ticket.readAt)
    }
}
