import Basis

/// One request while it is on a stream.
package struct Flight: Equatable {
    /// Its batch's place in the lane's queue.
    package let run: Int32
    /// Its place in the batch.
    package let request: Int32
    /// How often a living connection has refused it.
    package var refusals: Int32
    /// The generation of the authorization that it carries.
    package var authorization: UInt64?

    package init(run: Int32, request: Int32, refusals: Int32) {
        self.run = run
        self.request = request
        self.refusals = refusals
    }
}

/// The requests in flight on one connection: a dense array whose places travel through HTTP/2 as tags, and a list of
/// them by age, so that deadlines cost nothing per request. As large as the most streams that were ever open at once.
package struct StreamSlots {
    private struct Slot {
        var flight: Flight
        var streamID: Int32
        var openedAt: MonotonicInstant
        var older: Int32
        var newer: Int32
        /// Answered before HTTP/2 knows (its deadline passed); the place is kept until HTTP/2 ends it.
        var isAbandoned: Bool
    }

    private static let none: Int32 = -1

    private var slots: [Slot] = []
    private var free: [Int32] = []
    private var oldest = Self.none
    private var newest = Self.none
    /// Those that have no answer yet.
    package private(set) var count = 0

    package var oldestOpening: MonotonicInstant? { oldest == Self.none ? nil : slots[Int(oldest)].openedAt }

    package init() {}

    /// The tag for HTTP/2; its stream's id follows with `name`.
    package mutating func open(_ flight: Flight, _ now: MonotonicInstant) -> Int {
        let slot = Slot(
            flight: flight, streamID: 0, openedAt: now, older: newest, newer: Self.none, isAbandoned: false)
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

    /// HTTP/2 has ended it. nil where it was answered before.
    package mutating func close(_ place: Int) -> Flight? {
        precondition(slots.indices.contains(place), "tags are ours")
        let slot = slots[place]
        free.append(Int32(place))
        if slot.isAbandoned { return nil }
        unlink(place)
        return slot.flight
    }

    /// Takes the oldest out of the list: its answer, if one comes, is ignored.
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
