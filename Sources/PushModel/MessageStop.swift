/// What may be said of a message that was accepted.
package enum LifeWish: Equatable, Sendable {
    case pause, resume, cancel
}

/// What came of it.
package enum LifeReply: Equatable, Sendable {
    /// It stands as it was wished: from now on, or already before.
    case stands
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
