import Basis

/// The leases in hand, found by name and by the time when they are due for anything.
///
/// Thousands of small leases are in hand at once, and each answer is an event, so no event may scan them all. A write
/// through the subscript has the run's alarm set again by `setAlarms`.
struct RunTable: Sendable {
    /// The order follows from the events, and has no meaning.
    private(set) var states: [RunState] = []
    private var places: [LeaseName: Int] = [:]  // lookup only
    private var alarms = RunAlarms()
    /// Runs that changed since their alarms were set.
    private var touched: [LeaseName] = []
    private var begun = 0

    var count: Int { states.count }
    var isEmpty: Bool { states.isEmpty }
    var indices: Range<Int> { states.indices }

    /// Access in place: copying a run would copy the state of all its members.
    subscript(place: Int) -> RunState {
        _read { yield states[place] }
        _modify {
            touch(place)
            yield &states[place]
        }
    }

    func place(of name: LeaseName) -> Int? { places[name] }

    /// - Returns: the run's place, until another run is removed.
    mutating func append(_ state: RunState) -> Int {
        precondition(places[state.name] == nil, "a lease has one run")
        begun += 1
        places[state.name] = states.count
        states.append(state)
        states[states.count - 1].number = begun
        touch(states.count - 1)
        return states.count - 1
    }

    /// Removes a run; the last run takes its place.
    mutating func remove(at place: Int) -> RunState {
        places[states[place].name] = nil
        let last = states.count - 1
        if place != last {
            states.swapAt(place, last)
            places[states[place].name] = place
        }
        return states.removeLast()
    }

    /// Takes the runs that are due for anything, the longest due first, then in the order of their begin. Each has its
    /// alarm set again.
    mutating func takeDue(_ now: MonotonicInstant) -> [LeaseName] {
        setAlarms()
        var due: [LeaseName] = []
        while let first = alarms.first, first.at <= now {
            alarms.removeFirst()
            guard let place = holder(of: first) else { continue }
            states[place].alarmAt = nil
            touch(place)
            due.append(first.name)
        }
        return due
    }

    /// Sets the alarms of changed runs. Called after each event, because `nextAlarm` depends on it.
    mutating func setAlarms() {
        for name in touched {
            guard let place = places[name] else { continue }
            states[place].isTouched = false
            let due = states[place].dueAt
            guard states[place].alarmAt != due else { continue }
            states[place].alarmAt = due
            alarms.add(RunAlarm(at: due, number: states[place].number, name: name))
        }
        touched.removeAll(keepingCapacity: true)
        while let first = alarms.first, holder(of: first) == nil { alarms.removeFirst() }
        // Drops alarms of runs that ended or changed since. Setting an alarm has paid for its removal.
        if alarms.count > Self.alarmsMin + Self.alarmsForEach * states.count {
            alarms = RunAlarms(
                states.compactMap { state in
                    state.alarmAt.map { RunAlarm(at: $0, number: state.number, name: state.name) }
                })
        }
    }

    private static let alarmsMin = 256
    private static let alarmsForEach = 4

    var nextAlarm: MonotonicInstant? { alarms.first?.at }

    private func holder(of alarm: RunAlarm) -> Int? {
        guard let place = places[alarm.name], states[place].alarmAt == alarm.at, states[place].number == alarm.number
        else { return nil }
        return place
    }

    private mutating func touch(_ place: Int) {
        guard !states[place].isTouched else { return }
        states[place].isTouched = true
        touched.append(states[place].name)
    }
}

struct RunAlarm: Sendable {
    let at: MonotonicInstant
    /// The ordinal among all runs ever begun.
    let number: Int
    let name: LeaseName

    static func < (left: RunAlarm, right: RunAlarm) -> Bool { (left.at, left.number) < (right.at, right.number) }
}

struct RunAlarms: Sendable {
    private var heap: [RunAlarm] = []

    init(_ alarms: [RunAlarm] = []) {
        // A sorted array is a heap.
        heap = alarms.sorted { $0 < $1 }
    }

    var count: Int { heap.count }
    var first: RunAlarm? { heap.first }

    mutating func add(_ alarm: RunAlarm) {
        heap.append(alarm)
        var place = heap.count - 1
        while place > 0, heap[place] < heap[(place - 1) / 2] {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() {
        precondition(!heap.isEmpty)
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            var least = place
            for child in (2 * place + 1)...(2 * place + 2) where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            guard least != place else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
