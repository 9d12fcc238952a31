import Model

/// A parcel that will not be sent any more: its message was cancelled, or expired while it was paused.
///
/// It is settled like any other (rule 6), in one step. Its members are not read, because no push goes to them whatever
/// became of their devices.
package struct UnsentParcel: Equatable, Sendable {
    package let id: ParcelID
    package let message: MessageID
    package let route: RouteID
    package let epoch: Int32
    package let settles: Int32
    package let attempt: Int16
    /// An earlier attempt may have reached the device: its answer was lost, or an owner that was free to send died.
    package let mayHaveBeenShown: Bool
    /// The message increments badges, and the badge mark covers the members, except those in `deferredBits`.
    package let countsBadges: Bool
    /// `LeasedParcel.badgeSet`
    package let badgeSet: Int64?
    /// All frozen members, settled ones included.
    package let members: [RegistrationID]
    /// Bit `index` is set if the member is settled or handed over. Empty: no bit is set.
    package let settledBits: [UInt8]
    /// Bit `index` is set if limits deferred the member at every lease so far. Empty: no bit is set.
    package let deferredBits: [UInt8]

    package init(
        id: ParcelID, message: MessageID, route: RouteID, epoch: Int32, settles: Int32, attempt: Int16,
        mayHaveBeenShown: Bool, countsBadges: Bool = false, badgeSet: Int64? = nil,
        members: [RegistrationID], settledBits: [UInt8], deferredBits: [UInt8] = []
    ) {
        (self.id, self.message, self.route) = (id, message, route)
        (self.epoch, self.settles, self.attempt) = (epoch, settles, attempt)
        (self.mayHaveBeenShown, self.members, self.settledBits) = (mayHaveBeenShown, members, settledBits)
        (self.countsBadges, self.badgeSet, self.deferredBits) = (countsBadges, badgeSet, deferredBits)
    }

    package func settlement(isCancelled: Bool) -> Settlement {
        var bits = settledBits
        let bytes = (members.count + 7) / 8
        if bits.count < bytes { bits += [UInt8](repeating: 0, count: bytes - bits.count) }
        var unsent: [RegistrationID] = []
        var perhapsShown: [RegistrationID] = []
        var takenBack: [RegistrationID] = []
        for index in members.indices where !bits.hasBit(index) {
            if mayHaveBeenShown && !deferredBits.hasBit(index) {
                perhapsShown.append(members[index])
            } else {
                unsent.append(members[index])
                if countsBadges && !deferredBits.hasBit(index) { takenBack.append(members[index]) }
            }
            bits[index >> 3] |= 1 << UInt8(index & 7)
        }
        let groups = [(false, unsent), (true, perhapsShown)].filter { !$0.1.isEmpty }.map {
            (terminalStatus: TerminalStatus.unsent(isCancelled: isCancelled, mayHaveBeenShown: $0), members: $1)
        }
        return Settlement(
            parcel: id, message: message, route: route, epoch: epoch, settles: settles,
            terminalCounts: groups.map { TerminalCount(terminalStatus: $0.terminalStatus, count: $0.members.count) },
            settledBits: bits, remainders: [], pendingAfter: 0,
            history: groups.map { HistoryEntry(.ended($0.terminalStatus), attempts: attempt, members: $0.members) },
            takenBack: takenBack, badgeSet: badgeSet)
    }
}

extension [UInt8] {
    fileprivate func hasBit(_ index: Int) -> Bool {
        index >> 3 < count && self[index >> 3] & (1 << UInt8(index & 7)) != 0
    }
}

extension TerminalStatus {
    /// Whether the attempts of the lease that ended the push can't have been shown. Earlier ones may have been.
    var isUnshown: Bool {
        switch state {
        case .accepted: false
        case .rejected, .unregistered, .expired, .suppressed, .cancelled: true
        case .gaveUp: reason == TerminalReason.retriesExhausted
        }
    }

    /// The terminal state of a push that is not tried again. One that may have been shown is not called unsent (rule
    /// 9).
    static func unsent(isCancelled: Bool, mayHaveBeenShown: Bool) -> TerminalStatus {
        if mayHaveBeenShown { return TerminalStatus(.gaveUp, TerminalReason.answerLost) }
        return isCancelled
            ? TerminalStatus(.cancelled, TerminalReason.cancelled) : TerminalStatus(.expired, TerminalReason.expired)
    }
}
