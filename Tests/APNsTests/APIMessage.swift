import JSON
import Model
import Testing

/// A message in the format of the API, so that tests show what a backend would send.
///
/// The API's own reader belongs to a higher layer. This one reads only a message's content.
struct APIMessage {
    let content: MessageContent

    init(_ text: String) throws {
        let message = try #require(try JSONReader.read(Array(text.utf8)).object)
        var content = MessageContent()
        for member in message.members {
            let value = member.value
            switch member.name {
            case "audience": break
            case "notification": try Self.readNotification(try #require(value.object), into: &content)
            case "badge":
                content.badge = value == "increment" ? .increment : .value(Int32(try #require(value.integer)))
            case "sound": content.sound = value.string
            case "data":
                content.data = try #require(value.object).members.map {
                    DataMember(name: $0.name, json: JSONText($0.value))
                }
            case "apns": content.overrides[.apns] = JSONText(value)
            case "options": content.options = try Self.options(try #require(value.object))
            default: Issue.record("unknown member \(member.name)")
            }
        }
        self.content = content
    }

    private static func readNotification(_ object: JSONObject, into content: inout MessageContent) throws {
        content.notification = text(object)
        content.presentation = NotificationPresentation(
            category: object["category"]?.string, channel: object["channel"]?.string,
            thread: object["thread"]?.string,
            interruption: object["interruption"]?.string.flatMap(InterruptionLevel.init(name:)))
        content.localizations = (object["localizations"]?.object?.members ?? []).map {
            Localization(locale: $0.name, text: text($0.value.object ?? JSONObject()))
        }
    }

    private static func text(_ object: JSONObject) -> NotificationText {
        NotificationText { object[$0.rawValue]?.string }
    }

    private static func options(_ object: JSONObject) throws -> MessageOptions {
        let known = ["priority", "ttl_seconds", "collapse_id", "push_type"]
        #expect(object.members.allSatisfy { known.contains($0.name) })
        let type = try object["push_type"].map { try #require($0.string.flatMap(PushType.init(name:))) }
        return MessageOptions(
            priority: try object["priority"].map { try #require($0.string.flatMap(PushPriority.init(name:))) },
            ttlSeconds: object["ttl_seconds"]?.integer.map(Int32.init), collapseID: object["collapse_id"]?.string,
            pushType: type ?? .alert)
    }
}
