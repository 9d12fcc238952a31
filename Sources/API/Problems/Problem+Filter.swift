import Expressions
import JSON

// Describes an invalid filter: the place, and what is expected there. The filter's own texts are not repeated.
extension Problem {
    /// - Parameter pointer: the filter's place in the body; nil if it is in the query.
    init(_ fault: FilterFault, at pointer: JSONPointer?) {
        self.init(
            .invalidFilter, "At character \(fault.position) of the filter: \(fault.reason.text).", at: pointer,
            position: fault.position)
    }
}

extension FilterFault.Reason {
    fileprivate var text: String {
        switch self {
        case .tooLong(let bytes): "the filter has \(bytes) bytes; the limit is \(FilterLimits.textBytesMax)"
        case .tooDeep: "parentheses and not are nested more than \(FilterLimits.depthMax) levels deep"
        case .tooManyConditions:
            "the filter has more than \(FilterLimits.conditionsMax) conditions"
        case .tooManyValues:
            "a list has at most \(FilterLimits.valuesMax) values; to name many users or devices, use users or "
                + "installations instead of a filter"
        case .tooManyNames: "attributes nest at most \(FilterLimits.attributeNamesMax) names deep"
        case .tooFarFromNow: "this is more than a hundred years from now"
        case .unexpected(let piece, let expected):
            "expected \(Self.list(expected.map(\.rawValue))), found \(piece.text)"
        case .unknownField(let name): Self.text(ofUnknown: name)
        case .notForField(let found, let field, let allowed):
            "\(field) does not support \(found.rawValue); it supports \(Self.list(allowed.map(\.rawValue)))"
        case .unknownName(let field, let text): "\(field) must be \(Self.list(text))"
        case .textNotClosed: "the quotation mark that begins here is never closed"
        case .unknownEscape: "a backslash may only precede a quotation mark or another backslash"
        case .controlCharacter: "a text must not have control characters"
        case .notAVersion: "a version is numbers with dots between them, such as \"4.2\""
        case .notAnInstant: "a time is a date such as \"2026-12-01\", or as in RFC 3339 \"2026-12-01T12:00:00Z\""
        }
    }

    private static func text(ofUnknown name: String) -> String {
        let fields = "Fields are " + FilterExpression.fields.joined(separator: ", ")
        guard name.utf8.count <= FilterPiece.echoedBytesMax else { return "this is not a field. " + fields }
        return "\(name) is not a field. \(fields); the app's own attributes are attributes.\(name)"
    }

    private static func list(_ text: [String]) -> String {
        guard let last = text.last, text.count > 1 else { return text.first ?? "" }
        return text.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension FilterPiece {
    /// The longest identifier that an error repeats.
    fileprivate static let echoedBytesMax = 64

    fileprivate var text: String {
        switch self {
        case .end: "the end"
        case .text: "a text"
        case .number: "a number"
        case .quantity: "a number followed by letters"
        case .identifier(let identifier):
            identifier.utf8.count <= Self.echoedBytesMax ? "the name \(identifier)" : "a long name"
        case .symbol(let symbol): symbol
        case .character: "a character that is only allowed inside quotation marks (\" or ')"
        }
    }
}
