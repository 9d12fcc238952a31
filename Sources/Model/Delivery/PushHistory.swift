import Basis

/// One push that ended otherwise than accepted.
package struct PushFailure: Equatable, Sendable {
    /// nil: the device was deleted, or its user erased; or something else was named.
    package let installation: String?
    /// A user whom the message named, and who has no device for it.
    package let user: String?
    /// A token that the message named itself. Not for showing as it is.
    package let token: DeviceToken?
    package let kind: TokenKind
    /// nil: it ended before it had one.
    package let provider: Provider?
    package let terminalStatus: TerminalStatus
    package let at: WallInstant
    /// How often it was tried.
    package let attempts: Int16

    package init(
        installation: String?, user: String? = nil, token: DeviceToken? = nil, kind: TokenKind, provider: Provider?,
        terminalStatus: TerminalStatus, at: WallInstant, attempts: Int16
    ) {
        self.installation = installation
        self.user = user
        self.token = token
        self.kind = kind
        self.provider = provider
        self.terminalStatus = terminalStatus
        self.at = at
        self.attempts = attempts
    }
}

/// What happened to one message's push to one device, as far as it is known.
package struct PushHistory: Equatable, Sendable {
    package let message: MessageID
    package let acceptedAt: WallInstant
    package let installation: String
    package let kind: TokenKind
    /// nil: the app has no such device, now.
    package let registration: RegistrationID?
    package let status: PushStatus
    /// In the order in which they happened.
    package let steps: [PushStep]

    package init(
        message: MessageID, acceptedAt: WallInstant, installation: String, kind: TokenKind,
        registration: RegistrationID?, status: PushStatus, steps: [PushStep]
    ) {
        self.message = message
        self.acceptedAt = acceptedAt
        self.installation = installation
        self.kind = kind
        self.registration = registration
        self.status = status
        self.steps = steps
    }
}

/// Where a push is now.
package enum PushStatus: Equatable, Sendable {
    /// The audience is still being cut, and its turn has not come. → notInAudience, waiting
    case planning
    /// The message is not for this device, or the device came after the message.
    case notInAudience
    /// In a parcel that nobody has leased. → sending
    case waiting(PendingPush)
    /// In a parcel that a process has leased, unanswered as far as is settled. → waiting, ended
    case sending(PendingPush)
    case ended(TerminalStatus)
    /// Over, but nothing tells how: its history has outlived its retention.
    case notKept
}

/// A push that is still owed.
package struct PendingPush: Equatable, Sendable {
    package let parcel: ParcelID
    package let leg: RouteDescription
    package let attempts: Int16
    package let dueAt: WallInstant
    /// Why it waits, where it was tried or handed over before. A newer program may know more words than `WaitCause`.
    package let cause: String?

    package init(parcel: ParcelID, leg: RouteDescription, attempts: Int16, dueAt: WallInstant, cause: String?) {
        self.parcel = parcel
        self.leg = leg
        self.attempts = attempts
        self.dueAt = dueAt
        self.cause = cause
    }
}

/// The route of a parcel, in words.
package struct RouteDescription: Equatable, Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    package let topic: String
    package init(provider: Provider, environment: PushEnvironment, topic: String) {
        self.provider = provider
        self.environment = environment
        self.topic = topic
    }
}

/// One settle's word about a push, or the planner's.
package struct PushStep: Equatable, Sendable {
    package let at: WallInstant
    /// nil: it ended while the audience was cut.
    package let parcel: ParcelID?
    /// nil: there was nobody who had one.
    package let leg: RouteDescription?
    package let attempts: Int16
    package let event: Event

    package enum Event: Equatable, Sendable {
        case ended(TerminalStatus)
        /// Goes on in another parcel; why.
        case goesOn(String)
    }

    package init(at: WallInstant, parcel: ParcelID?, leg: RouteDescription?, attempts: Int16, event: Event) {
        self.at = at
        self.parcel = parcel
        self.leg = leg
        self.attempts = attempts
        self.event = event
    }
}
