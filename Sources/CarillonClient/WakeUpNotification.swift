/// A wake-up push of the gateway: the app and the path that it is about, and the event there.
///
/// On Android through FCM or HMS, parse the data map; on Apple's systems, parse `userInfo`:
///
/// ```swift
/// guard let notification = WakeUpNotification(userInfo: request.content.userInfo) else {
///     return contentHandler(request.content)
/// }
/// ```
///
/// Equality compares texts by their UTF-8 bytes.
public struct WakeUpNotification: Sendable {
    /// The app's name at the gateway: the payload's member `app`. Never empty.
    public let app: String
    /// The subscribed path as it was written: the payload's member `sp`. It begins with a slash.
    public let path: String
    /// The change at the path, or the end of the subscription.
    public let event: WakeUpEvent

    /// Makes a notification by hand, for previews and tests of an app.
    public init(app: String, path: String, event: WakeUpEvent) {
        (self.app, self.path, self.event) = (app, path, event)
    }

    /// Parses the data map of an FCM or HMS message.
    ///
    /// Returns nil for every message that is not a wake-up push:
    /// - Type: `t` is missing or none of `noData`, `value`, `childEvent` and `revoke`.
    /// - Address: `app` is missing or empty, or `sp` does not begin with a slash.
    /// - Format: `v` is neither absent nor `2`.
    /// - Content: a member that the type needs is missing, or the JSON inside it is not valid.
    ///
    /// Members with other names are ignored. An encrypted payload (member `e`) is not parsed yet and gives nil.
    ///
    /// Source: "Receive and parse a wake-up message" in the wake-up API's description.
    public init?(payload: [String: String]) {
        guard let payload = WakeUpPayload(payload) else { return nil }
        self.init(payload)
    }

    /// Parses the `userInfo` of an Apple notification, sent by APNs itself or through FCM.
    ///
    /// The members are the same as those of the data map and stand beside `aps`. Returns nil in the same cases, and if
    /// one of the members is not a string. Other keys are ignored, such as `aps`, `gcm.message_id` and `google.c.a.e`.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let payload = WakeUpPayload(userInfo: userInfo) else { return nil }
        self.init(payload)
    }

    private init?(_ payload: WakeUpPayload) {
        guard payload.hasKnownFormat, let app = payload.app, let path = payload.path, let event = payload.event else {
            return nil
        }
        self.init(app: app, path: path, event: event)
    }
}

extension WakeUpNotification: Equatable {
    public static func == (left: WakeUpNotification, right: WakeUpNotification) -> Bool {
        left.app.hasSameBytes(as: right.app) && left.path.hasSameBytes(as: right.path) && left.event == right.event
    }
}
