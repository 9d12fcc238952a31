import JSON
import Model

/// The placeholders of a message. Empty: the message is the same for all devices.
package struct MessagePlaceholders: Sendable {
    /// For each placeholder, by the number of its mark: the index of its field, and the fallback for a missing value, as
    /// it is filled in.
    package let placeholders: [(field: Int, fallback: [UInt8], use: PlaceholderUse)]
    /// The fields that are read of each device, in this order.
    package let fields: [DeviceField]
    /// The fault of the message if a sender wrote it: it has a placeholder for members' own values. nil: it has none.
    package let ownFault: ContentFault?

    package init() { (placeholders, fields, ownFault) = ([], [], nil) }

    private init(_ found: ContentPlaceholders) {
        (fields, ownFault) = (found.fields, found.ownFault)
        placeholders = found.placeholders.map { placeholder in
            let fallback = Array(placeholder.fallback.utf8)
            return (
                found.fields.firstIndex(of: placeholder.field) ?? 0,
                placeholder.use == .address ? NotificationAddress.encoded(fallback) : fallback, placeholder.use
            )
        }
    }

    package var isEmpty: Bool { placeholders.isEmpty }

    /// Returns the content in the form that the provider modules take, and its placeholders.
    /// - Parameter isHeader: whether a place of the message becomes a header, where no placeholder is allowed.
    package static func read(
        _ content: MessageContent, isHeader: @escaping (JSONPointer) -> Bool
    ) throws(ContentFault) -> (MessageContent, MessagePlaceholders) {
        guard content.isTemplate else { return (content, MessagePlaceholders()) }
        var placeholders = ContentPlaceholders(isHeader: isHeader)
        let marked = try placeholders.marked(content)
        return (marked, MessagePlaceholders(placeholders))
    }
}

extension MessagePlaceholders {
    /// Returns one device's values for the placeholders, as JSON: for the preview of a single push.
    /// - Parameter mark: the bytes in the place of a provider's own mark.
    package func pieces(
        of text: PlaceholderText, value: (DeviceField) -> [UInt8]?, mark: (_ mark: UInt8) -> [UInt8]
    ) -> [[UInt8]] {
        text.places.map { place in
            switch place {
            case .mark(let sign): return mark(sign)
            case .placeholder(let number, let isNested):
                let escaped = Self.escaped(filled(number, value(fields[placeholders[number].field]) ?? []))
                return isNested ? Self.escaped(escaped) : escaped
            }
        }
    }

    /// Returns what a placeholder is filled with.
    /// - Parameter value: the device's value; empty: it has none.
    private func filled(_ number: Int, _ value: [UInt8]) -> [UInt8] {
        let placeholder = placeholders[number]
        guard !value.isEmpty, placeholder.use.takes(value.span) else { return placeholder.fallback }
        return placeholder.use == .address ? NotificationAddress.encoded(value) : value
    }

    package static func escaped(_ text: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        JSONWriter.append(escaping: text.span, to: &escaped)
        return escaped
    }
}
