import Basis

/// The identifier of one scheduled timer. That of a fired or cancelled timer never matches a later one.
package struct TimerID: Hashable, Sendable {
    let slot: Int32
    let generation: UInt32
}

/// The timers of one loop: a binary heap whose entries know their slot, so that cancelling is O(log n).
///
/// Equal deadlines fire in the order in which they were scheduled.
struct TimerHeap {
    struct Entry {
        let deadline: MonotonicInstant
        let order: UInt64
        let tag: UInt64
        let handler: any TimerHandler
        let slot: Int32

        func isBefore(_ other: Entry) -> Bool {
            deadline == other.deadline ? order < other.order : deadline < other.deadline
        }
    }

    private struct Slot {
        /// The entry's index in `entries`; -1 if there is none.
        var position: Int32
        var generation: UInt32
    }

    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int32] = []
    private var scheduledTotal: UInt64 = 0

    var count: Int { entries.count }
    var earliest: MonotonicInstant? { entries.first?.deadline }

    mutating func schedule(at deadline: MonotonicInstant, tag: UInt64, _ handler: any TimerHandler) -> TimerID {
        let slot: Int32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = Int32(slots.count)
            slots.append(Slot(position: -1, generation: 0))
        }
        scheduledTotal += 1
        entries.append(Entry(deadline: deadline, order: scheduledTotal, tag: tag, handler: handler, slot: slot))
        slots[Int(slot)].position = Int32(entries.count - 1)
        rise(from: entries.count - 1)
        return TimerID(slot: slot, generation: slots[Int(slot)].generation)
    }

    /// Cancels the timer. Does nothing if it has fired or was cancelled before.
    mutating func cancel(_ timer: TimerID) {
        let slot = slots[Int(timer.slot)]
        guard slot.generation == timer.generation, slot.position >= 0 else { return }
        _ = remove(at: Int(slot.position))
    }

    mutating func popDue(_ now: MonotonicInstant) -> Entry? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        return remove(at: 0)
    }

    private mutating func remove(at position: Int) -> Entry {
        let removed = entries[position]
        let last = entries.removeLast()
        slots[Int(removed.slot)].position = -1
        slots[Int(removed.slot)].generation &+= 1
        freeSlots.append(removed.slot)
        if position < entries.count {
            entries[position] = last
            slots[Int(last.slot)].position = Int32(position)
            rise(from: position)
            sink(from: Int(slots[Int(last.slot)].position))
        }
        return removed
    }

    private mutating func rise(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].isBefore(entries[parent]) else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func sink(from start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in (2 * parent + 1)...(2 * parent + 2) where child < entries.count {
                if entries[child].isBefore(entries[first]) { first = child }
            }
            if first == parent { return }
            exchange(parent, first)
            parent = first
        }
    }

    private mutating func exchange(_ first: Int, _ second: Int) {
        entries.swapAt(first, second)
        slots[Int(entries[first].slot)].position = Int32(first)
        slots[Int(entries[second].slot)].position = Int32(second)
    }
}
