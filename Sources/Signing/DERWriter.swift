/// The tags of DER that keys, their encryption and Apple's extensions use.
/// Source: X.690; docs/promises.md, "The topic list".
package enum DERTag {
    package static let integer: UInt8 = 0x02
    package static let octetString: UInt8 = 0x04
    package static let null: UInt8 = 0x05
    package static let objectIdentifier: UInt8 = 0x06
    package static let utf8String: UInt8 = 0x0c
    package static let sequence: UInt8 = 0x30
    /// The tag `[0]`, explicit.
    package static let context0: UInt8 = 0xa0
}

package enum DERWriter {
    package static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    package static func utf8String(_ text: String) -> [UInt8] { element(DERTag.utf8String, Array(text.utf8)) }

    private static func length(_ count: Int) -> [UInt8] {
        switch count {
        case ..<0x80: [UInt8(count)]
        case ..<0x100: [0x81, UInt8(count)]
        default: [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        }
    }
}
