import Expressions

/// A text of a subscription, filled with the fields of an item: `Stock ${stock_name} is now ${last_price}`.
///
/// - `${stock_name}` is the text of a field of the subscription, and `$[1]` that of its first field.
/// - A dollar sign before any other character is text, and so is a brace without a dollar sign.
/// - `{{` is refused, because it begins a placeholder of messages' templates: a text has one language.
///
/// Source: the described service, "Activating an MPN Subscription".
package struct SubscriptionText: Sendable {
    package enum Part: Sendable {
        case literal(String)
        /// The name of a field of the subscription.
        case field(String)
    }

    /// In order; literals are never empty, and never adjacent.
    package let parts: [Part]

    /// The most fields in one text, repetitions included: each copies a value.
    package static let fieldsMax = 64

    /// Takes time in proportion to the text, which the caller bounds.
    /// - Parameter fields: the subscription's fields, in their order.
    package init(parsing text: String, fields: [String]) throws(SubscriptionTextFault) {
        var reader = SubscriptionTextReader(Array(text.utf8), fields)
        parts = try reader.read()
    }

    /// The number of fields in it, repetitions included.
    package var fieldCount: Int { parts.filter { if case .field = $0 { true } else { false } }.count }

    /// Returns the text for an update. A field without a value is empty.
    /// - Parameter value: returns the text of a field of the subscription; nil: the field has no value.
    package func filled(_ value: (String) -> String?) -> String {
        parts.reduce(into: "") { text, part in
            switch part {
            case .literal(let literal): text += literal
            case .field(let name): text += value(name) ?? ""
            }
        }
    }
}

/// The reason why a subscription's text is refused, and the place.
package enum SubscriptionTextFault: Error, Equatable, Sendable {
    case invalid(Reason, offset: Int)
    /// The field isn't among the subscription's fields: its name, or its position as it was written.
    case fieldNotSubscribed(String, offset: Int)

    /// The place of the fault, in bytes of UTF-8 from the beginning of the text. Below the text's length.
    package var offset: Int {
        switch self {
        case .invalid(_, offset: let offset), .fieldNotSubscribed(_, offset: let offset): offset
        }
    }

    /// The position of the faulty character in the text, from 1, in Unicode scalars.
    package func position(in text: String) -> Int { ExpressionLexer.position(of: offset, in: Array(text.utf8)) }

    package enum Reason: Equatable, Sendable {
        case reference(FieldReferenceFlaw)
        /// Two opening braces begin a placeholder of another template language.
        case doubleBrace
        case tooManyFields
        /// The limit over all texts of a push template.
        case tooManyFieldsInAll
    }
}

/// Splits a text into its parts. Throws the place of the first error.
private struct SubscriptionTextReader {
    private let bytes: [UInt8]
    private let fields: [String]
    private var index = 0
    private var parts: [SubscriptionText.Part] = []
    private var literal: [UInt8] = []
    private var fieldCount = 0

    init(_ bytes: [UInt8], _ fields: [String]) { (self.bytes, self.fields) = (bytes, fields) }

    mutating func read() throws(SubscriptionTextFault) -> [SubscriptionText.Part] {
        while index < bytes.count {
            if bytes[index...].starts(with: "{{".utf8) { throw .invalid(.doubleBrace, offset: index) }
            if FieldReference.begins(bytes, at: index) {
                try takeField()
            } else {
                literal.append(bytes[index])
                index += 1
            }
        }
        closeLiteral()
        return parts
    }

    private mutating func takeField() throws(SubscriptionTextFault) {
        let start = index
        // `${{` would otherwise be half a brace.
        if bytes[(start + 1)...].starts(with: "{{".utf8) { throw .invalid(.doubleBrace, offset: start + 1) }
        let reference: FieldReference
        do throws(FieldReferenceFault) { reference = try FieldReference.read(bytes, at: &index) } catch {
            throw .invalid(.reference(error.reason), offset: error.offset)
        }
        guard let name = reference.name(in: fields) else { throw .fieldNotSubscribed(reference.text, offset: start) }
        fieldCount += 1
        guard fieldCount <= SubscriptionText.fieldsMax else { throw .invalid(.tooManyFields, offset: start) }
        closeLiteral()
        parts.append(.field(name))
    }

    private mutating func closeLiteral() {
        guard !literal.isEmpty else { return }
        parts.append(.literal(String(decoding: literal, as: UTF8.self)))
        literal = []
    }
}
