import PushModel

/// A parcel that nobody will send any more: its message was cancelled, or expired while it was paused.
///
/// It is settled as any other (rule 6), in one go, without its members being read: whatever became of their devices,
/// nothing goes to them.
package struct UnsentParcel: Equatable, Sendable {
    package let id: ParcelID
    package let message: MessageID
    package let epoch: Int32
    package let settles: Int32
    package let attempt: Int16
    /// An earlier attempt may have reached the device: its answer was lost, or its owner died.
    package let mayHaveBeenShown: Bool
    /// All frozen members, settled ones included.
    package let members: [RegistrationID]
    /// Bit `index` is set where the member is settled or handed over. Empty: none.
    package let settledBits: [UInt8]

    package init(
        id: ParcelID, message: MessageID, epoch: Int32, settles: Int32, attempt: Int16, mayHaveBeenShown: Bool,
        members: [RegistrationID], settledBits: [UInt8]
    ) {
        self.id = id
        self.message = message
        self.epoch = epoch
        self.settles = settles
        self.attempt = attempt
        self.mayHaveBeenShown = mayHaveBeenShown
        self.members = members
        self.settledBits = settledBits
    }

    /// - Parameter isCancelled: else it has expired.
    package func settlement(isCancelled: Bool) -> Settlement {
        let ending = Ending.unsent(isCancelled: isCancelled, mayHaveBeenShown: mayHaveBeenShown)
        var bits = settledBits
        let bytes = (members.count + 7) / 8
        if bits.count < bytes { bits += [UInt8](repeating: 0, count: bytes - bits.count) }
        var owed: [RegistrationID] = []
        for index in members.indices where bits[index >> 3] & (1 << UInt8(index & 7)) == 0 {
            owed.append(members[index])
            bits[index >> 3] |= 1 << UInt8(index & 7)
        }
        return Settlement(
            parcel: id, message: message, epoch: epoch, settles: settles,
            endings: [EndingCount(ending: ending, count: owed.count)], settledBits: bits, remainders: [],
            pendingAfter: 0, history: [HistoryEntry(.ended(ending), attempts: attempt, members: owed)])
    }
}

extension Ending {
    /// Of a push that will not be tried again. One that may have been shown is not called unsent (rule 9).
    static func unsent(isCancelled: Bool, mayHaveBeenShown: Bool) -> Ending {
        if mayHaveBeenShown { return Ending(.gaveUp, EndingReason.answerLost) }
        return isCancelled ? Ending(.cancelled, EndingReason.cancelled) : Ending(.expired, EndingReason.expired)
    }
}
