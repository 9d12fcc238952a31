/// How the pushes of a subscription to items are delivered, as far as their provider offers a choice.
///
/// Source: the described service, "Activating an MPN Subscription on Android".
package struct ItemDelivery: Equatable, Sendable {
    /// Only the newest of the pushes with this key reaches a device that was switched off; nil: all of them do.
    package let collapseKey: String?
    /// Whether a push may wait while the device sleeps.
    package let waitsWhileIdle: Bool
    /// The time for which the provider keeps a push for a device that is switched off; nil: its default.
    package let ttlSeconds: Int32?
    /// Whether the subscription has a notification. Without one, its pushes are data alone.
    package let hasNotification: Bool

    package init(
        collapseKey: String? = nil, waitsWhileIdle: Bool = false, ttlSeconds: Int32? = nil, hasNotification: Bool
    ) {
        (self.collapseKey, self.waitsWhileIdle, self.ttlSeconds) = (collapseKey, waitsWhileIdle, ttlSeconds)
        self.hasNotification = hasNotification
    }
}
