/// A quoted text in filters and templates. A backslash may stand only before a quotation mark or another backslash.
package enum QuotedText {
    package static func isMark(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    package struct Fault: Error, Equatable {
        package enum Reason: Equatable, Sendable {
            case controlCharacter
            /// A backslash stands before a character other than a quotation mark or a backslash.
            case unknownEscape
            /// The text begins here, and never ends.
            case notClosed
        }

        package let reason: Reason
        /// The offset in bytes.
        package let offset: Int
    }

    /// - Parameter index: at the opening mark; on return after the closing one.
    package static func read(_ bytes: [UInt8], at index: inout Int) throws(Fault) -> String {
        let (start, mark) = (index, bytes[index])
        index += 1
        var content: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            guard byte >= 0x20, byte != 0x7f else { throw Fault(reason: .controlCharacter, offset: index) }
            index += 1
            if byte == mark { return String(decoding: content, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                content.append(byte)
                continue
            }
            guard index < bytes.count else { break }
            guard isMark(bytes[index]) || bytes[index] == UInt8(ascii: "\\") else {
                throw Fault(reason: .unknownEscape, offset: index - 1)
            }
            content.append(bytes[index])
            index += 1
        }
        throw Fault(reason: .notClosed, offset: start)
    }
}
