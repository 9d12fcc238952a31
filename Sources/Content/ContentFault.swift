import JSON
import Model

package enum ContentFault: Error, Equatable, Sendable {
    case provider(Provider, ProviderFault)
    /// A text with placeholders is malformed, or is where none are allowed.
    case template(JSONPointer, TemplateFault)
    /// A notification is given that shows no text, or none in the language at this place.
    case blank(JSONPointer)

    /// A stable code, published in docs/errors.md.
    package var code: String {
        switch self {
        case .provider(_, let fault): fault.code
        case .template: "invalid_template"
        case .blank: ProviderFault.nothingToShowCode
        }
    }
}

/// The fault of a value in one provider's view.
package struct ProviderFault: Error, Equatable, Sendable {
    /// A stable code, published in docs/errors.md. Faults that mean the same have the same code at every provider.
    package let code: String
    /// The faulty place in the value that the provider was given; nil: the value as a whole.
    package let pointer: JSONPointer?
    /// The sentence for the client. It quotes no content and no token.
    package let detail: String

    package init(_ code: String, at pointer: JSONPointer? = nil, _ detail: String) {
        (self.code, self.pointer, self.detail) = (code, pointer, detail)
    }

    /// Content that shows nothing on the provider's devices. No fault if another provider's devices show something. A
    /// blank notification has the same code.
    package static let nothingToShowCode = "nothing_to_show"

    /// A notification whose visible text is in parts that the provider's devices don't show.
    package static func nothingToShow(
        at pointer: JSONPointer, by title: String, showing parts: [NotificationPart]
    ) -> ProviderFault {
        let names = parts.map(\.rawValue).joined(separator: ", ")
        return ProviderFault(
            nothingToShowCode, at: pointer,
            "Of a notification, devices reached through \(title) show only \(names), and none of these has visible text "
                + "here. Write one of them.")
    }

    /// Only devices with one of the message's locales would show something.
    package static let noCommonText = ProviderFault(
        nothingToShowCode, at: .root / "notification",
        "The texts in localizations are for some languages only. Give notification a title or body of its own: "
            + "devices with any other language show it.")

    package static func wrongValue(_ pointer: JSONPointer, expected: String) -> ProviderFault {
        ProviderFault("invalid_value", at: pointer, "Expected here: \(expected).")
    }

    package static func badCollapseID(bytes: Int, bytesMax: Int) -> ProviderFault {
        ProviderFault(
            "invalid_collapse_id", at: .root / "options" / "collapse_id",
            "A collapse id has 1 to \(bytesMax) bytes, no control characters, and no blanks at its ends; this one has "
                + "\(bytes) bytes.")
    }

    /// The place of a text that is too long; nil: the message as a whole.
    package static func place(ofLocale locale: String?) -> JSONPointer {
        locale.map { .root / "notification" / "localizations" / $0 } ?? .root
    }
}
