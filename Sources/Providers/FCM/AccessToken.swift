import Basis
import Encodings
import JSON
import Model
import ProviderInterface

/// The request for an access token: an assertion that the account signs. Signing happens elsewhere: this module has no
/// keys. Source: RFC 7523; "Using OAuth 2.0 for server to server applications".
package enum FCMTokenRequest {
    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// An assertion may be valid for an hour at most.
    private static let assertionSeconds: Int64 = 3_600

    /// Returns the bytes to sign with RS256: header and claims, as base64url, joined by a point.
    package static func signingInput(_ account: FCMServiceAccount, issuedAt: WallInstant) -> [UInt8] {
        var header = JSONObject([JSONMember("alg", "RS256"), JSONMember("typ", "JWT")])
        header["kid"] = account.privateKeyID.map { .string($0) }
        let seconds = issuedAt.secondsSince1970
        let claims = JSONObject([
            JSONMember("iss", .string(account.clientEmail)), JSONMember("scope", .string(scope)),
            JSONMember("aud", .string(account.tokenURI)), JSONMember("iat", .number(.whole(seconds))),
            JSONMember("exp", .number(.whole(seconds + assertionSeconds))),
        ])
        return Base64.urlEncode(JSONValue.object(header).bytes) + [UInt8(ascii: ".")]
            + Base64.urlEncode(JSONValue.object(claims).bytes)
    }

    /// Returns the form to post to the account's `tokenURL`. An assertion has no characters that need an escape.
    package static func body(signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8) + signingInput
            + [UInt8(ascii: ".")] + Base64.urlEncode(signature)
    }
}

package enum FCMTokenAnswer {
    package static let tokenBytesMax = 8_192
    /// Google says 3599 or 3600. Without a lifetime we assume a short one; a lifetime above half a day is cut to that.
    private static let lifetimeUnstated: Duration = .seconds(300)
    private static let lifetimeSecondsMax: Int64 = 43_200

    /// - Parameter askedAt: the time at which the request left.
    /// - Parameter retryAfter: the value of that header; empty if there was none.
    package static func read(
        status: Int, body: Span<UInt8>, retryAfter: Span<UInt8>, askedAt: MonotonicInstant, now: WallInstant
    ) -> AccessTokenAnswer {
        let members = members(of: body)
        switch status {
        case 200..<300: return granted(members, askedAt) ?? .failed(reason: "bad_answer", after: nil)
        case 400..<500 where status != 408 && status != 425 && status != 429:
            if let refusal = refused(status, members) { return refusal }
        default: break
        }
        return .failed(reason: reason(status, members), after: FCMResponse.wait(retryAfter, now))
    }

    private static func members(of body: Span<UInt8>) -> JSONObject {
        guard body.count <= AccessTokenAnswer.bodyBytesMax else { return JSONObject() }
        let limits = JSONLimits(bytesMax: AccessTokenAnswer.bodyBytesMax, depthMax: 16, valuesMax: 1_000)
        return (try? JSONReader.read(body.copied(), limits: limits))?.object ?? JSONObject()
    }

    private static func granted(_ members: JSONObject, _ askedAt: MonotonicInstant) -> AccessTokenAnswer? {
        // The token goes into a header.
        guard let text = members["access_token"]?.string, (1...tokenBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy(\.isVisible)
        else { return nil }
        if let type = members["token_type"], type.string?.lowercased() != "bearer" { return nil }
        var lifetime = lifetimeUnstated
        if let stated = members["expires_in"] {
            guard let seconds = stated.integer, seconds > 0 else { return nil }
            lifetime = .seconds(min(seconds, lifetimeSecondsMax))
        }
        return .granted(AccessToken(text: Array(text.utf8), askedAt: askedAt, lifetime: lifetime))
    }

    /// Returns nil if the reason is a passing one.
    private static func refused(_ status: Int, _ members: JSONObject) -> AccessTokenAnswer? {
        let code = reason(status, members)
        let reason = words(members).map { "\(code): \($0)" } ?? code
        switch code {
        case "temporarily_unavailable", "server_error", "internal_failure", "rate_limit_exceeded", "slow_down":
            return nil
        // The key or the account is gone, the signature is wrong, or the assertion's times are not Google's. In the
        // last case the description names them.
        case "invalid_grant":
            let text = members["error_description"]?.string?.lowercased() ?? ""
            let isAboutTime = [" iat ", "timeframe"].contains { text.contains($0) }
            return .refused(reason: reason, alarm: isAboutTime ? .clock : .credential)
        case "invalid_request", "invalid_scope", "unsupported_grant_type":
            return .refused(reason: reason, alarm: .ourRequest)
        // invalid_client, unauthorized_client, access_denied, deleted_client, and any new reason of Google's.
        default: return .refused(reason: reason, alarm: .credential)
        }
    }

    /// Returns Google's sentence about its code, such as "Invalid JWT Signature"; nil: it has none, or one with a word
    /// that might be a part of the assertion.
    private static func words(_ members: JSONObject) -> String? {
        let (sentenceBytesMax, wordBytesMax) = (160, 24)
        guard let sentence = members["error_description"]?.string, (1...sentenceBytesMax).contains(sentence.utf8.count),
            sentence.utf8.split(separator: UInt8(ascii: " ")).allSatisfy({ word in
                word.count <= wordBytesMax && word.allSatisfy(\.isVisible)
            })
        else { return nil }
        return sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    }

    /// Returns OAuth's error code if it looks like one. Anything else might echo the assertion.
    private static func reason(_ status: Int, _ members: JSONObject) -> String {
        let reasonBytesMax = 48
        guard let reason = members["error"]?.string, (1...reasonBytesMax).contains(reason.utf8.count),
            reason.utf8.allSatisfy({ $0.isSmallLetter || $0 == UInt8(ascii: "_") })
        else { return "status_\(status)" }
        return reason
    }
}
