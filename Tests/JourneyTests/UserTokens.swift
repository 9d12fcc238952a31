import Encodings
import Signing

/// An app's key for the tokens of its users (HS256), and the tokens that it signs.
enum UserTokens {
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)

    /// The body of `POST .../user-keys`.
    static var submission: String {
        let key = String(decoding: Base64.urlEncode(secret), as: UTF8.self)
        return #"{"kid": "main", "algorithm": "HS256", "key": "\#(key)"}"#
    }

    static func token(of user: String) throws -> String {
        let parts = [#"{"alg":"HS256"}"#, #"{"sub": "\#(user)"}"#].map { Base64.urlEncode(Array($0.utf8)) }
        let signed = parts[0] + [UInt8(ascii: ".")] + parts[1]
        let signature = Base64.urlEncode(try HS256Key(secret: secret).sign(signed))
        return String(decoding: signed + [UInt8(ascii: ".")] + signature, as: UTF8.self)
    }
}
