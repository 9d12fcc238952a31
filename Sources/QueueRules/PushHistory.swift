import Model

/// The effect of one settle on some members of its parcel. It answers later questions about what happened to a push.
package struct HistoryEntry: Equatable, Sendable {
    package let event: HistoryEvent
    /// The number of attempts that these pushes have behind them, this lease's included.
    package let attempts: Int16
    /// In rising order.
    package let members: [RegistrationID]

    package init(_ event: HistoryEvent, attempts: Int16, members: [RegistrationID]) {
        (self.event, self.attempts, self.members) = (event, attempts, members)
    }
}

package enum HistoryEvent: Equatable, Sendable {
    case ended(TerminalStatus)
    /// The push was tried, or changed its route, and goes on in another parcel.
    case goesOn(WaitCause)
}

/// Why a push waits in a parcel that is not its first. The raw values are stored and published: never reused.
package enum WaitCause: String, Hashable, Sendable, CaseIterable {
    /// The device gets too many pushes (429).
    case deviceThrottled = "device_throttled"
    /// The provider failed or is overloaded (5xx).
    case providerBusy = "provider_busy"
    /// The provider asks all of us to slow down.
    case providerThrottled = "provider_throttled"
    case providerTokenExpired = "provider_token_expired"
    /// The credential is refused or missing.
    case credentialRefused = "credential_refused"
    case laneBlocked = "lane_blocked"
    case unreachable
    /// The connection or the stream ended before anything was processed.
    case notSent = "not_sent"
    /// The push was sent, and no answer came.
    case answerLost = "answer_lost"
    /// Its owner gave the push back unsent: a stop, or the end of a lease.
    case handedBack = "handed_back"
    /// The registration has another route now.
    case moved
    /// The provider didn't know the token here: the sibling environment is tried once.
    case otherEnvironment = "other_environment"
    /// The device is in the app's quiet hours.
    case quietHours = "quiet_hours"
    /// A push in the parcel ended its process three times: the parcel was cut in two.
    case bisected
}

/// Which of a run's members ended since the last settle, and how.
///
/// Answers come in any order, but a history lists its members in rising order. Each member stores its group's place, so
/// one pass sorts them all.
struct TerminalMembers: Equatable, Sendable {
    fileprivate struct Group: Equatable, Sendable {
        let terminalStatus: TerminalStatus
        let attempts: Int16
        var count: Int
    }

    private var groups: [Group] = []
    /// One per member: its group's place plus one; 0 if it did not end.
    private var places: [Int32]

    init(count: Int) { places = [Int32](repeating: 0, count: count) }

    mutating func add(_ position: Int, _ terminalStatus: TerminalStatus, attempts: Int16) {
        var place = groups.firstIndex { $0.attempts == attempts && $0.terminalStatus == terminalStatus }
        if place == nil {
            groups.append(Group(terminalStatus: terminalStatus, attempts: attempts, count: 0))
            place = groups.count - 1
        }
        guard let place else { return }
        groups[place].count += 1
        places[position] = Int32(place) + 1
    }

    /// Takes the members that ended since the last call, ordered by state, reason and attempts.
    mutating func take(_ members: [LeasedMember]) -> [HistoryEntry] {
        guard !groups.isEmpty else { return [] }
        var gathered = groups.map { group -> [RegistrationID] in
            var room: [RegistrationID] = []
            room.reserveCapacity(group.count)
            return room
        }
        for position in places.indices where places[position] > 0 {
            gathered[Int(places[position]) - 1].append(members[position].registration)
            places[position] = 0
        }
        let order = groups.indices.sorted { groups[$0].isBefore(groups[$1]) }
        let entries = order.map { place in
            HistoryEntry(
                .ended(groups[place].terminalStatus), attempts: groups[place].attempts, members: gathered[place])
        }
        groups = []
        return entries
    }
}

extension TerminalMembers.Group {
    fileprivate func isBefore(_ other: Self) -> Bool {
        terminalStatus == other.terminalStatus
            ? attempts < other.attempts : terminalStatus.isBefore(other.terminalStatus)
    }
}

extension Remainder {
    /// The remainder's entry in the history. A wait for us without an attempt has none: the new parcel shows its cause,
    /// and a lane may be blocked for a day.
    func entry(in parcel: LeasedParcel) -> HistoryEntry? {
        guard attempt > parcel.attempt || route != parcel.route || cause == .bisected else { return nil }
        return HistoryEntry(.goesOn(cause), attempts: attempt, members: members)
    }
}
