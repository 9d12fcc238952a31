import PushModel

/// A message's content as the database keeps it: JSON, beside a format number in the message's row.
///
/// A process works only on messages whose format it knows, so that version N-1 runs beside N. A member added here
/// that N-1 may not overlook asks for a new format; one that it may overlook does not.
package enum StoredContent {
    /// What `encode` writes.
    package static let format: Int16 = 1
    /// What `decode` reads. Rising.
    package static let knownFormats: [Int16] = [1]

    package static func encode(_ content: MessageContent) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.member("push_type", content.options.pushType.rawValue)
        if let notification = content.notification {
            writer.name("notification")
            writer.beginObject()
            writer.optionalMember("title", notification.title)
            writer.optionalMember("subtitle", notification.subtitle)
            writer.optionalMember("body", notification.body)
            writer.endObject()
        }
        switch content.badge {
        case .none: break
        case .increment: writer.member("badge", "increment")
        case .value(let badge): writer.member("badge", badge)
        }
        writer.optionalMember("sound", content.sound)
        if !content.data.isEmpty {
            writer.name("data")
            writer.beginObject()
            for member in content.data {
                writer.name(member.name)
                writer.raw(member.json.bytes)
            }
            writer.endObject()
        }
        if let priority = content.options.priority { writer.member("priority", priority.rawValue) }
        if let seconds = content.options.ttlSeconds { writer.member("ttl_seconds", seconds) }
        writer.optionalMember("collapse_id", content.options.collapseID)
        if let apns = content.apns {
            writer.name("apns")
            writer.raw(apns.bytes)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Throws on a format that is not known, and on bytes that `encode` did not write.
    package static func decode(_ bytes: [UInt8], format: Int16) throws(StoredContentFault) -> MessageContent {
        guard knownFormats.contains(format) else { throw .unknownFormat(format) }
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(bytes, limits: .trusted) } catch { throw .damaged }
        guard let stored = value.object, let number = stored["push_type"]?.integer.flatMap(Int16.init(exactly:)),
            let pushType = PushType(rawValue: number)
        else { throw .damaged }
        var options = MessageOptions(pushType: pushType)
        options.collapseID = stored["collapse_id"]?.string
        options.priority = stored["priority"]?.integer.flatMap(Int16.init(exactly:)).flatMap(PushPriority.init)
        options.ttlSeconds = stored["ttl_seconds"]?.integer.flatMap(Int32.init(exactly:))
        return MessageContent(
            notification: stored["notification"]?.object.map(notification),
            badge: badge(stored["badge"]), sound: stored["sound"]?.string,
            data: stored["data"]?.object?.members.map { DataMember(name: $0.name, json: JSONText($0.value)) } ?? [],
            options: options, apns: stored["apns"].map { JSONText($0) })
    }

    private static func notification(_ stored: JSONObject) -> NotificationText {
        NotificationText(
            title: stored["title"]?.string, subtitle: stored["subtitle"]?.string, body: stored["body"]?.string)
    }

    private static func badge(_ stored: JSONValue?) -> BadgeChange {
        if stored?.string == "increment" { return .increment }
        guard let badge = stored?.integer.flatMap(Int32.init(exactly:)) else { return .none }
        return .value(badge)
    }
}

package enum StoredContentFault: Error, Equatable, Sendable {
    case unknownFormat(Int16)
    case damaged
}

extension JSONWriter {
    package mutating func optionalMember(_ name: String, _ text: String?) {
        if let text { member(name, text) }
    }
}
