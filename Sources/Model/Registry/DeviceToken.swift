/// The provider's address of one installation and kind: opaque bytes of any length.
///
/// APNs tokens are kept as the bytes of their hexadecimal form, others as UTF-8. A token is secret: its description is
/// a short hash that only distinguishes tokens.
package struct DeviceToken: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }

    package var description: String {
        // FNV-1a, folded to 24 bits: enough to correlate two log lines, too little to find the token.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let folded = (hash ^ (hash >> 24) ^ (hash >> 48)) & 0xff_ffff
        return "token#" + String(folded, radix: 16)
    }
}
