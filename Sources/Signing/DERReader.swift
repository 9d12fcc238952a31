/// Reads DER from front to back, one element after another. Every function throws `.keyUnreadable`.
///
/// Lengths must be definite and in their shortest form, tags must have one byte. BER's other forms, which OpenSSL
/// accepts too, are refused: it never finds a number that this reader has not seen.
/// Source: X.690, sections 8.1 and 10.1.
package struct DERReader {
    private var unread: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { unread = bytes[...] }
    private init(within contents: ArraySlice<UInt8>) { unread = contents }

    package var isAtEnd: Bool { unread.isEmpty }
    package func isNext(_ tag: UInt8) -> Bool { unread.first == tag }

    /// The next element's contents. The element must have this tag.
    package mutating func contents(of tag: UInt8) throws(SigningError) -> [UInt8] { Array(try next(tag)) }

    /// A reader of the next element's contents. The element must have this tag.
    package mutating func structure(_ tag: UInt8 = DERTag.sequence) throws(SigningError) -> DERReader {
        DERReader(within: try next(tag))
    }

    /// The magnitude of the next INTEGER, without leading zeros; empty for 0. Negative numbers are refused.
    package mutating func magnitude() throws(SigningError) -> ArraySlice<UInt8> {
        let bytes = try next(DERTag.integer)
        guard let first = bytes.first, first < 0x80 else { throw .keyUnreadable }
        guard first == 0 else { return bytes }
        let magnitude = bytes.dropFirst()
        if let second = magnitude.first, second < 0x80 { throw .keyUnreadable }
        return magnitude
    }

    /// The next INTEGER. One that is too large for an `Int` is read as the largest `Int`.
    package mutating func count() throws(SigningError) -> Int {
        let magnitude = try magnitude()
        guard magnitude.count <= MemoryLayout<Int>.size else { return .max }
        return Int(clamping: magnitude.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Three bytes can express a length of 16 MiB, more than any file that is read.
    private static let lengthBytesMax = 3

    private mutating func next(_ tag: UInt8) throws(SigningError) -> ArraySlice<UInt8> {
        let behindTag = unread.dropFirst()
        guard unread.first == tag, tag & 0x1f != 0x1f, let first = behindTag.first else { throw .keyUnreadable }
        var contents = behindTag.dropFirst()
        var length = Int(first)
        if first >= 0x80 {
            let lengthBytes = Int(first & 0x7f)
            guard (1...Self.lengthBytesMax).contains(lengthBytes), contents.count >= lengthBytes else {
                throw .keyUnreadable
            }
            length = contents.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
            let shortestMin = lengthBytes == 1 ? 0x80 : 1 << (8 * (lengthBytes - 1))
            guard length >= shortestMin else { throw .keyUnreadable }
            contents = contents.dropFirst(lengthBytes)
        }
        guard contents.count >= length else { throw .keyUnreadable }
        unread = contents.dropFirst(length)
        return contents.prefix(length)
    }
}
