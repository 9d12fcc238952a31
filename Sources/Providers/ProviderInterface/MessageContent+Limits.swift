import Content
import JSON
import Model

// Checks and sizes that every provider's compiler needs.
extension MessageContent {
    /// The bytes of the part that goes to every device of a provider, in any language.
    package func sharedBytes(for provider: Provider) -> Int {
        data.reduce(overrides[provider]?.bytes.count ?? 0) { $0 + $1.name.utf8.count + $1.json.bytes.count }
    }

    /// Returns the size to report if one of the compiled texts is too large; nil: none is.
    /// - Parameter sizes: that of the common text, then those of the localizations.
    package func excess(of sizes: [Int], over bytesMax: Int) -> (bytes: Int, locale: String?)? {
        guard let largest = sizes.indices.max(by: { sizes[$0] < sizes[$1] }), sizes[largest] > bytesMax else {
            return nil
        }
        // If the common text itself is too long, the localization is not the cause.
        return sizes[0] > bytesMax ? (sizes[0], nil) : (sizes[largest], localizations[largest - 1].locale)
    }
}

extension MessageOptions {
    /// Returns the sender's collapse id; nil: it gave none.
    ///
    /// It becomes the value of a header: no control characters, and no blanks at its ends, which HTTP may remove.
    package func checkedCollapseID(bytesMax: Int) throws(ProviderFault) -> String? {
        guard let bytes = collapseID?.utf8 else { return nil }
        let isClean = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f } && bytes.first != 0x20 && bytes.last != 0x20
        guard (1...bytesMax).contains(bytes.count), isClean else {
            throw .badCollapseID(bytes: bytes.count, bytesMax: bytesMax)
        }
        return collapseID
    }
}

extension JSONText {
    package func value(at pointer: JSONPointer) throws(ProviderFault) -> JSONValue {
        do throws(JSONError) { return try value() } catch { throw .wrongValue(pointer, expected: "JSON") }
    }
}
