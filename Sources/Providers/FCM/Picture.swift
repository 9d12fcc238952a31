import Content
import JSON
import Model
import ProviderInterface

extension FCMProvider {
    package var deviceName: String { "An Android phone" }

    /// - Parameter body: the body of a request, whose notification Android shows.
    package func picture(of body: JSONValue, badge: String?) -> NotificationPicture? {
        var picture = NotificationPicture()
        let message = body.object?["message"]?.object
        let common = message?["notification"]?.object
        let android = message?["android"]?.object?["notification"]?.object
        picture.title = android?["title"]?.string ?? common?["title"]?.string
        picture.body = android?["body"]?.string ?? common?["body"]?.string
        if let count = android?["notification_count"]?.integer {
            picture.facts.append("badge \(badge ?? String(count))")
        }
        if let sound = android?["sound"]?.string { picture.facts.append("sound \(sound)") }
        if let channel = android?["channel_id"]?.string { picture.facts.append("channel \(channel)") }
        if let priority = android?["notification_priority"]?.string { picture.facts.append(priority) }
        picture.image = android?["image"]?.string ?? common?["image"]?.string
        if let link = message?["data"]?.object?[DataName.link]?.string { picture.facts.append("opens \(link)") }
        let data = (message?["data"]?.object?.members ?? []).map(\.name)
        if !data.isEmpty { picture.facts.append("data " + data.joined(separator: ", ")) }
        return picture
    }

    package func remarks(
        about text: NotificationText?, _ presentation: NotificationPresentation, sound: String?
    ) -> [String] {
        var remarks = remarks(ignoring: [
            ("subtitle", text?.subtitle), ("category", presentation.category), ("thread", presentation.thread),
        ])
        if presentation.interruption != nil || sound != nil {
            remarks.append("From Android 8 on, the channel decides the sound and the importance.")
        }
        return remarks
    }
}
