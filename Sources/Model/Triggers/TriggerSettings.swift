/// An app's settings for subscriptions to items: named `triggers` in the API and in the app's row.
package struct TriggerSettings: Equatable, Sendable {
    package var isEnabled = false
    /// The pause after each push to a device, unless its subscription has one of its own.
    package var pauseSeconds: Int32 = 30
    /// Regular expressions, as PostgreSQL reads them. A trigger must match one of them whole; without any, all triggers
    /// are refused.
    package var allow: [String] = []
    package var hooks = TriggerHooks()

    package init() {}

    package static let pause: ClosedRange<Int32> = 0...86_400
    package static let patternsMax = 50
    package static let patternBytesMax = 512
    package static let subscriptionsPerDeviceMax = 1_000
}

/// Expressions that users' requests are asked about, in the language of read rules. nil denies the request.
package struct TriggerHooks: Equatable, Sendable {
    /// Asked at each request with a user's token.
    package var device: String?
    /// Asked when a subscription is activated, modified or reactivated, for each pair of its items and fields.
    package var activation: String?
    /// Asked when an installation's token changes.
    package var token: String?

    package init(device: String? = nil, activation: String? = nil, token: String? = nil) {
        (self.device, self.activation, self.token) = (device, activation, token)
    }
}

/// A change of these settings. nil leaves a member as it is.
package struct TriggerChange: Equatable, Sendable {
    package var isEnabled: Bool?
    package var pauseSeconds: Int32?
    package var allow: [String]?
    /// nil inside removes the hook.
    package var deviceHook: String??
    package var activationHook: String??
    package var tokenHook: String??

    package init() {}

    package var isEmpty: Bool { self == TriggerChange() }
}

/// The id of the form that the pushes of a subscription to items have.
package struct PushTemplateID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: PushTemplateID, right: PushTemplateID) -> Bool { left.value < right.value }
}
