import Basis
import Model

/// Terminal states counted since the last settle. A parcel sees only a few different ones, so a linear search is the
/// fastest.
struct TerminalTally: Equatable, Sendable {
    private(set) var counts: [TerminalCount] = []

    mutating func add(_ terminalStatus: TerminalStatus) {
        for place in counts.indices where counts[place].terminalStatus == terminalStatus {
            counts[place].count += 1
            return
        }
        counts.append(TerminalCount(terminalStatus: terminalStatus, count: 1))
    }

    /// The counts in the order in which the rows are locked: by state, then reason.
    func inOrder() -> [TerminalCount] {
        counts.sorted { left, right in
            left.terminalStatus.state == right.terminalStatus.state
                ? left.terminalStatus.reason < right.terminalStatus.reason
                : left.terminalStatus.state.rawValue < right.terminalStatus.state.rawValue
        }
    }
}

/// Members that go on in new parcels, grouped by everything that those parcels have in common.
struct RemainderTally: Equatable, Sendable {
    struct Key: Equatable, Sendable {
        let route: RouteID
        let dueAfter: Duration
        let dueAt: WallInstant?
        let attempt: Int16
        let lapses: Int16
        let retrySpent: Duration
        let answerLost: Bool
        let cause: WaitCause
        let origin: OriginRejection?
        let isCounted: Bool
    }

    private var groups: [(key: Key, members: [RegistrationID])] = []

    var isEmpty: Bool { groups.isEmpty }

    mutating func add(_ member: RegistrationID, to key: Key) {
        for place in groups.indices where groups[place].key == key {
            groups[place].members.append(member)
            return
        }
        groups.append((key, [member]))
    }

    /// Sorted, because answers come in any order and parcels list members in rising order.
    func remainders() -> [Remainder] {
        groups.map { group in
            Remainder(
                route: group.key.route, dueAfter: group.key.dueAfter, dueAt: group.key.dueAt,
                attempt: group.key.attempt, lapses: group.key.lapses, retrySpent: group.key.retrySpent,
                answerLost: group.key.answerLost, cause: group.key.cause, origin: group.key.origin,
                isCounted: group.key.isCounted, members: group.members.sorted())
        }
    }

    static func == (left: RemainderTally, right: RemainderTally) -> Bool {
        left.groups.elementsEqual(right.groups) { $0.key == $1.key && $0.members == $1.members }
    }
}
