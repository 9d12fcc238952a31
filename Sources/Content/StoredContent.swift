import JSON
import Model

/// A message's content as the database stores it: JSON, beside a format number in the message's row.
///
/// The number covers the message with its audience, plan and parcels. A process works only on formats that it knows.
/// From 0.1.0 on, a new member that the version before must not overlook needs a new format.
package enum StoredContent {
    package static let format: Int16 = 1
    package static let knownFormats = [format]

    package static func encode(_ content: MessageContent) -> [UInt8] {
        JSONWriter.body(capacity: 512) { write(content, to: &$0) }
    }

    private static func write(_ content: MessageContent, to writer: inout JSONWriter) {
        writer.member("push_type", content.options.pushType.rawValue)
        if let notification = content.notification { writer.object("notification") { write(notification, to: &$0) } }
        if !content.localizations.isEmpty {
            writer.object("localizations") { writer in
                for localization in content.localizations {
                    writer.object(localization.locale) { write(localization.text, to: &$0) }
                }
            }
        }
        let presentation = content.presentation
        writer.optionalMember("category", presentation.category)
        writer.optionalMember("channel", presentation.channel)
        writer.optionalMember("thread", presentation.thread)
        writer.optionalMember("interruption", presentation.interruption?.name)
        switch content.badge {
        case .none: break
        case .increment: writer.member("badge", "increment")
        case .value(let badge): writer.member("badge", badge)
        }
        writer.optionalMember("sound", content.sound)
        if !content.data.isEmpty {
            writer.object("data") {
                for member in content.data { $0.member(member.name, raw: member.json.bytes) }
            }
        }
        if let priority = content.options.priority { writer.member("priority", priority.rawValue) }
        if let seconds = content.options.ttlSeconds { writer.member("ttl_seconds", seconds) }
        writer.optionalMember("collapse_id", content.options.collapseID)
        for provider in Provider.allCases {
            if let text = content.overrides[provider] { writer.member(provider.name, raw: text.bytes) }
        }
        if content.options.isDryRun { writer.member("dry_run", true) }
        if !content.options.carriesIdentity { writer.member("identity", false) }
        if content.isTemplate { writer.member("template", true) }
    }

    private static func write(_ text: NotificationText, to writer: inout JSONWriter) {
        for part in NotificationPart.allCases { writer.optionalMember(part.rawValue, text[part]) }
    }

    /// Throws on an unknown format, and on bytes that `encode` did not write.
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
        options.isDryRun = stored["dry_run"]?.bool ?? false
        options.carriesIdentity = stored["identity"]?.bool ?? true
        var overrides = ProviderOverrides()
        for provider in Provider.allCases { overrides[provider] = stored[provider.name].map { JSONText($0) } }
        return MessageContent(
            notification: stored["notification"]?.object.map(notification),
            localizations: try localizations(stored["localizations"]),
            presentation: NotificationPresentation(
                category: stored["category"]?.string, channel: stored["channel"]?.string,
                thread: stored["thread"]?.string,
                interruption: stored["interruption"]?.string.flatMap(InterruptionLevel.init(name:))),
            badge: badge(stored["badge"]), sound: stored["sound"]?.string,
            data: stored["data"]?.object?.members.map { DataMember(name: $0.name, json: JSONText($0.value)) } ?? [],
            options: options, overrides: overrides, isTemplate: stored["template"]?.bool ?? false)
    }

    private static func localizations(_ stored: JSONValue?) throws(StoredContentFault) -> [Localization] {
        var localizations: [Localization] = []
        for member in stored?.object?.members ?? [] {
            guard let text = member.value.object else { throw .damaged }
            localizations.append(Localization(locale: member.name, text: notification(text)))
        }
        return localizations
    }

    private static func notification(_ stored: JSONObject) -> NotificationText {
        NotificationText { stored[$0.rawValue]?.string }
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
    fileprivate mutating func optionalMember(_ name: String, _ text: String?) {
        if let text { member(name, text) }
    }
}
