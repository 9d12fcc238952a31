import JSON
import Model

extension APNsProvider {
    package var takesUnknownSubscribers: Bool { false }

    /// The members stand beside `aps`. An alert starts the app's notification service extension, which a background
    /// push does not reach.
    ///
    /// Source: "UNNotificationServiceExtension", mutable-content.
    package func wakeUp(_ members: [DataMember], _ presentation: WakeUpPresentation) -> MessageContent {
        var content = MessageContent(data: members)
        switch presentation {
        case .background: content.options.pushType = .background
        case .alert(let title, let body):
            content.notification = NotificationText(title: title, body: body)
            content.overrides[id] = JSONText(
                .object(JSONObject([JSONMember("aps", .object(JSONObject([JSONMember("mutable-content", 1)])))])))
        }
        return content
    }
}
