import JSON
import Model

/// Replaces the texts of a message's content, one after the other.
///
/// The texts are those that devices get: of the notification in all languages, its ids and addresses, and the sound. The
/// strings in `data` and in the overrides count too, at every depth.
package protocol ContentTextReplacer {
    associatedtype Fault: Error

    /// Returns the text to put in the place of this one.
    mutating func replacement(
        for text: String, at place: JSONPointer, as use: PlaceholderUse
    ) throws(Fault) -> String

    /// Checks the name of a member of `data` or of an override, at any depth. Names are never replaced.
    mutating func checkName(_ name: String, at place: JSONPointer) throws(Fault)
}

extension ContentTextReplacer {
    package mutating func replace(in content: MessageContent) throws(Fault) -> MessageContent {
        var content = content
        let shown = JSONPointer.root / "notification"
        if let text = content.notification { content.notification = try replace(in: text, at: shown) }
        for (index, localization) in content.localizations.enumerated() {
            let place = shown / "localizations" / localization.locale
            content.localizations[index] = Localization(
                locale: localization.locale, text: try replace(in: localization.text, at: place))
        }
        let presentation = content.presentation
        content.presentation.category = try replace(presentation.category, at: shown / "category", as: .id)
        content.presentation.channel = try replace(presentation.channel, at: shown / "channel", as: .id)
        content.presentation.thread = try replace(presentation.thread, at: shown / "thread", as: .id)
        content.sound = try replace(content.sound, at: .root / "sound", as: .text)
        for (index, member) in content.data.enumerated() {
            let place = JSONPointer.root / "data" / member.name
            try checkName(member.name, at: place)
            content.data[index] = DataMember(name: member.name, json: try replace(in: member.json, at: place))
        }
        for provider in content.overrides.providers {
            guard let json = content.overrides[provider] else { continue }
            content.overrides[provider] = try replace(in: json, at: .root / provider.name)
        }
        return content
    }

    private mutating func replace(
        in text: NotificationText, at place: JSONPointer
    ) throws(Fault) -> NotificationText {
        var text = text
        for part in NotificationPart.allCases {
            text[part] = try replace(text[part], at: place / part.rawValue, as: part.isAddress ? .address : .text)
        }
        return text
    }

    private mutating func replace(in json: JSONText, at place: JSONPointer) throws(Fault) -> JSONText {
        // The provider modules refuse malformed JSON.
        guard let value = try? json.value() else { return json }
        return JSONText(try replace(in: value, at: place))
    }

    /// Recurses as deep as the value nests, which its reader bounds.
    private mutating func replace(in value: JSONValue, at place: JSONPointer) throws(Fault) -> JSONValue {
        switch value {
        case .null, .bool, .number: return value
        case .string(let text): return .string(try replacement(for: text, at: place, as: .text))
        case .array(var elements):
            for (index, element) in elements.enumerated() {
                elements[index] = try replace(in: element, at: place / index)
            }
            return .array(elements)
        case .object(let object):
            var members = object.members
            for (index, member) in members.enumerated() {
                let place = place / member.name
                try checkName(member.name, at: place)
                members[index] = JSONMember(member.name, try replace(in: member.value, at: place))
            }
            return .object(JSONObject(members))
        }
    }

    private mutating func replace(
        _ text: String?, at place: JSONPointer, as use: PlaceholderUse
    ) throws(Fault) -> String? {
        guard let text else { return nil }
        return try replacement(for: text, at: place, as: use)
    }
}
