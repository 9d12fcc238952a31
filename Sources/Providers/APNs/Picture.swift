import Content
import JSON
import Model
import ProviderInterface

extension APNsProvider {
    package var deviceName: String { "An iPhone" }

    /// - Parameter body: a payload that APNs accepted.
    package func picture(of body: JSONValue, badge: String?) -> NotificationPicture? {
        var picture = NotificationPicture()
        let aps = body.object?["aps"]?.object
        switch aps?["alert"] {
        case .string(let text)?: picture.body = text
        case .object(let alert)?:
            picture.title = alert["title"]?.string ?? alert["title-loc-key"]?.string
            picture.subtitle = alert["subtitle"]?.string
            picture.body = alert["body"]?.string ?? alert["loc-key"]?.string
        default: break
        }
        if let number = aps?["badge"]?.integer { picture.facts.append("badge \(badge ?? String(number))") }
        if let sound = aps?["sound"]?.string { picture.facts.append("sound \(sound)") }
        if let sound = aps?["sound"]?.object {
            picture.facts.append("critical sound \(sound["name"]?.string ?? "default")")
        }
        if aps?["content-available"]?.integer == 1 { picture.facts.append("wakes the app") }
        picture.image = body.object?[DataName.image]?.string
        if let link = body.object?[DataName.link]?.string { picture.facts.append("opens \(link)") }
        for (name, member) in [
            ("category", "category"), ("thread", "thread-id"), ("interruption", "interruption-level"),
        ] { if let text = aps?[member]?.string { picture.facts.append("\(name) \(text)") } }
        let others = (body.object?.members ?? []).filter { $0.name != "aps" }.map(\.name)
        if !others.isEmpty { picture.facts.append("data " + others.joined(separator: ", ")) }
        return picture
    }

    package func remarks(
        about text: NotificationText?, _ presentation: NotificationPresentation, sound: String?
    ) -> [String] {
        var remarks = remarks(ignoring: [("channel", presentation.channel)])
        if text?.image != nil {
            remarks.append("An iPhone shows the picture only if the app has a notification service extension.")
        }
        if presentation.interruption == .critical {
            remarks.append("A critical alert needs Apple's entitlement; without it the notification is active.")
        }
        return remarks
    }
}
