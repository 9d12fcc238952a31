import JSON
import Model

/// A message's notification in each language, as far as it may show nothing.
///
/// A blank alert would only disturb people. Validation refuses one. If a device's own values leave nothing, its push is
/// withheld, whatever else it carries. Each provider's devices show parts of their own (`ShownTexts`), which are judged
/// beside the whole notification.
package struct NotificationTexts: Sendable {
    private enum Text: Sendable {
        /// Something is visible, whatever the device's values are; or there is no text in this language, not even an
        /// empty one.
        case shown
        case blank
        /// Only these placeholders may be visible.
        case values([Placeholder])
    }

    private struct Placeholder: Sendable {
        /// The index of its field in `MessagePlaceholders.fields`.
        let field: Int
        let showsFallback: Bool
    }

    /// By variant (`LocaleTable.variant`).
    private let texts: [Text]
    /// The place of a text that shows nothing on any device; nil: there is none.
    package let blankPlace: JSONPointer?

    /// Returns nil if every device sees something, or if no notification is given.
    /// - Parameters:
    ///   - content: with marks in the place of placeholders.
    ///   - shown: the texts that are shown of one language; nil: they are not judged.
    package init?(
        _ content: MessageContent, _ placeholders: MessagePlaceholders,
        shown: (NotificationText) -> [String]? = { $0.given }
    ) {
        guard content.notification != nil || !content.localizations.isEmpty else { return nil }
        let variants = LocaleTable.texts(content.notification, content.localizations).map { $0 ?? NotificationText() }
        texts = variants.map { $0.isGiven ? Self.text(shown($0), placeholders) : .shown }
        let place = JSONPointer.root / "notification"
        let blank = texts.firstIndex { if case .blank = $0 { true } else { false } }
        if let blank {
            let locale = blank == 0 ? nil : content.localizations[blank - 1].locale
            blankPlace = locale.map { place / "localizations" / $0 } ?? place
        } else {
            blankPlace = variants.contains(where: \.isGiven) ? nil : place
        }
        let isShown = texts.allSatisfy { if case .shown = $0 { true } else { false } }
        guard blankPlace != nil || !isShown else { return nil }
    }

    private static func text(_ texts: [String]?, _ placeholders: MessagePlaceholders) -> Text {
        guard let texts, !texts.contains(where: { VisibleText.isVisible($0) }) else { return .shown }
        let numbers = placeholders.isEmpty ? [] : texts.flatMap(PlaceholderMark.numbers)
        guard !numbers.isEmpty else { return .blank }
        return .values(
            numbers.map { number in
                let placeholder = placeholders.placeholders[number]
                return Placeholder(
                    field: placeholder.field, showsFallback: VisibleText.isVisible(placeholder.fallback.span))
            })
    }

    /// Whether a device sees nothing of the notification.
    /// - Parameter isVisible: whether the device's value of a field is visible; nil: it has none.
    package func isBlank(in variant: Int, _ isVisible: (_ field: Int) -> Bool?) -> Bool {
        switch texts[variant] {
        case .shown: false
        case .blank: true
        case .values(let placeholders): placeholders.allSatisfy { !(isVisible($0.field) ?? $0.showsFallback) }
        }
    }
}
