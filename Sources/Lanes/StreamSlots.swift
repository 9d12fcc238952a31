import Basis

/// One request while it is on a stream.
package struct Flight: Equatable {
    /// The batch's place in the lane's queue.
    package let run: Int32
    /// The request's place in the batch.
    package let request: Int32
    /// The number of times that a live connection has refused the request.
    package var refusals: Int32
    package var authorization: UInt64?

    package init(run: Int32, request: Int32, refusals: Int32) {
        (self.run, self.request, self.refusals) = (run, request, refusals)
    }
}

/// The requests in flight on one connection, in a dense array whose indexes travel through HTTP/2 as tags. A list by
/// age makes deadlines free per request. It is as large as the most streams that were ever open at once.
package struct StreamSlots {
    private struct Slot {
        var flight: Flight
        var streamID: Int32
        var openedAt: MonotonicInstant
        var older: Int32
        var newer: Int32
        /// The deadline passed, and the request was answered. The place is kept until HTTP/2 ends the stream.
        var isAbandoned: Bool
    }

    private static let none: Int32 = -1

    private var slots: [Slot] = []
    private var free: [Int32] = []
    private var oldest = Self.none
    private var newest = Self.none
    /// The number of requests without an answer.
    package private(set) var count = 0

    package var oldestOpening: MonotonicInstant? { oldest == Self.none ? nil : slots[Int(oldest)].openedAt }

    package init() {}

    /// Returns the tag for HTTP/2; `name` sets the stream's id afterwards.
    package mutating func open(_ flight: Flight, _ now: MonotonicInstant) -> Int {
        let slot = Slot(flight: flight, streamID: 0, openedAt: now, older: newest, newer: Self.none, isAbandoned: false)
        let place: Int32
        if let reused = free.popLast() {
            place = reused
            slots[Int(place)] = slot
        } else {
            place = Int32(slots.count)
            slots.append(slot)
        }
        if newest == Self.none { oldest = place } else { slots[Int(newest)].newer = place }
        newest = place
        count += 1
        return Int(place)
    }

    package mutating func name(_ place: Int, streamID: Int32) { slots[place].streamID = streamID }

    /// Frees a place after HTTP/2 ended its stream. Returns nil if the request was answered before.
    package mutating func close(_ place: Int) -> Flight? {
        precondition(slots.indices.contains(place), "the slot exists")
        let slot = slots[place]
        free.append(Int32(place))
        if slot.isAbandoned { return nil }
        unlink(place)
        return slot.flight
    }

    /// Removes the oldest request from the list: its answer, if one comes, is ignored.
    package mutating func abandonOldest() -> (flight: Flight, streamID: Int32)? {
        guard oldest != Self.none else { return nil }
        let place = Int(oldest)
        unlink(place)
        slots[place].isAbandoned = true
        return (slots[place].flight, slots[place].streamID)
    }

    private mutating func unlink(_ place: Int) {
        let slot = slots[place]
        if slot.older == Self.none { oldest = slot.newer } else { slots[Int(slot.older)].newer = slot.newer }
        if slot.newer == Self.none { newest = slot.older } else { slots[Int(slot.newer)].older = slot.older }
        count -= 1
    }
}
