import JSON
import Model

/// A message's notification in each language, as far as it may show nothing.
///
/// A blank alert would only disturb people. Validation refuses one. If a device's own values leave nothing, its push is
/// withheld, whatever else it carries.
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
    /// The fault of a text that shows nothing on any device; nil: none.
    package let fault: ContentFault?

    /// Returns nil if every device sees something, or if no notification is given.
    /// - Parameter content: with marks in the place of placeholders.
    package init?(_ content: MessageContent, _ placeholders: MessagePlaceholders) {
        guard content.notification != nil || !content.localizations.isEmpty else { return nil }
        let variants = LocaleTable.texts(content.notification, content.localizations).map { $0 ?? NotificationText() }
        texts = variants.map { Self.text($0, placeholders) }
        let place = JSONPointer.root / "notification"
        let blank = texts.firstIndex { if case .blank = $0 { true } else { false } }
        if let blank {
            let locale = blank == 0 ? nil : content.localizations[blank - 1].locale
            fault = .blank(locale.map { place / "localizations" / $0 } ?? place)
        } else {
            fault = variants.contains(where: \.isGiven) ? nil : .blank(place)
        }
        let isShown = texts.allSatisfy { if case .shown = $0 { true } else { false } }
        guard fault != nil || !isShown else { return nil }
    }

    private static func text(_ text: NotificationText, _ placeholders: MessagePlaceholders) -> Text {
        guard text.isGiven, !text.isVisible else { return .shown }
        let numbers = placeholders.isEmpty ? [] : text.placeholders
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
