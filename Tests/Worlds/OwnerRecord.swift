import Model

/// The changes of registrations' owners. Only checkers read it.
package struct OwnerRecord: Sendable {
    package enum Owner: Equatable, Sendable {
        /// A user is signed in on the device, or nobody, and it has these tags.
        case user(String?, tags: [String])
        /// Another installation took the registration's token.
        case otherInstallation
        /// The device was removed.
        case removed
    }

    /// Oldest first.
    private var changes: [RegistrationID: [(owner: Owner, at: SimulatedTime)]] = [:]  // lookup only

    package init() {}

    package mutating func note(_ owner: Owner, of registration: RegistrationID, at time: SimulatedTime) {
        changes[registration, default: []].append((owner, time))
    }

    /// Records that a device registered: its token is its own again.
    mutating func noteRegistered(_ row: RegistrationRow, at time: SimulatedTime) {
        guard changes[row.id]?.last?.owner == .otherInstallation else { return }
        note(.user(row.stored.profile[.user], tags: row.stored.profile.tags), of: row.id, at: time)
    }

    /// The first change since which no owner fits; nil: the last owner fits, or nothing has changed.
    package func lost(_ registration: RegistrationID, unless fits: (Owner) -> Bool) -> SimulatedTime? {
        changes[registration]?.reversed().prefix { !fits($0.owner) }.last?.at
    }
}
