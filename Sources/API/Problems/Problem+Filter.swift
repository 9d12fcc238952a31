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
        case .tooLong(let bytes): "it has \(bytes) bytes; at most \(FilterLimits.textBytesMax) are read"
        case .tooDeep: "parentheses and not stand more than \(FilterLimits.depthMax) deep in each other"
        case .tooManyConditions:
            "this is one condition more than the \(FilterLimits.conditionsMax) that a filter may have"
        case .tooManyValues:
            "a list has at most \(FilterLimits.valuesMax) values; many people or devices are named by users or "
                + "installations instead of a filter"
        case .tooManyNames: "attributes lie at most \(FilterLimits.attributeNamesMax) names deep"
        case .tooFarFromNow: "this is more than a hundred years from now"
        case .unexpected(let piece, let expected):
            "expected \(Self.list(expected.map(\.rawValue))), found \(piece.text)"
        case .unknownField(let name): Self.text(ofUnknown: name)
        case .notForField(let found, let field, let allowed):
            "\(field) can't be asked with \(found.rawValue), but with \(Self.list(allowed.map(\.rawValue)))"
        case .unknownName(let field, let text): "\(field) is \(Self.list(text))"
        case .textNotClosed: "the quotation mark that begins here is never closed"
        case .unknownEscape: "a backslash stands before a quotation mark or another backslash alone"
        case .controlCharacter: "control characters can't stand in a text"
        case .notAVersion: "a version is numbers between points, such as \"4.2\""
        case .notAnInstant: "a time is a date such as \"2026-12-01\", or as in RFC 3339 \"2026-12-01T12:00:00Z\""
        }
    }

    private static func text(ofUnknown name: String) -> String {
        let fields = "Fields are " + FilterExpression.fields.joined(separator: ", ")
        guard name.utf8.count <= FilterPiece.echoedBytesMax else { return "this is no field. " + fields }
        return "\(name) is no field. \(fields); what the app says itself of a device is attributes.\(name)"
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
        case .quantity: "a number with letters behind it"
        case .identifier(let identifier):
            identifier.utf8.count <= Self.echoedBytesMax ? "the word \(identifier)" : "a long word"
        case .symbol(let symbol): symbol
        case .character: "a character that can only stand in quotation marks, which are \" and '"
        }
    }
}
