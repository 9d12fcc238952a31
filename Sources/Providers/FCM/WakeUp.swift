import JSON
import Model

extension FCMProvider {
    /// Apps that use the described service name their FCM tokens.
    package var takesUnknownSubscribers: Bool { true }

    /// On Android the message is data alone, of high priority. To Apple's devices FCM passes on the presentation.
    ///
    /// An alert stands in the part for Apple's devices: a common notification would be shown on Android.
    package func wakeUp(_ members: [DataMember], _ presentation: WakeUpPresentation) -> MessageContent {
        var content = MessageContent(data: members)
        content.options.carriesIdentity = false
        content.options.priority = .high
        switch presentation {
        case .background: content.options.pushType = .background
        case .alert(let title, let body):
            let texts = JSONObject([JSONMember("title", .string(title)), JSONMember("body", .string(body))])
            let aps = JSONObject([JSONMember("alert", .object(texts)), JSONMember("mutable-content", 1)])
            let payload = JSONObject([JSONMember("aps", .object(aps))])
            let apns = JSONObject([JSONMember("payload", .object(payload))])
            content.overrides[id] = JSONText(.object(JSONObject([JSONMember("apns", .object(apns))])))
        }
        return content
    }
}
