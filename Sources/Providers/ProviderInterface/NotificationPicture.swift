import JSON
import Model

/// A push as a provider's devices show it, for people to look at. Its texts are the sender's: a terminal needs them
/// cleaned.
package struct NotificationPicture: Equatable, Sendable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
    /// The address of the picture in the notification.
    package var image: String?
    /// Everything else that the device gets, in short: "badge 3", "sound default".
    package var facts: [String] = []

    package init() {}
}

extension PushProvider {
    package var deviceName: String { "A device of \(title)" }

    package func picture(of body: JSONValue, badge: String?) -> NotificationPicture? { nil }

    package func remarks(
        about text: NotificationText?, _ presentation: NotificationPresentation, sound: String?
    ) -> [String] { [] }

    /// Says which of the sender's members the provider's devices ignore; nothing if there are none.
    /// - Parameter members: the members that they ignore; nil: the message has no such member.
    package func remarks(ignoring members: [(name: String, value: String?)]) -> [String] {
        let names = members.filter { $0.value != nil }.map(\.name)
        return names.isEmpty ? [] : ["\(deviceName) has no use for: \(names.joined(separator: ", "))."]
    }
}
