import Content
import JSON
import Model

/// The texts of a message as a person gave them: the common text, and one for each language.
package struct MessageTexts: Equatable {
    /// A member of a notification. The names are the API's.
    package enum Part: String, CaseIterable, Sendable {
        case title, subtitle, body, image, link
        case category, channel, thread, interruption

        /// Whether each language may have its own.
        var isOfLanguage: Bool { NotificationPart(rawValue: rawValue) != nil }

        static let names = list(allCases)
        static let namesOfLanguages = list(allCases.filter(\.isOfLanguage))

        private static func list(_ parts: [Part]) -> String {
            let names = parts.map(\.rawValue)
            return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        }
    }

    private struct Entry: Equatable {
        /// nil: the common text.
        let language: String?
        var members: [JSONMember] = []
    }

    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// Reads `--text fr:title=Midi` or `--text title=Noon`.
    package mutating func add(option text: String) throws(CommandFault) {
        guard let sign = text.firstIndex(of: "=") else {
            throw CommandFault(.usage, "--text takes language:part=text, such as fr:title=Midi or body=Noon")
        }
        let name = text[..<sign]
        let colon = name.lastIndex(of: ":")
        let language = colon.map { String(name[..<$0]) }
        let part = String(colon.map { name[name.index(after: $0)...] } ?? name)
        guard let part = Part(rawValue: part) else {
            throw CommandFault(.usage, "--text \(text): \(part) is not a part of a text. Use \(Part.names)")
        }
        if let language, !LocaleTable.isLocale(language) {
            throw CommandFault(.usage, "--text \(text): " + Self.noLanguage(language))
        }
        if language != nil, !part.isOfLanguage { throw CommandFault(.usage, "--text \(text): \(Self.sameInAll(part))") }
        let value = String(text[text.index(after: sign)...])
        try Self.checkVisible(value, "--text \(name)=")
        guard set(part, of: language, to: value) else {
            throw CommandFault(.usage, "--text \(text): this \(part.rawValue) is given twice")
        }
    }

    /// Refuses a text that shows nothing. It comes from a variable of a script, mostly, that is not set.
    ///
    /// - Parameter option: as the person wrote it, without its value.
    static func checkVisible(_ text: String, _ option: String) throws(CommandFault) {
        guard !VisibleText.isVisible(text) else { return }
        throw CommandFault(
            .usage,
            "\(option) has no visible text, so nothing was sent or changed. Is a variable of the script not set? "
                + "Leave the option out if the message has no such text")
    }

    static func sameInAll(_ part: Part) -> String {
        "a \(part.rawValue) is the same in all languages. Only \(Part.namesOfLanguages) has one for each"
    }

    static func noLanguage(_ tag: String) -> String {
        "\"\(tag)\" is not a language. A language is a tag such as fr, fr-CA or zh-Hant-TW"
    }

    /// - Parameter language: a valid tag; nil: the common text.
    /// - Returns: false if this part of the text was set before. Then nothing changes.
    package mutating func set(_ part: Part, of language: String?, to text: String) -> Bool {
        let place = entries.firstIndex { Self.isSame($0.language, language) } ?? entries.count
        if place == entries.count { entries.append(Entry(language: language)) }
        guard !entries[place].members.contains(where: { $0.name == part.rawValue }) else { return false }
        entries[place].members.append(JSONMember(part.rawValue, .string(text)))
        return true
    }

    /// The tag by which a language was given before, perhaps in another spelling; nil: it was not.
    func given(_ language: String) -> String? { entries.compactMap(\.language).first { Self.isSame($0, language) } }

    /// Whether two tags are one locale, as the gateway compares them.
    private static func isSame(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return LocaleTable.duplicates(in: [one, other]) != nil
    }

    /// These texts, and those of `other` that they lack.
    func over(_ other: MessageTexts) -> MessageTexts {
        var texts = self
        for entry in other.entries {
            for member in entry.members {
                guard let part = Part(rawValue: member.name), let text = member.value.string else { continue }
                _ = texts.set(part, of: entry.language, to: text)
            }
        }
        return texts
    }

    /// The notification with these texts in place of its own. Texts and parts that are not given stay.
    package func notification(over stored: JSONObject) -> JSONObject {
        var notification = stored
        var localizations = stored["localizations"]?.object?.members ?? []
        for entry in entries {
            guard let language = entry.language else {
                for member in entry.members { notification[member.name] = member.value }
                continue
            }
            let place = localizations.firstIndex { Self.isSame($0.name, language) } ?? localizations.count
            if place == localizations.count { localizations.append(JSONMember(language, .object(JSONObject()))) }
            var text = localizations[place].value.object ?? JSONObject()
            for member in entry.members { text[member.name] = member.value }
            localizations[place] = JSONMember(localizations[place].name, .object(text))
        }
        if !localizations.isEmpty { notification["localizations"] = .object(JSONObject(localizations)) }
        return notification
    }
}
