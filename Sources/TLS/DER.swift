/// A reader of the little DER that Apple's extensions hold. Foreign bytes: every length is checked.
///
/// Source: X.690; apns.md section 3.2.
struct DERReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    enum Tag {
        static let null: UInt8 = 0x05
        static let utf8String: UInt8 = 0x0c
        static let sequence: UInt8 = 0x30
    }

    var isAtEnd: Bool { position >= bytes.endIndex }

    /// The next element's content, where it has this tag.
    mutating func next(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard position < bytes.endIndex, bytes[position] == tag, let length = lengthAfterTag() else { return nil }
        let start = length.contentStart
        guard length.count <= bytes.endIndex - start else { return nil }
        position = start + length.count
        return bytes[start..<position]
    }

    private func lengthAfterTag() -> (count: Int, contentStart: Int)? {
        var index = position + 1
        guard index < bytes.endIndex else { return nil }
        let first = bytes[index]
        index += 1
        if first < 0x80 { return (Int(first), index) }
        let octets = Int(first & 0x7f)
        // Three octets hold 16 MiB, more than any certificate.
        guard (1...3).contains(octets), bytes.endIndex - index >= octets else { return nil }
        var count = 0
        for offset in 0..<octets { count = count << 8 | Int(bytes[index + offset]) }
        return (count, index + octets)
    }
}

enum DERWriter {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    static func utf8String(_ text: String) -> [UInt8] { element(DERReader.Tag.utf8String, Array(text.utf8)) }

    private static func length(_ count: Int) -> [UInt8] {
        switch count {
        case ..<0x80: [UInt8(count)]
        case ..<0x100: [0x81, UInt8(count)]
        default: [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        }
    }
}
