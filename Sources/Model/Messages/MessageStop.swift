package enum ControlRequest: Equatable, Sendable {
    case pause, resume, cancel
    /// Pushes per second over all processes, 1 to `MessageRate.perSecondMax`; nil: as fast as accepted.
    case rate(Int32?)
}

package enum MessageRate {
    /// More than any provider accepts.
    package static let perSecondMax: Int32 = 1_000_000
}

package struct RatedMessage: Equatable, Sendable {
    package let message: MessageID
    package let perSecond: Int32
    package init(message: MessageID, perSecond: Int32) { (self.message, self.perSecond) = (message, perSecond) }
}

package enum ControlReply: Equatable, Sendable {
    /// The request is in effect, from now on or already before.
    case done
    case noSuchMessage
    /// The message is finished or cancelled, so no change is possible.
    case over(MessageState)
    /// The caller may not change a message to such an audience, for which a key needs this scope. Nothing was changed.
    case forbidden(APIScope)
}

package enum MessageStop: Hashable, Sendable {
    /// Pending pushes wait until the message is resumed.
    case paused
    /// Pending pushes that were never tried end as cancelled.
    case cancelled
}

package struct StoppedMessage: Equatable, Sendable {
    package let message: MessageID
    package let stop: MessageStop
    package init(message: MessageID, stop: MessageStop) { (self.message, self.stop) = (message, stop) }
}
