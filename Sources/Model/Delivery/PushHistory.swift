import Basis

/// One push that did not end as accepted.
package struct PushFailure: Equatable, Sendable {
    /// The device; nil if it was deleted, its user was erased, or the message named something else.
    package let installation: String?
    /// A user whom the message named and who has no device for it.
    package let user: String?
    /// A token that the message named. Do not show it as it is.
    package let token: DeviceToken?
    package let kind: TokenKind
    /// The provider; nil if the push ended before it had one.
    package let provider: Provider?
    package let terminalStatus: TerminalStatus
    /// The provider's complaint behind the reason; nil: it named nothing.
    package let detail: String?
    package let at: WallInstant
    package let attempts: Int16

    package init(
        installation: String?, user: String? = nil, token: DeviceToken? = nil, kind: TokenKind, provider: Provider?,
        terminalStatus: TerminalStatus, detail: String? = nil, at: WallInstant, attempts: Int16
    ) {
        (self.installation, self.user, self.token, self.kind) = (installation, user, token, kind)
        (self.provider, self.terminalStatus, self.detail) = (provider, terminalStatus, detail)
        (self.at, self.attempts) = (at, attempts)
    }
}

package struct PushHistory: Equatable, Sendable {
    package let message: MessageID
    package let acceptedAt: WallInstant
    package let installation: String
    package let kind: TokenKind
    package let registration: RegistrationID?
    package let status: PushStatus
    package let steps: [PushStep]

    package init(
        message: MessageID, acceptedAt: WallInstant, installation: String, kind: TokenKind,
        registration: RegistrationID?, status: PushStatus, steps: [PushStep]
    ) {
        (self.message, self.acceptedAt, self.installation, self.kind) = (message, acceptedAt, installation, kind)
        (self.registration, self.status, self.steps) = (registration, status, steps)
    }
}

package enum PushStatus: Equatable, Sendable {
    /// The audience is still being cut and has not reached the device. → notInAudience, waiting
    case planning
    /// The message is not for this device, or the device was registered later.
    case notInAudience
    /// The push is in a parcel that is not leased. → sending
    case waiting(PendingPush)
    /// The push is in a leased parcel, and no answer is settled. → waiting, ended
    case sending(PendingPush)
    case ended(TerminalStatus)
    /// Nothing is known: the history was deleted after its retention, or the device was deleted.
    case notKept
}

package struct PendingPush: Equatable, Sendable {
    package let parcel: ParcelID
    package let leg: RouteDescription
    package let attempts: Int16
    package let dueAt: WallInstant
    /// The reason for the wait, if it was tried before. A newer version may know more than `WaitCause`.
    package let cause: String?

    package init(parcel: ParcelID, leg: RouteDescription, attempts: Int16, dueAt: WallInstant, cause: String?) {
        (self.parcel, self.leg, self.attempts, self.dueAt, self.cause) = (parcel, leg, attempts, dueAt, cause)
    }
}

package struct RouteDescription: Equatable, Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    package let topic: String
    package init(provider: Provider, environment: PushEnvironment, topic: String) {
        (self.provider, self.environment, self.topic) = (provider, environment, topic)
    }
}

package struct PushStep: Equatable, Sendable {
    package let at: WallInstant
    /// The parcel; nil if the push ended while the audience was cut.
    package let parcel: ParcelID?
    package let leg: RouteDescription?
    package let attempts: Int16
    package let event: Event
    /// The provider's complaint behind the event's reason; nil: it named nothing.
    package var detail: String?

    package enum Event: Equatable, Sendable {
        case ended(TerminalStatus)
        /// The push continues in another parcel, for this reason.
        case goesOn(String)
    }

    package init(
        at: WallInstant, parcel: ParcelID?, leg: RouteDescription?, attempts: Int16, event: Event, detail: String? = nil
    ) {
        (self.at, self.parcel, self.leg, self.attempts, self.event) = (at, parcel, leg, attempts, event)
        self.detail = detail
    }
}
