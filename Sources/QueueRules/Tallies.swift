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
    func inOrder() -> [TerminalCount] { counts.sorted { $0.terminalStatus.isBefore($1.terminalStatus) } }
}

extension TerminalStatus {
    func isBefore(_ other: TerminalStatus) -> Bool { (state.rawValue, reason) < (other.state.rawValue, other.reason) }
}

/// Members that go on in new parcels, grouped by everything that those parcels have in common.
struct RemainderTally: Equatable, Sendable {
    /// Without their members.
    private var groups: [Remainder] = []
    private var members: [[RegistrationID]] = []

    mutating func add(_ member: RegistrationID, to group: Remainder) {
        if let place = groups.firstIndex(of: group) { return members[place].append(member) }
        groups.append(group)
        members.append([member])
    }

    /// Sorted, because answers come in any order and parcels list members in rising order.
    func remainders() -> [Remainder] {
        zip(groups, members).map { group, members in
            var remainder = group
            remainder.members = members.sorted()
            return remainder
        }
    }
}
