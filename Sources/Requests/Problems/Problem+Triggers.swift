import JSON
import Model
import TriggerRules

// Describes invalid triggers and texts of subscriptions: the place, and what is expected there.
extension Problem {
    /// - Parameters:
    ///   - text: the trigger.
    ///   - pointer: its place in the body.
    package init(_ fault: TriggerFault, of text: String, at pointer: JSONPointer) {
        let position = fault.position(in: text)
        switch fault {
        case .invalid(let reason, offset: _):
            self.init(
                .invalidTrigger, "At character \(position) of the trigger: \(reason.text).", at: pointer,
                position: position)
        case .fieldNotSubscribed(let name, offset: _):
            self.init(fieldNotSubscribed: name, in: "the trigger", at: pointer, position: position)
        }
    }

    /// - Parameters:
    ///   - position: that of the faulty character, from 1.
    ///   - pointer: the text's place in the body.
    package init(_ fault: SubscriptionTextFault, position: Int, at pointer: JSONPointer) {
        switch fault {
        case .invalid(let reason, offset: _):
            self.init(
                .invalidTemplate, "At character \(position) of the text: \(reason.text).", at: pointer,
                position: position)
        case .fieldNotSubscribed(let name, offset: _):
            self.init(fieldNotSubscribed: name, in: "the text", at: pointer, position: position)
        }
    }

    private init(fieldNotSubscribed name: String, in place: String, at pointer: JSONPointer, position: Int) {
        let field = name.utf8.count <= CommonText.echoedBytesMax ? "the field \(name)" : "a field with a long name"
        self.init(
            .fieldNotSubscribed,
            "At character \(position) of \(place): \(field) is not among the subscription's fields. Correct it, or add it "
                + "to fields.", at: pointer, position: position)
    }
}

extension TriggerFault.Reason {
    fileprivate var text: String {
        switch self {
        case .tooLong(let bytes): "the trigger has \(bytes) bytes; the limit is \(TriggerLimits.textBytesMax)"
        case .tooDeep: "parentheses and ! nest more than \(TriggerLimits.depthMax) levels deep"
        case .unexpected(let piece, let expected):
            "expected \(CommonText.list(expected.map(\.rawValue))), found \(piece.text)"
        case .unknownName(let name):
            "\(name.utf8.count <= CommonText.echoedBytesMax ? name : "this") is not known; triggers have "
                + "Double.parseDouble, Integer.parseInt and .equals"
        case .numberForm: "a number is decimal, such as -2, 100.0, 1.5e3 or 3000000000L"
        case .numberOutOfRange: "this number is beyond the range of its type in Java; a whole number may end in L"
        case .text(let flaw): flaw.text
        case .reference(let flaw): flaw.text
        case .textsCompared: "texts are compared with .equals, as in ${state}.equals(\"open\")"
        case .badOperands(let left, let comparison, let right):
            "\(left.rawValue) \(comparison.rawValue) \(right.rawValue) can't be compared; Double.parseDouble(${price}) "
                + "makes a number of a field"
        case .noCondition(let type):
            "this is \(type.rawValue), where a condition is needed, such as Double.parseDouble(${price}) > 100.0"
        case .noMethods(let type): "this is \(type.rawValue), which has no methods; a text has .equals"
        }
    }
}

extension TriggerFault.TextFlaw {
    fileprivate var text: String {
        switch self {
        case .notClosed: CommonText.textNotClosed
        case .lineEnd: "a text ends on the line on which it begins; write \\n for the end of a line"
        case .unknownEscape: "a backslash may only precede what Java allows behind it, such as \", \\, n, t or u00e9"
        case .loneSurrogate: "this escape is half of a character; write both halves, or the character itself"
        }
    }
}

extension TriggerPiece {
    fileprivate var text: String {
        switch self {
        case .end: "the end"
        case .text: "a text"
        case .number: "a number"
        case .field: "a field"
        case .identifier(let name): name.utf8.count <= CommonText.echoedBytesMax ? "the name \(name)" : "a long name"
        case .symbol(let symbol): symbol
        case .character: "a character that is only allowed in a text"
        }
    }
}

extension SubscriptionTextFault.Reason {
    fileprivate var text: String {
        switch self {
        case .reference(let flaw): flaw.text
        case .doubleBrace:
            "{{ begins a placeholder of messages, which subscriptions don't have; a field is written ${last_price}"
        case .tooManyFields: "the text has more than \(SubscriptionText.fieldsMax) fields"
        case .tooManyFieldsInAll:
            "with this text, the subscription has more than \(MessageContent.pushFieldsMax) fields in all its texts"
        }
    }
}

extension FieldReferenceFlaw {
    fileprivate var text: String {
        switch self {
        case .notClosed: "the field that begins here is not closed; write ${last_price} or $[1]"
        case .empty: "a field needs its name or its position; write ${last_price} or $[1]"
        case .notAPosition: "brackets hold the position of a field, from 1, as in $[1]"
        }
    }
}
