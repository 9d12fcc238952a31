/// How many days what grows without end is kept. Counts and accounts of messages stay for ever.
package struct Retention: Equatable, Sendable {
    /// What happened to each push of a message, from the message's day on: a support case comes weeks after its push.
    package var historyDays: Int64 = 30
    /// What a message said, and the tokens that it named itself, from when it was accepted on; while it is not over it
    /// keeps them all the same. As long as the longest time to live, and two days to look into it.
    package var contentDays: Int64 = 30
    /// An entry of the feed, from its verdict on. A backend that was away for longer has forgotten more than that.
    package var feedbackDays: Int64 = 365

    package init() {}
}
