/// Future events in order of time; events at the same instant keep the order in which they were put.
///
/// A binary heap of small entries: the events, which are large, stay in their slots. The bound on its size is a promise
/// of the world, because work that grows without end is a bug to find.
struct EventQueue<Event> {
    private struct Entry {
        let at: SimulatedTime
        let number: Int
        let slot: Int

        func isBefore(_ other: Entry) -> Bool { at == other.at ? number < other.number : at < other.at }
    }

    private var heap: [Entry] = []
    private var numbers = 0
    private var events: [Event?] = []
    private var freeSlots: [Int] = []

    var count: Int { heap.count }
    var nextAt: SimulatedTime? { heap.first?.at }

    mutating func put(_ event: Event, at: SimulatedTime) {
        heap.append(Entry(at: at, number: numbers, slot: insert(event)))
        numbers += 1
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard heap[place].isBefore(heap[parent]) else { return }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func insert(_ event: Event) -> Int {
        guard let slot = freeSlots.popLast() else {
            events.append(event)
            return events.count - 1
        }
        events[slot] = event
        return slot
    }

    mutating func takeFirst() -> (at: SimulatedTime, event: Event)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        guard let event = events[first.slot].take() else { return nil }
        freeSlots.append(first.slot)
        return (first.at, event)
    }

    private mutating func sink() {
        var place = 0
        while true {
            var smallest = place
            for child in 2 * place + 1...2 * place + 2 where child < heap.count {
                if heap[child].isBefore(heap[smallest]) { smallest = child }
            }
            guard smallest != place else { return }
            heap.swapAt(place, smallest)
            place = smallest
        }
    }
}
