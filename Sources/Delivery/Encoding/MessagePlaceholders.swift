import Content
import JSON
import Model

/// What a message asks of its devices. Empty: it is the same for all of them.
package struct MessagePlaceholders: Sendable {
    /// What goes into each hole, by the number of its mark: one of the fields, and what stands in for it.
    let placeholders: [(field: Int, fallback: [UInt8])]
    /// What is read of each device, and in which order.
    package let fields: [DeviceField]

    /// Of a message without any.
    init() { (placeholders, fields) = ([], []) }

    private init(_ found: ContentPlaceholders) {
        fields = found.fields
        placeholders = found.placeholders.map { placeholder in
            (found.fields.firstIndex(of: placeholder.field) ?? 0, Array(placeholder.fallback.utf8))
        }
    }

    package var isEmpty: Bool { placeholders.isEmpty }

    /// The content in the form that providers' rooms take, and what is to be filled in.
    static func read(_ content: MessageContent) throws(ContentFault) -> (MessageContent, MessagePlaceholders) {
        guard content.isTemplate else { return (content, MessagePlaceholders()) }
        var placeholders = ContentPlaceholders()
        let marked = try placeholders.marked(content)
        return (marked, MessagePlaceholders(placeholders))
    }
}

extension MessagePlaceholders {
    /// What one device's pieces are, as JSON: for looking at a single push.
    ///
    /// - Parameters:
    ///   - value: what the device says of itself; nil or empty: nothing.
    ///   - mark: what goes where the provider left a mark.
    package func pieces(
        of text: PlaceholderText, value: (DeviceField) -> [UInt8]?, mark: (_ mark: UInt8) -> [UInt8]
    ) -> [[UInt8]] {
        text.places.map { place in
            switch place {
            case .mark(let sign): return mark(sign)
            case .placeholder(let number, let isNested):
                let own = value(fields[placeholders[number].field]) ?? []
                let escaped = Self.escaped(own.isEmpty ? placeholders[number].fallback : own)
                return isNested ? Self.escaped(escaped) : escaped
            }
        }
    }

    static func escaped(_ text: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        JSONWriter.append(escaping: text.span, to: &escaped)
        return escaped
    }
}
