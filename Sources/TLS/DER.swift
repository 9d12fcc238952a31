/// The little DER that Apple's extensions hold.
///
/// Source: X.690; apns.md section 3.2.
enum DERTag {
    static let null: UInt8 = 0x05
    static let utf8String: UInt8 = 0x0c
    static let sequence: UInt8 = 0x30
}

enum DERWriter {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    static func utf8String(_ text: String) -> [UInt8] { element(DERTag.utf8String, Array(text.utf8)) }

    private static func length(_ count: Int) -> [UInt8] {
        switch count {
        case ..<0x80: [UInt8(count)]
        case ..<0x100: [0x81, UInt8(count)]
        default: [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        }
    }
}
