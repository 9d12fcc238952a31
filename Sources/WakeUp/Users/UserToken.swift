import Basis
import Encodings
import Expressions
import JSON

/// A user's token whose signature and times have been checked: a JWT in the compact form.
///
/// The algorithm is that of the app's key, never the token's choice, and a key that a token brings along is ignored.
/// Source: RFC 7515; RFC 7519; RFC 8725.
package struct UserToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// All claims: an object.
    package let claims: JSONValue
    /// The claim `sub`; nil: the token names no user.
    package let subject: String?

    package static let bytesMax = 4_096
    package static let subjectBytesMax = 256
    /// The difference that two machines' clocks may have.
    package static let clockSkew: Duration = .seconds(60)

    /// Reading recurses, so the depth bounds the stack.
    private static let json = JSONLimits(bytesMax: bytesMax, depthMax: 16, valuesMax: 1_024)

    /// - Parameter keys: all keys of the app.
    package init(verifying text: String, keys: [UserTokenKey], now: WallInstant) throws(UserTokenFault) {
        guard text.utf8.count <= Self.bytesMax else { throw .tooLong }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .notThreeParts }
        guard let header = Base64.urlDecode(parts[0]), let body = Base64.urlDecode(parts[1]),
            let signature = Base64.urlDecode(parts[2])
        else { throw .notBase64URL }
        let key = try Self.key(for: header, among: keys)
        // Claims are read last: until then a stranger may have written them.
        let signed = Array(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
        guard key.verifies(signed, signature: signature) else { throw .signatureWrong }
        guard let claims = try? JSONReader.read(body, limits: Self.json), let object = claims.object else {
            throw .claimsUnreadable
        }
        try Self.checkTimes(object, now: now)
        subject = try Self.subject(object)
        self.claims = claims
    }

    /// A constant, so that logs never show a user's claims.
    package var description: String { "user token" }
    package var customMirror: Mirror { Mirror(self, children: [] as [(label: String?, value: Any)]) }

    private static func key(for bytes: [UInt8], among keys: [UserTokenKey]) throws(UserTokenFault) -> UserTokenKey {
        guard let header = (try? JSONReader.read(bytes, limits: json))?.object else { throw .headerUnreadable }
        guard header["crit"] == nil else { throw .extensionUnknown }
        let key: UserTokenKey
        if let kid = header["kid"] {
            guard let kid = kid.string else { throw .headerUnreadable }
            guard let named = keys.first(where: { $0.kid.hasSameBytes(as: kid) }) else { throw .keyUnknown }
            key = named
        } else {
            guard keys.count == 1 else { throw .keyNotNamed }
            key = keys[0]
        }
        guard let algorithm = header["alg"]?.string else { throw .headerUnreadable }
        guard algorithm.hasSameBytes(as: key.algorithm.rawValue) else { throw .algorithmOfOtherKey }
        return key
    }

    private static func checkTimes(_ claims: JSONObject, now: WallInstant) throws(UserTokenFault) {
        if let expiry = try seconds(claims["exp"]) {
            guard seconds(now + clockSkew * -1) < expiry else { throw .expired }
        }
        if let start = try seconds(claims["nbf"]) {
            guard start <= seconds(now + clockSkew) else { throw .notYetValid }
        }
    }

    /// nil: the claim is missing.
    private static func seconds(_ claim: JSONValue?) throws(UserTokenFault) -> DecimalNumber? {
        guard let claim else { return nil }
        guard let number = claim.number.flatMap(DecimalNumber.init) else { throw .timeUnreadable }
        return number
    }

    private static func seconds(_ instant: WallInstant) -> DecimalNumber {
        DecimalNumber(instant.microseconds, power: -6)
    }

    private static func subject(_ claims: JSONObject) throws(UserTokenFault) -> String? {
        guard let claim = claims["sub"] else { return nil }
        guard let subject = claim.string, (1...subjectBytesMax).contains(subject.utf8.count) else {
            throw .subjectUnreadable
        }
        return subject
    }
}

/// The reason why a user's token is refused. It holds nothing of the token.
package enum UserTokenFault: String, Error, CaseIterable, Sendable {
    /// More than `UserToken.bytesMax`.
    case tooLong
    case notThreeParts
    /// A part is not base64url without padding.
    case notBase64URL
    /// The header is no JSON object, or its `alg` or `kid` is no text.
    case headerUnreadable
    /// The header has `crit`: an extension that a verifier must know.
    case extensionUnknown
    /// The app has no key with the token's `kid`.
    case keyUnknown
    /// The token has no `kid`, and the app not exactly one key.
    case keyNotNamed
    /// The token's `alg` is not its key's algorithm. "none" is no key's.
    case algorithmOfOtherKey
    case signatureWrong
    /// The claims are no JSON object.
    case claimsUnreadable
    /// `exp` or `nbf` is no number.
    case timeUnreadable
    case expired
    case notYetValid
    /// `sub` is not a text of 1 to `UserToken.subjectBytesMax` bytes.
    case subjectUnreadable
}
