/// An app's settings for wake-up: its data tree, and the subscriptions to it.
package struct WakeUpSettings: Equatable, Sendable {
    package var isEnabled = false
    /// The days after which a subscription expires that was not refreshed.
    package var defaultDays: Int32 = 30
    /// The most days that a subscription may ask for.
    package var longestDays: Int32 = 365
    /// The shortest time between two wake-ups of a subscription. The first change of a burst is passed on at once, and
    /// the others together after this time.
    package var gatherMilliseconds: Int32 = 1_000
    /// A node that weighs more can't be subscribed to: its leaves, and the bytes of their paths and values.
    package var weightLeavesMax: Int32 = 10_000
    package var weightBytesMax: Int32 = 1 << 20
    /// The most subscriptions of the app, since anybody who may read a node may subscribe any token to it.
    package var subscriptionsMax: Int32 = 10_000_000
    /// Above half of that, subscriptions end whose tokens have taken no push for so many hours, and that no backend
    /// registered.
    package var unprovenHours: Int32 = 24
    /// Named `apns` in the API and in the app's row.
    package var presentation = WakeUpPresentation.background

    package init() {}

    package static let days: ClosedRange<Int32> = 1...3_650
    package static let gather: ClosedRange<Int32> = 0...60_000
    package static let weight: ClosedRange<Int32> = 1...1_000_000_000
    package static let subscriptions: ClosedRange<Int32> = 1...10_000_000
    /// With 0, a new token could end before its first push.
    package static let unproven: ClosedRange<Int32> = 1...8_760

    package var gather: Duration { .milliseconds(Int64(gatherMilliseconds)) }
    package var expiresAfter: Duration { .seconds(Int64(min(defaultDays, longestDays)) * 86_400) }
}

/// The form in which a wake-up reaches an app on Apple's systems.
package enum WakeUpPresentation: Equatable, Sendable {
    /// Shows nothing, and starts the app itself for some seconds, if the system thinks it worth that.
    case background
    /// Starts the app's notification service extension, which may replace these texts before they are shown.
    case alert(title: String, body: String)

    package static let titleBytesMax = 256
    package static let bodyBytesMax = 1_024
}

/// A change of wake-up settings. nil leaves a member as it is.
package struct WakeUpChange: Equatable, Sendable {
    package var isEnabled: Bool?
    package var defaultDays: Int32?
    package var longestDays: Int32?
    package var gatherMilliseconds: Int32?
    package var weightBytesMax: Int32?
    package var weightLeavesMax: Int32?
    package var subscriptionsMax: Int32?
    package var unprovenHours: Int32?
    package var presentation: WakeUpPresentation?

    package init() {}

    package var isEmpty: Bool { self == WakeUpChange() }
}
