import Encodings
import Signing

/// An API key as it is written: `carillon_`, 256 random bits and a checksum, in base64url.
///
/// The prefix lets scanners of source code find a key that leaked. The checksum tells a key that was cut or mistyped
/// from one that was revoked, and keeps made-up keys from asking the database.
enum APIKeyText {
    static let prefix = "carillon_"
    static let randomBytes = 32
    private static let checksumBytes = 4
    static let hintCharacters = 4

    static func make(from random: [UInt8]) -> String {
        precondition(random.count == randomBytes)
        return prefix + String(decoding: Base64.urlEncode(random + checksum(random)), as: UTF8.self)
    }

    static func isWellFormed(_ text: String) -> Bool {
        guard text.hasPrefix(prefix), let bytes = Base64.urlDecode(text.utf8.dropFirst(prefix.utf8.count)),
            bytes.count == randomBytes + checksumBytes
        else { return false }
        return Array(bytes[randomBytes...]) == checksum(Array(bytes[..<randomBytes]))
    }

    private static func checksum(_ random: [UInt8]) -> [UInt8] {
        Array(Hashes.sha256(Array(prefix.utf8) + random)[..<checksumBytes])
    }
}
