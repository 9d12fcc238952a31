/// What may be said of a message that was accepted.
package enum ControlRequest: Equatable, Sendable {
    case pause, resume, cancel
    /// So many pushes a second over all processes, 1 to `MessageRate.perSecondMax`; nil: as fast as its providers take it.
    case rate(Int32?)
}

/// What a message may ask for.
package enum MessageRate {
    /// More than any provider takes.
    package static let perSecondMax: Int32 = 1_000_000
}

/// How fast a message may be sent from now on.
package struct RatedMessage: Equatable, Sendable {
    package let message: MessageID
    package let perSecond: Int32
    package init(message: MessageID, perSecond: Int32) {
        self.message = message
        self.perSecond = perSecond
    }
}

/// What came of it.
package enum ControlReply: Equatable, Sendable {
    /// It stands as it was wished: from now on, or already before.
    case done
    case noSuchMessage
    /// Not possible any more: it is finished, or cancelled.
    case over(MessageState)
}

/// Why nothing of a message may be sent.
package enum MessageStop: Hashable, Sendable {
    /// Until it is resumed: what it owes waits.
    case paused
    /// For good: what it owes and was not tried ends as cancelled.
    case cancelled
}

package struct StoppedMessage: Equatable, Sendable {
    package let message: MessageID
    package let stop: MessageStop
    package init(message: MessageID, stop: MessageStop) {
        self.message = message
        self.stop = stop
    }
}
