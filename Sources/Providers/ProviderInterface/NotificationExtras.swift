import JSON
import Model

/// The members of a notification beyond its text, in the form that Apple's devices read: APNs sends it, and FCM hands it
/// on to them.
package enum NotificationExtras {
    /// Returns the members of `aps`. An app's service extension is started for a picture, which it fetches.
    ///
    /// Source: Apple, "Generating a remote notification".
    package static func aps(_ content: MessageContent, _ text: NotificationText?) -> [JSONMember] {
        var members: [JSONMember] = []
        if let category = content.presentation.category { members.append(JSONMember("category", .string(category))) }
        if let thread = content.presentation.thread { members.append(JSONMember("thread-id", .string(thread))) }
        if let level = content.presentation.interruption {
            members.append(JSONMember("interruption-level", .string(name(of: level))))
        }
        if text?.image != nil { members.append(JSONMember("mutable-content", 1)) }
        return members
    }

    /// Returns the sound. A critical alert needs this form to be heard on a muted phone.
    ///
    /// Source: Apple, "Generating a remote notification", the sound dictionary.
    package static func sound(_ content: MessageContent) -> JSONValue? {
        content.sound.map { sound in
            guard content.presentation.interruption == .critical else { return .string(sound) }
            return .object(
                JSONObject([JSONMember("critical", 1), JSONMember("name", .string(sound)), JSONMember("volume", 1)]))
        }
    }

    private static func name(of level: InterruptionLevel) -> String {
        switch level {
        case .passive: "passive"
        case .active: "active"
        case .timeSensitive: "time-sensitive"
        case .critical: "critical"
        }
    }
}
