import Model

/// The sentences below a preview about what a provider's phones do not show, or show under a condition only.
package enum PreviewRemarks {
    /// - Parameter text: the text in the phone's language.
    package static func lines(
        about text: NotificationText?, _ presentation: NotificationPresentation, sound: String?, on provider: Provider
    ) -> [String] {
        switch provider {
        case .apns:
            return unknown([("channel", presentation.channel)], to: "An iPhone")
                + line(
                    text?.image != nil,
                    "An iPhone shows the picture only if the app has a notification service extension.")
                + line(
                    presentation.interruption == .critical,
                    "A critical alert needs Apple's entitlement; without it the notification is active.")
        case .fcm:
            let members = [
                ("subtitle", text?.subtitle), ("category", presentation.category), ("thread", presentation.thread),
            ]
            return unknown(members, to: "An Android phone")
                + line(
                    presentation.interruption != nil || sound != nil,
                    "From Android 8 on, the channel decides the sound and the importance.")
        case .hms, .webpush: return []
        }
    }

    private static func unknown(_ members: [(name: String, value: String?)], to phone: String) -> [String] {
        let names = members.filter { $0.value != nil }.map(\.name)
        return line(!names.isEmpty, "\(phone) has no use for: \(names.joined(separator: ", ")).")
    }

    private static func line(_ isDue: Bool, _ sentence: String) -> [String] { isDue ? ["  " + sentence] : [] }
}
