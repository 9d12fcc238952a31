import Basis
import Model

/// One lease of one parcel, from its start to its last settle: what each member still waits for, and what the next
/// settle has to write.
///
/// A value without a clock. Every member leaves `isOpen` exactly once, into a terminal state or a remainder. That makes
/// the account add up (P2).
package struct ParcelRun: Equatable, Sendable {
    package let parcel: LeasedParcel
    /// When the lease statement left, by our own clock: all lease arithmetic starts here.
    package let leasedAtMonotonic: MonotonicInstant
    package let policy: RetryPolicy
    /// Whether a push may be sent again after its answer was lost. Alerts collapse on the device; a call would ring
    /// twice (P4).
    package let isRepeatable: Bool
    /// The message's stop since the lease. Only `cancelled` ends members here: the settle puts remainders of a paused
    /// message on hold.
    var stop: MessageStop?

    // The state below belongs to this type's own files.

    /// By position in `parcel.members`: true until the member has a terminal state or a remainder.
    var isOpen: [Bool]
    package internal(set) var openCount: Int
    /// Present members that the lane should get; taken once.
    var toSend: [Int32] = []

    var terminalCounts = TerminalTally()
    var ended: TerminalMembers
    var remainders = RemainderTally()
    /// Members whose increment the next settle takes back.
    var takenBack: [RegistrationID] = []
    var verdicts: [GuardedVerdict] = []
    var sample = AnswerSample()
    /// The first complaint of the provider about the message; nil: there is none.
    private(set) var complaint: MessageComplaint?
    var settledBits: [UInt8]
    var settles: Int32
    /// True if anything changed since the last settlement was taken.
    package internal(set) var hasChanges = false
    /// The settle whose reply is outstanding; repeated unchanged if the reply was lost.
    package internal(set) var settling: PendingSettle?
    package internal(set) var alarms: [ParcelAlarm] = []

    package init(parcel: LeasedParcel, leasedAt: MonotonicInstant, policy: RetryPolicy, isRepeatable: Bool) {
        (self.parcel, self.leasedAtMonotonic, self.policy, self.isRepeatable) = (parcel, leasedAt, policy, isRepeatable)
        isOpen = [Bool](repeating: true, count: parcel.members.count)
        openCount = parcel.members.count
        ended = TerminalMembers(count: parcel.members.count)
        settles = parcel.settles
        let bitmapBytes = (parcel.memberCount + 7) / 8
        settledBits = parcel.settledBits
        if settledBits.count < bitmapBytes {
            settledBits.append(contentsOf: [UInt8](repeating: 0, count: bitmapBytes - settledBits.count))
        }
        sortByStatus()
    }

    /// Keeps the first complaint: all pushes of a message are wrong in the same way.
    package mutating func note(_ complaint: MessageComplaint) { self.complaint = self.complaint ?? complaint }

    /// The positions to hand to the lane; empties with the call.
    package mutating func takeMembersToSend() -> [Int32] {
        defer { toSend = [] }
        return toSend
    }

    /// Our estimate of the database's clock: its time at the lease, plus the time since on our clock.
    package func wall(at now: MonotonicInstant) -> WallInstant { parcel.leasedAt + (now - leasedAtMonotonic) }

    /// When its pushes expire, by our own clock.
    package var expiry: MonotonicInstant {
        let left = (parcel.expiresAt - parcel.leasedAt).wholeNanoseconds
        let (sum, overflow) = leasedAtMonotonic.nanoseconds.addingReportingOverflow(left)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// An earlier attempt may have reached the device: its answer was lost, or an owner that was free to send it died.
    func mayHaveBeenShown(_ position: Int) -> Bool {
        (parcel.answerLost || parcel.lapses > 0) && !wasNeverSent(position)
    }

    func wasNeverSent(_ position: Int) -> Bool {
        parcel.neverSent.indices.contains(position) && parcel.neverSent[position]
    }

    // Gives each member its first state.
    mutating func sortByStatus() {
        let isExpired = parcel.leasedAt >= parcel.expiresAt
        var present: [Int32] = []
        for position in parcel.members.indices {
            switch parcel.members[position].status {
            case .deleted: end(position, TerminalStatus(.unregistered, TerminalReason.deviceDeleted))
            case .retired: end(position, TerminalStatus(.unregistered, TerminalReason.retired))
            case .excluded(let change): end(position, TerminalStatus(.unregistered, change.reason))
            case .moved(let route):
                if isExpired {
                    endExpired(position)
                } else if !deferByLimits(position, goingOn: route) {
                    handOver(position, to: route)
                }
            case .present:
                if isExpired {
                    endExpired(position)
                } else if deferByLimits(position, goingOn: parcel.origin?.route ?? parcel.route) {
                    continue
                } else if mayHaveBeenShown(position) && !isRepeatable {
                    end(position, TerminalStatus(.gaveUp, TerminalReason.answerLost))
                } else {
                    present.append(Int32(position))
                }
            }
        }
        if PoisonRule.maySend(parcel.members.count, afterLapses: parcel.lapses) {
            toSend = present
        } else if parcel.members.count > 1 {
            bisect(present)
        } else {
            giveUpPoison(present)
        }
    }

    private mutating func giveUpPoison(_ present: [Int32]) {
        for position in present {
            end(Int(position), TerminalStatus(.gaveUp, TerminalReason.poison))
            alarms.append(.poison(parcel.members[Int(position)].registration))
        }
    }

    /// Cuts a parcel that ended three of its owners in two, until the guilty push is alone in its parcel.
    ///
    /// If the other members are gone or moved, the one that is left is not proven guilty: it goes on alone in
    /// quarantine.
    private mutating func bisect(_ present: [Int32]) {
        for (place, position) in present.enumerated() {
            // The two halves must not merge into one remainder, so their due times differ.
            let dueAfter: Duration = place < present.count / 2 ? .zero : .seconds(1)
            goOn(
                Int(position), route: parcel.route, dueAfter: dueAfter, attempt: parcel.attempt,
                lapses: PoisonRule.bisectedFrom - 1, spent: parcel.retrySpent, answerLost: true, cause: .bisected,
                origin: parcel.origin)
        }
    }
}

/// Something an operator should know about one push.
package enum ParcelAlarm: Equatable, Sendable {
    case poison(RegistrationID)
    case ourFault(reason: String)
}

/// Stable reasons of terminal states that no provider named.
package enum TerminalReason {
    package static let deviceDeleted = "device_deleted"
    package static let retired = "retired"
    package static let userChanged = "user_changed"
    package static let audienceChanged = "audience_changed"
    package static let unknownDevice = "unknown_device"
    package static let unknownUser = "unknown_user"
    package static let noRegistrationOfKind = "no_registration_of_kind"
    package static let retriesExhausted = "retries_exhausted"
    package static let answerLost = "answer_lost"
    package static let poison = "poison"
    package static let expired = "expired"
    package static let cancelled = "cancelled"
    package static let dryRun = "dry_run"
    package static let nothingToShow = "nothing_to_show"
    package static let localTimePassed = "local_time_passed"
    package static let quietHours = "quiet_hours"
    package static let dailyCap = "daily_cap"
}
