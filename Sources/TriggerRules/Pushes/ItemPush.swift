import Basis

/// A push of a subscription, as far as its throttling is concerned.
package struct ItemPush: Equatable, Sendable {
    /// The longest pause that a subscription may ask for.
    package static let pauseMax: Duration = .seconds(86_400)
    /// The pause without one of the app or the subscription.
    ///
    /// Source: the described service, "a default of 1 notification every 30 seconds per device".
    package static let pauseDefault: Duration = .seconds(30)

    /// Whether a trigger fired. Such a push is the only one of its subscription, so it is never replaced or dropped.
    package let isTriggered: Bool
    /// The time for which the push, once it goes, shuts the device's window.
    package let pause: Duration
    package let whenPaused: WhenPaused

    package init(isTriggered: Bool, pause: Duration, whenPaused: WhenPaused) {
        precondition(pause >= .zero && pause <= Self.pauseMax, "the request was checked")
        (self.isTriggered, self.pause, self.whenPaused) = (isTriggered, pause, whenPaused)
    }
}

/// The fate of a push that finds its device's window shut. The raw values are the words of the API.
package enum WhenPaused: String, CaseIterable, Sendable {
    /// The push is held, and the newest one of its subscription goes when the window opens.
    case newest
    case drop
}

/// A push that waits. A subscription has one at most.
package struct HeldPush: Equatable, Sendable {
    /// The time from `readyAt` on for which a trigger's push is kept while nothing may go to its device.
    package static let keptMax: Duration = .seconds(86_400)
    /// The longest time until a push that is kept is looked at again.
    package static let keptAtOnce: Duration = .seconds(3_600)

    package let push: ItemPush
    /// The end of the gathering, from which it goes if the window is open. It stays when the window's time changes.
    package let readyAt: WallInstant

    package init(_ push: ItemPush, readyAt: WallInstant) { (self.push, self.readyAt) = (push, readyAt) }
}
