import NIOCore
import Synchronization

/// Notifies connections whose request body is not complete in time.
///
/// Every body gets the same time, so that one timer serves all. One timer per body, set and cancelled on the
/// connection's loop from another thread, was a tenth of what a registration costs.
package final class BodyDeadlines: Sendable {
    package struct Ticket: Sendable {
        fileprivate let number: UInt64
    }

    private struct Awaited {
        let channel: any Channel
        let deadline: NIODeadline
    }

    private struct State {
        var awaited: [UInt64: Awaited] = [:]
        var issued: UInt64 = 0
        /// Whether a timer is set. It fires no later than the first deadline.
        var isTimed = false

        /// Removes and returns the channels whose deadline has passed, in the order in which they were tracked.
        mutating func takeLate(at now: NIODeadline) -> [any Channel] {
            let late = awaited.filter { $0.value.deadline <= now }.sorted { $0.key < $1.key }
            for entry in late { awaited[entry.key] = nil }
            return late.map(\.value.channel)
        }
    }

    private let time: TimeAmount
    private let state = Mutex(State())

    package init(after time: Duration) { self.time = TimeAmount(time) }

    /// Starts the body's deadline. Unless the ticket is forgotten before, the body's reader gets an error.
    package func track(_ channel: any Channel) -> Ticket {
        let deadline = NIODeadline.now() + time
        let (ticket, isFirst) = state.withLock { state in
            state.issued += 1
            state.awaited[state.issued] = Awaited(channel: channel, deadline: deadline)
            defer { state.isTimed = true }
            return (Ticket(number: state.issued), !state.isTimed)
        }
        if isFirst { checkDeadlines(at: deadline, on: channel.eventLoop) }
        return ticket
    }

    /// Ends the deadline: the body is whole, or is read no more. May be called any number of times.
    package func forget(_ ticket: Ticket) {
        // The removed entry is released outside of the lock.
        _ = state.withLock { $0.awaited.removeValue(forKey: ticket.number) }
    }

    private func checkDeadlines(at deadline: NIODeadline, on loop: any EventLoop) {
        loop.scheduleTask(deadline: deadline) { [self] in
            let (late, next) = state.withLock { state in
                let late = state.takeLate(at: .now())
                let next = state.awaited.values.map(\.deadline).min()
                state.isTimed = next != nil
                return (late, next)
            }
            for channel in late { channel.pipeline.fireUserInboundEventTriggered(RequestStallHandler.BodyIsLate()) }
            if let next { checkDeadlines(at: next, on: loop) }
        }
    }
}
