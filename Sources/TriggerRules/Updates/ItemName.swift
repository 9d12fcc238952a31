/// The name of an item or of one of its fields. Names are compared by bytes.
package enum ItemName {
    /// The longest name, in bytes of UTF-8.
    package static let bytesMax = 768

    private static let reserved = Array("{}[]".utf8)

    /// A name holds no slash and no control character. It holds no braces and brackets either, with which triggers and
    /// texts write fields.
    package static func check(_ name: String) throws(ItemNameFault) {
        let bytes = name.utf8
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= bytesMax else { throw .tooLong }
        guard !bytes.contains(UInt8(ascii: "/")) else { throw .hasSlash }
        guard !bytes.contains(where: { reserved.contains($0) }) else { throw .hasBracket }
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .hasControlCharacter
        }
    }
}

/// The reason why a text can't name an item or a field.
package enum ItemNameFault: Error, Equatable, Sendable {
    case empty
    case tooLong
    case hasSlash
    /// The name has a brace or a bracket.
    case hasBracket
    case hasControlCharacter
}
