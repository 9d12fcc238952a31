import Expressions

/// A text with placeholders, filled with each device's own values: `Hello {{attributes.name | default: 'you'}}`.
///
///     text    = { any character | "{{" inside "}}" }
///     inside  = field [ "|" "default" ":" quoted ] | quoted
///     field   = name | "attributes" ( "." name | "[" quoted "]" ) { ... }
///
/// Fields have the same names as in filters, and quoted texts the same form. A quoted text without a field is a
/// literal: `{{'{{'}}` writes two braces.
package struct TemplateText: Equatable, Sendable {
    package enum Part: Equatable, Sendable {
        case literal(String)
        case placeholder(TemplatePlaceholder)
    }

    /// In order; literals are never empty, and never adjacent.
    package let parts: [Part]
    /// The fault of the text if a sender wrote it: only the gateway's own messages have own values. nil: it names none.
    let ownFault: TemplateFault?

    package init(parsing text: String) throws(TemplateFault) {
        var reader = TemplateReader(Array(text.utf8))
        parts = try reader.read()
        ownFault = reader.ownFault
    }

    /// True if the text must be parsed.
    package static func isOne(_ text: String) -> Bool { hasOpening(text.utf8.span) }

    package static func hasOpening(_ bytes: Span<UInt8>) -> Bool {
        var before: UInt8 = 0
        for place in bytes.indices {
            if bytes[place] == UInt8(ascii: "{"), before == bytes[place] { return true }
            before = bytes[place]
        }
        return false
    }
}

package struct TemplatePlaceholder: Hashable, Sendable {
    package let field: DeviceField
    /// Used if the device has no value there, or an empty one.
    package let fallback: String
    package var use = PlaceholderUse.text

    package init(_ field: DeviceField, fallback: String = "") { (self.field, self.fallback) = (field, fallback) }
}

/// The kind of text that a placeholder stands in, which decides how its value is filled in.
package enum PlaceholderUse: Hashable, Sendable {
    /// Any value is filled in as it is.
    case text
    /// The value is percent-encoded, so that it stays one part of a path or of a query.
    case address
    /// An id that the app knows.
    case id

    /// Whether a value is filled in. An address or id gets the default in the place of a value that shows nothing.
    package func takes(_ value: Span<UInt8>) -> Bool { self == .text || VisibleText.isVisible(value) }
}

/// A value of a device that can be written as a text.
package enum DeviceField: Hashable, Sendable {
    case text(TextField)
    /// A text, a number, true or false. Any other value has no form as a text, and counts as missing.
    case attribute(AttributePath)
    /// The value that the message carries for this member alone. It is no field of the device.
    case own

    /// The name of `own` in templates. It is none of `names`: a sender's message that has it is refused.
    static let ownName = "carillon_own"
    /// The placeholder for a member's own value, in the gateway's own messages.
    package static let ownPlaceholder = "{{\(ownName)}}"
    /// The names that senders write.
    package static let names = texts.map(\.name) + ["attributes.…"]
    /// The topic is left out: it is the provider's name for the app itself.
    static let texts = TextField.allCases.filter { $0 != .topic }
}

/// The reason why a text is no valid template.
package struct TemplateFault: Error, Equatable, Sendable {
    /// The position of the faulty character, from 1, in Unicode scalars.
    package let position: Int
    package let reason: Reason

    package init(position: Int, reason: Reason) { (self.position, self.reason) = (position, reason) }

    package enum Reason: Equatable, Sendable {
        case notClosed
        case quotedText(QuotedText.Fault.Reason)
        case unknownField(String)
        case expected(Expectation)
        case tooManyNames
        /// The limit within one text.
        case tooManyPlaceholders
        /// The limit within one message.
        case tooManyFields
        case tooManyDifferentPlaceholders
        case tooManyPlaceholdersInAll
        /// The place is no text of the message: a name, a header, a collapse id.
        case notHere
        /// The value alone makes an id, which would be empty without it.
        case needsDefault
        /// A noncharacter of Unicode, in a message with placeholders.
        case reservedCharacter
    }

    /// The wording for people.
    package enum Expectation: String, Equatable, Sendable {
        case field = "a field, or a text in quotation marks"
        case attributeName = "the attribute's name, as in attributes.name or attributes['first name']"
        case quotedName = "the attribute's name in quotation marks"
        case closingBracket = "]"
        case defaultOrEnd = "}} or | default: 'a text'"
        case end = "}}"
        case `default` = "default"
        case colon = "a colon"
        case text = "a text in quotation marks"
    }
}

package enum TemplateLimits {
    /// Placeholders in one text: each copies a value.
    package static let placeholdersPerTextMax = 32
    /// Different fields in one message: each is read for every device.
    package static let fieldsMax = 16
    /// Different placeholders, by field and default, over all languages of one message.
    package static let placeholdersMax = 256
    /// Placeholders in all texts and languages of one message: each send visits all of them.
    package static let placeholdersPerMessageMax = 1_024
}
