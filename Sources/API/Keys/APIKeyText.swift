import Encodings
import Signing

/// The text of an API key: `carillon_`, then 256 random bits and a checksum, in base64url.
///
/// The prefix lets source code scanners find a leaked key. The checksum distinguishes a cut or mistyped key from a
/// revoked one, and keeps invented keys from costing a query of the database.
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
