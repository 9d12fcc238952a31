/// The number of days for which growing data is kept. Counts and accounts of messages stay for ever.
package struct Retention: Equatable, Sendable {
    /// The steps of each push, from the message's day on: a support case comes weeks after its push.
    package var historyDays: Int64
    /// A message's content and inline targets, from its acceptance on, and at least until it finished. It is the
    /// longest time to live, and two days to look into it.
    package var contentDays: Int64
    /// A feed entry, from its verdict on. A backend that was away for longer has forgotten more than that.
    package var feedbackDays: Int64

    package init(historyDays: Int64, contentDays: Int64, feedbackDays: Int64) {
        (self.historyDays, self.contentDays, self.feedbackDays) = (historyDays, contentDays, feedbackDays)
    }
}
