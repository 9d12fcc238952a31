import Basis

/// A field as a trigger or a text names it: `${last_price}`, or `$[1]` by its position among the subscription's fields.
///
/// A name is taken as it stands, blanks included, and compared by its bytes. Positions count from 1.
/// Source: the described service, "Activating an MPN Subscription".
struct FieldReference: Equatable {
    /// The inside of the braces or brackets; never empty.
    private let content: String
    private let isName: Bool

    /// Whether a reference begins at the index. A dollar sign before any other byte begins none.
    static func begins(_ bytes: [UInt8], at index: Int) -> Bool {
        guard bytes[index] == UInt8(ascii: "$"), index + 1 < bytes.count else { return false }
        return bytes[index + 1] == UInt8(ascii: "{") || bytes[index + 1] == UInt8(ascii: "[")
    }

    /// - Parameter index: at the dollar sign of a reference; on return behind its end.
    static func read(_ bytes: [UInt8], at index: inout Int) throws(FieldReferenceFault) -> FieldReference {
        let start = index
        let isName = bytes[start + 1] == UInt8(ascii: "{")
        let closing = isName ? UInt8(ascii: "}") : UInt8(ascii: "]")
        guard let end = bytes[(start + 2)...].firstIndex(of: closing) else {
            throw FieldReferenceFault(.notClosed, at: start)
        }
        let content = bytes[(start + 2)..<end]
        guard !content.isEmpty else { throw FieldReferenceFault(.empty, at: start) }
        if isName, content.contains(UInt8(ascii: "{")) { throw FieldReferenceFault(.notClosed, at: start) }
        if !isName, !content.allSatisfy(\.isDigit) { throw FieldReferenceFault(.notAPosition, at: start) }
        index = end + 1
        return FieldReference(content: String(decoding: content, as: UTF8.self), isName: isName)
    }

    /// Returns the name of the field; nil: it isn't among these.
    func name(in fields: [String]) -> String? {
        if isName { return fields.first { $0.hasSameBytes(as: content) } }
        // A position with more digits than an integer holds is none.
        guard let position = Int(content), fields.indices.contains(position - 1) else { return nil }
        return fields[position - 1]
    }

    /// The name, or the position as it was written, for a field that is missing.
    var text: String { isName ? content : "$[\(content)]" }
}

/// The reason why a text has no field's name or position where one begins.
struct FieldReferenceFault: Error, Equatable {
    let reason: FieldReferenceFlaw
    /// The offset of the dollar sign, in bytes.
    let offset: Int

    fileprivate init(_ reason: FieldReferenceFlaw, at offset: Int) { (self.reason, self.offset) = (reason, offset) }
}

package enum FieldReferenceFlaw: Equatable, Sendable {
    /// Half a brace or bracket: the other half is missing, or another brace opens before it.
    case notClosed
    case empty
    /// The brackets hold something other than digits.
    case notAPosition
}
