/// The facts by which people recognize a message.
package struct MessageLabel: Equatable, Sendable {
    /// The name that its sender gave it; nil: none.
    package var name: String?
    /// The name of the API key that sent it; nil for the gateway's own messages.
    package var author: String?
    /// The common text, shortened. Empty: the message has none. nil: its content is deleted.
    package var texts: [TextInLanguage]?
    /// The audience with its names. nil: it is too long to be read with an account, or the content is deleted.
    package var audience: Audience?

    package init(
        name: String? = nil, author: String? = nil, texts: [TextInLanguage]? = nil, audience: Audience? = nil
    ) { (self.name, self.author, self.texts, self.audience) = (name, author, texts, audience) }

    package static let nameCharactersMax = 120
}

/// A message's text for one language.
package struct TextInLanguage: Equatable, Sendable {
    /// The BCP 47 tag as the sender wrote it; nil: the common text.
    package let language: String?
    package let title: String?
    package let body: String?

    package init(language: String?, title: String?, body: String?) {
        (self.language, self.title, self.body) = (language, title, body)
    }

    /// The longest title and body of a shortened text, in characters.
    private static let shortCharactersMax = 200

    /// The text with a title and a body that fit in a list.
    package var shortened: TextInLanguage {
        TextInLanguage(language: language, title: title.map(Self.shorten), body: body.map(Self.shorten))
    }

    private static func shorten(_ text: String) -> String {
        guard text.count > shortCharactersMax else { return text }
        return text.prefix(shortCharactersMax - 1) + "…"
    }
}

extension MessageContent {
    /// The text without a language; nil: there is none.
    package var commonText: TextInLanguage? {
        guard let notification, notification.byteCount > 0 else { return nil }
        return TextInLanguage(language: nil, notification)
    }

    /// The common text, if there is one, and the text in each other language.
    package var texts: [TextInLanguage] {
        (commonText.map { [$0] } ?? []) + localizations.map { TextInLanguage(language: $0.locale, $0.text) }
    }
}

extension TextInLanguage {
    fileprivate init(language: String?, _ text: NotificationText) {
        self.init(language: language, title: text.title, body: text.body)
    }
}
