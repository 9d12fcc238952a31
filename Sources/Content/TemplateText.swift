import Expressions

/// A text with holes that each device's own values fill: `Hello {{attributes.name | default: 'you'}}`.
///
///     text    = { any character | "{{" inside "}}" }
///     inside  = field [ "|" "default" ":" quoted ] | quoted
///     field   = name | "attributes" ( "." name | "[" quoted "]" ) { ... }
///
/// Fields are named as in filters, and so is a text in quotation marks. One that stands alone stands for itself:
/// `{{'{{'}}` is how two braces are said.
package struct TemplateText: Equatable, Sendable {
    package enum Part: Equatable, Sendable {
        /// As it stands.
        case literal(String)
        case placeholder(TemplatePlaceholder)
    }

    /// In order; literals are never empty, and never stand side by side.
    package let parts: [Part]

    package init(parsing text: String) throws(TemplateFault) {
        var reader = TemplateReader(Array(text.utf8))
        parts = try reader.read()
    }

    /// Whether it has to be parsed at all.
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

/// What goes into one hole.
package struct TemplatePlaceholder: Hashable, Sendable {
    package let field: DeviceField
    /// Where the device has no value there, or an empty one.
    package let fallback: String

    package init(_ field: DeviceField, fallback: String = "") {
        self.field = field
        self.fallback = fallback
    }
}

/// What a device says of itself that is written as a text.
package enum DeviceField: Hashable, Sendable {
    case text(TextField)
    /// A text, a number, true or false; what else stands there has no form as a text, and is missing.
    case attribute(AttributePath)

    /// By the name that people write.
    package static let names = texts.map(\.rawValue) + ["attributes.…"]
    /// Not the topic: that is the provider's word for the app itself.
    static let texts: [TextField] = [.installation, .user, .locale, .timeZone, .appVersion]
}

/// Why a text has no meaning as a template.
package struct TemplateFault: Error, Equatable, Sendable {
    /// Of the character that it begins at, from 1. In Unicode scalars.
    package let position: Int
    package let reason: Reason

    package init(position: Int, reason: Reason) {
        self.position = position
        self.reason = reason
    }

    package enum Reason: Equatable, Sendable {
        /// The braces that open there are never closed.
        case notClosed
        case textNotClosed
        case unknownEscape
        case controlCharacter
        case unknownField(String)
        case expected(Expectation)
        case tooManyNames
        /// In one text.
        case tooManyPlaceholders
        /// In one message.
        case tooManyFields
        case tooManyDifferentPlaceholders
        case tooManyPlaceholdersInAll
        /// Filled in here, it would be no text of the message's: a name, a header, a collapse id.
        case notHere
        /// A noncharacter of Unicode's, in a message with holes.
        case reservedCharacter
    }

    /// In words for people.
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

/// What one message may ask of its devices.
package enum TemplateLimits {
    /// In one text: what is filled in is copied once for each.
    package static let placeholdersPerTextMax = 32
    /// Different fields in one message: each is read of every device.
    package static let fieldsMax = 16
    /// Different holes, by field and default, over all languages of one message.
    package static let placeholdersMax = 256
    /// In all texts and languages of one message: whoever sends walks by each.
    package static let placeholdersPerMessageMax = 1_024
}
