import Basis
import Model

/// One lease of one parcel, from the moment it is ours to its last settle: what each member still waits for, and what
/// the next settle has to write.
///
/// A value without a clock. Every member leaves `open` exactly once: into an ending or into a remainder. That is what
/// makes the account add up (P2).
package struct ParcelRun: Equatable, Sendable {
    package let parcel: LeasedParcel
    /// When the lease statement left, by our own clock: all lease arithmetic starts here.
    package let leasedAtMonotonic: MonotonicInstant
    package let policy: RetryPolicy
    /// May a push whose answer was lost be sent again? Alerts collapse on the device; a call would ring twice (P4).
    package let isRepeatable: Bool
    /// What has been said of its message since it was leased. Only towards `cancelled`: what it hands back while paused
    /// goes where the message stands then.
    var stop: MessageStop?

    // The state below belongs to this type's own files.

    /// Positions in `parcel.members` that have neither an ending nor a remainder yet.
    var isOpen: [Bool]
    package internal(set) var openCount: Int
    /// Present members that the lane should get; taken once.
    var toSend: [Int32] = []

    var terminalCounts = TerminalTally()
    var ended: TerminalMembers
    var remainders = RemainderTally()
    var verdicts: [GuardedVerdict] = []
    var sample = AnswerSample()
    var settledBits: [UInt8]
    var settles: Int32
    /// Something changed since the last settlement was taken.
    package internal(set) var hasChanges = false
    /// A settle whose reply is outstanding; taken again, unchanged, where the reply was lost.
    package internal(set) var settling: PendingSettle?
    package internal(set) var alarms: [ParcelAlarm] = []

    package init(
        parcel: LeasedParcel, leasedAt: MonotonicInstant, policy: RetryPolicy, isRepeatable: Bool
    ) {
        self.parcel = parcel
        self.leasedAtMonotonic = leasedAt
        self.policy = policy
        self.isRepeatable = isRepeatable
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

    /// The positions to hand to the lane; empties with the call.
    package mutating func takeMembersToSend() -> [Int32] {
        defer { toSend = [] }
        return toSend
    }

    /// Our estimate of the database's clock: its time at the lease, plus what passed on ours.
    package func wall(at now: MonotonicInstant) -> WallInstant {
        parcel.leasedAt + (now - leasedAtMonotonic)
    }

    /// When its pushes expire, by our own clock.
    package var expiry: MonotonicInstant {
        let left = (parcel.expiresAt - parcel.leasedAt).wholeNanoseconds
        let (sum, overflow) = leasedAtMonotonic.nanoseconds.addingReportingOverflow(left)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// An earlier attempt may have reached the device: its answer was lost, or an owner died that was free to send it.
    func mayHaveBeenShown(_ position: Int) -> Bool {
        (parcel.answerLost || parcel.lapses > 0) && !wasNeverSent(position)
    }

    func wasNeverSent(_ position: Int) -> Bool {
        parcel.neverSent.indices.contains(position) && parcel.neverSent[position]
    }

    // What each member starts with.
    mutating func sortByStatus() {
        let isExpired = parcel.leasedAt >= parcel.expiresAt
        let isPoisoned = parcel.lapses >= PoisonRule.lapsesMax
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
        if isPoisoned { bisect(present) } else { toSend = present }
    }

    /// A parcel that ended three of its owners is cut in two, until the one push that does it stands alone. Of a company
    /// of which the others are gone or moved by now, the one that is left is no culprit yet: it goes on alone.
    mutating func bisect(_ present: [Int32]) {
        guard parcel.members.count > 1 else {
            for position in present {
                end(Int(position), TerminalStatus(.gaveUp, TerminalReason.poison))
                alarms.append(.poison(parcel.members[Int(position)].registration))
            }
            return
        }
        for (place, position) in present.enumerated() {
            // Two groups must not melt into one: they differ in when they fall due.
            let dueAfter: Duration = place < present.count / 2 ? .zero : .seconds(1)
            goOn(
                Int(position), route: parcel.route, dueAfter: dueAfter, attempt: parcel.attempt,
                lapses: PoisonRule.lapsesMax - 1, spent: parcel.retrySpent, answerLost: true, cause: .bisected,
                origin: parcel.origin)
        }
    }
}

/// Something an operator should know about one push.
package enum ParcelAlarm: Equatable, Sendable {
    case poison(RegistrationID)
    case ourFault(reason: String)
}

package enum PoisonRule {
    /// Two lapses happen (a deploy, a crash, a frozen machine); three of the same parcel are a pattern.
    package static let lapsesMax: Int16 = 3
    /// From here on a parcel travels alone: what dies with a process that a push ended would lapse with it, and end
    /// as poison although it is none.
    package static let quarantineFrom: Int16 = 2
}

/// Stable words for endings that no provider named.
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
    package static let localTimePassed = "local_time_passed"
    package static let quietHours = "quiet_hours"
    package static let dailyCap = "daily_cap"
}
