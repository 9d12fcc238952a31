import Content
import Expressions
import JSON

// Describes an invalid template: the place, and what is expected there. The template's own texts are not repeated.
extension Problem {
    init(_ fault: TemplateFault, at pointer: JSONPointer) {
        let detail =
            switch fault.reason {
            case .notHere:
                "Nothing is filled in here: {{ stands in texts of the message, not in names, headers or collapse_id."
            case .tooManyFields:
                "The message asks more than \(TemplateLimits.fieldsMax) different fields of each device. Use fewer."
            case .tooManyDifferentPlaceholders:
                "The message has more than \(TemplateLimits.placeholdersMax) holes that differ in field or default. Use fewer."
            case .tooManyPlaceholdersInAll:
                "The message has more than \(TemplateLimits.placeholdersPerMessageMax) holes in all its texts. Use fewer."
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
        case .notClosed: "the {{ that begins here is never closed; two braces that are meant as such are {{'{{'}}"
        case .textNotClosed: "the quotation mark that begins here is never closed"
        case .unknownEscape: "a backslash stands before a quotation mark or another backslash alone"
        case .controlCharacter: "control characters can't stand between quotation marks"
        case .unknownField(let name): Self.text(ofUnknown: name)
        case .expected(let expected): "expected \(expected.rawValue)"
        case .tooManyNames: "attributes lie at most \(FilterLimits.attributeNamesMax) names deep"
        case .tooManyPlaceholders:
            "this is one hole more than the \(TemplateLimits.placeholdersPerTextMax) that a text may have"
        case .reservedCharacter:
            "this is a noncharacter of Unicode's (U+FDD0 to U+FDEF, U+FFFE), which messages with {{ can't have"
        case .notHere, .tooManyFields, .tooManyDifferentPlaceholders, .tooManyPlaceholdersInAll:
            "this can't be filled in"
        }
    }

    /// The longest name that an error repeats.
    private static let echoedBytesMax = 64

    private static func text(ofUnknown name: String) -> String {
        let fields = "Fields are " + DeviceField.names.joined(separator: ", ")
        guard name.utf8.count <= echoedBytesMax else { return "this is no field. " + fields }
        return "\(name) is no field. \(fields); what the app says itself of a device is attributes.\(name)"
    }
}
