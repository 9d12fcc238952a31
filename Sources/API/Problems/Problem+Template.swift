import Content
import Expressions
import JSON

// Describes an invalid template: the place, and what is expected there. The template's own texts are not repeated.
extension Problem {
    init(_ fault: TemplateFault, at pointer: JSONPointer) {
        let detail =
            switch fault.reason {
            case .notHere:
                "Placeholders are not allowed here. Use {{ in the message's texts, not in names, headers or collapse_id."
            case .tooManyFields:
                "The message uses more than \(TemplateLimits.fieldsMax) different fields. Use fewer."
            case .tooManyDifferentPlaceholders:
                "The message has more than \(TemplateLimits.placeholdersMax) different placeholders. Use fewer."
            case .tooManyPlaceholdersInAll:
                "The message has more than \(TemplateLimits.placeholdersPerMessageMax) placeholders. Use fewer."
            case .notClosed, .textNotClosed, .unknownEscape, .controlCharacter, .unknownField, .expected, .tooManyNames,
                .tooManyPlaceholders, .reservedCharacter:
                "At character \(fault.position) of the text: \(fault.reason.text)."
            }
        let areAboutMore: [TemplateFault.Reason] = [
            .notHere, .tooManyFields, .tooManyDifferentPlaceholders, .tooManyPlaceholdersInAll,
        ]
        let isAboutCharacter = !areAboutMore.contains(fault.reason)
        self.init(.invalidTemplate, detail, at: pointer, position: isAboutCharacter ? fault.position : nil)
    }
}

extension TemplateFault.Reason {
    fileprivate var text: String {
        switch self {
        case .notClosed: "the {{ that begins here is never closed; to show two braces, write {{'{{'}}"
        case .textNotClosed: "the quotation mark that begins here is never closed"
        case .unknownEscape: "a backslash may only precede a quotation mark or another backslash"
        case .controlCharacter: "control characters are not allowed between quotation marks"
        case .unknownField(let name): Self.text(ofUnknown: name)
        case .expected(let expected): "expected \(expected.rawValue)"
        case .tooManyNames: "attributes nest at most \(FilterLimits.attributeNamesMax) names deep"
        case .tooManyPlaceholders:
            "the text has more than \(TemplateLimits.placeholdersPerTextMax) placeholders"
        case .reservedCharacter:
            "this is a Unicode noncharacter (U+FDD0 to U+FDEF, U+FFFE), which messages with {{ can't have"
        case .notHere, .tooManyFields, .tooManyDifferentPlaceholders, .tooManyPlaceholdersInAll:
            "a placeholder is not allowed here"
        }
    }

    /// The longest name that an error repeats.
    private static let echoedBytesMax = 64

    private static func text(ofUnknown name: String) -> String {
        let fields = "Fields are " + DeviceField.names.joined(separator: ", ")
        guard name.utf8.count <= echoedBytesMax else { return "this is not a field. " + fields }
        return "\(name) is not a field. \(fields); the app's own attributes are attributes.\(name)"
    }
}
