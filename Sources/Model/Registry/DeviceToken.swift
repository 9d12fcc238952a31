/// The provider's name for one installation and kind: opaque bytes of any length.
///
/// APNs tokens are kept as the bytes behind their hexadecimal form, other providers' as UTF-8.
/// A secret: its description is a short hash that tells two tokens apart and nothing more.
package struct DeviceToken: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }

    package var description: String {
        // FNV-1a, folded to 24 bits: enough to correlate two log lines, useless to find the token.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let folded = (hash ^ (hash >> 24) ^ (hash >> 48)) & 0xff_ffff
        return "token#" + String(folded, radix: 16)
    }
}
