import Content
import Expressions
import JSON

// Describes invalid filters and templates: the place, and what is expected there. Their own texts are not repeated.
extension Problem {
    /// - Parameter pointer: the filter's place in the body; nil if it is in the query.
    package init(_ fault: FilterFault, at pointer: JSONPointer?) {
        self.init(
            .invalidFilter, "At character \(fault.position) of the filter: \(fault.reason.text).", at: pointer,
            position: fault.position)
    }

    init(_ fault: TemplateFault, at pointer: JSONPointer) {
        switch fault.reason.text {
        case .ofMessage(let sentence): self.init(.invalidTemplate, sentence, at: pointer)
        case .ofCharacter(let text):
            self.init(
                .invalidTemplate, "At character \(fault.position) of the text: \(text).", at: pointer,
                position: fault.position)
        }
    }
}

extension FilterFault.Reason {
    fileprivate var text: String {
        switch self {
        case .tooLong(let bytes): "the filter has \(bytes) bytes; the limit is \(FilterLimits.textBytesMax)"
        case .tooDeep: "parentheses and not are nested more than \(FilterLimits.depthMax) levels deep"
        case .tooManyConditions: "the filter has more than \(FilterLimits.conditionsMax) conditions"
        case .tooManyValues:
            "a list has at most \(FilterLimits.valuesMax) values; to name many users or devices, use users or "
                + "installations instead of a filter"
        case .tooManyNames: CommonText.tooManyNames
        case .tooFarFromNow: "this is more than a hundred years from now"
        case .unexpected(let piece, let expected):
            "expected \(CommonText.list(expected.map(\.rawValue))), found \(piece.text)"
        case .unknownField(let name): CommonText.unknown(name, FilterExpression.fields)
        case .notForField(let found, let field, let allowed):
            "\(field) does not support \(found.rawValue); it supports \(CommonText.list(allowed.map(\.rawValue)))"
        case .unknownName(let field, let text): "\(field) must be \(CommonText.list(text))"
        case .quotedText(.controlCharacter): "a text must not have control characters"
        case .quotedText(.unknownEscape): CommonText.unknownEscape
        case .quotedText(.notClosed): CommonText.textNotClosed
        case .notAVersion: "a version is numbers with dots between them, such as \"4.2\""
        case .notAnInstant: "a time is a date such as \"2026-12-01\", or as in RFC 3339 \"2026-12-01T12:00:00Z\""
        }
    }
}

extension ExpressionPiece {
    var text: String {
        switch self {
        case .end: "the end"
        case .text: "a text"
        case .number: "a number"
        case .quantity: "a number followed by letters"
        case .identifier(let name): name.utf8.count <= CommonText.echoedBytesMax ? "the name \(name)" : "a long name"
        case .variable(let name): name.utf8.count <= CommonText.echoedBytesMax ? "the name $\(name)" : "a long name"
        case .symbol(let symbol): symbol
        case .character: "a character that is only allowed inside quotation marks (\" or ')"
        }
    }
}

extension TemplateFault.Reason {
    fileprivate enum Text {
        case ofMessage(String)
        case ofCharacter(String)
    }

    fileprivate var text: Text {
        switch self {
        case .notHere:
            .ofMessage(
                "Placeholders are not allowed here. Use {{ in the message's texts, not in names, headers or collapse_id."
            )
        case .needsDefault:
            .ofMessage(
                "A device without the value would get an empty id. Give the placeholder a default, as in "
                    + "{{attributes.channel | default: 'news'}}.")
        case .tooManyFields:
            .ofMessage("The message uses more than \(TemplateLimits.fieldsMax) different fields. Use fewer.")
        case .tooManyDifferentPlaceholders:
            .ofMessage("The message has more than \(TemplateLimits.placeholdersMax) different placeholders. Use fewer.")
        case .tooManyPlaceholdersInAll:
            .ofMessage("The message has more than \(TemplateLimits.placeholdersPerMessageMax) placeholders. Use fewer.")
        case .notClosed: .ofCharacter("the {{ that begins here is never closed; to show two braces, write {{'{{'}}")
        case .quotedText(.controlCharacter): .ofCharacter("control characters are not allowed between quotation marks")
        case .quotedText(.unknownEscape): .ofCharacter(CommonText.unknownEscape)
        case .quotedText(.notClosed): .ofCharacter(CommonText.textNotClosed)
        case .unknownField(let name): .ofCharacter(CommonText.unknown(name, DeviceField.names))
        case .expected(let expected): .ofCharacter("expected \(expected.rawValue)")
        case .tooManyNames: .ofCharacter(CommonText.tooManyNames)
        case .tooManyPlaceholders:
            .ofCharacter("the text has more than \(TemplateLimits.placeholdersPerTextMax) placeholders")
        case .reservedCharacter:
            .ofCharacter("this is a Unicode noncharacter (U+FDD0 to U+FDEF, U+FFFE), which messages with {{ can't have")
        }
    }
}

enum CommonText {
    /// The longest name that an error repeats.
    static let echoedBytesMax = 64
    static let tooManyNames = "attributes nest at most \(FilterLimits.attributeNamesMax) names deep"
    static let textNotClosed = "the quotation mark that begins here is never closed"
    static let unknownEscape = "a backslash may only precede a quotation mark or another backslash"

    static func unknown(_ name: String, _ fields: [String]) -> String {
        let fields = "Fields are " + fields.joined(separator: ", ")
        guard name.utf8.count <= echoedBytesMax else { return "this is not a field. " + fields }
        return "\(name) is not a field. \(fields); the app's own attributes are attributes.\(name)"
    }

    static func list(_ text: [String]) -> String {
        guard let last = text.last, text.count > 1 else { return text.first ?? "" }
        return text.dropLast().joined(separator: ", ") + " or " + last
    }
}
