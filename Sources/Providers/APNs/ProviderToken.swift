import Basis
import Encodings
import JSON
import ProviderInterface

extension ProviderTokenLifetime {
    /// APNs takes a token for 60 minutes after its `iat`, and after less than 20 minutes answers another one with
    /// `TooManyProviderTokenUpdates`. It takes an issue time within an hour of its own clock, and one token for all
    /// processes is worth more than a true time.
    ///
    /// Source: Apple, "Establishing a token-based connection to APNs".
    package static let apns = ProviderTokenLifetime(
        renewalAge: .seconds(50 * 60), ageMax: .seconds(59 * 60), renewalsApartMin: .seconds(20 * 60),
        clockSkewMax: .seconds(59 * 60))
}

/// The text of a provider token. Signing happens elsewhere: this module has no keys.
package enum ProviderTokenText {
    /// Returns the bytes to sign with ES256: header and claims, as base64url, joined by a point.
    package static func signingInput(identity: APNsKeyIdentity, issuedAt: WallInstant) -> [UInt8] {
        let header = JSONObject([JSONMember("alg", "ES256"), JSONMember("kid", .string(identity.keyID))])
        let claims = JSONObject([
            JSONMember("iss", .string(identity.teamID)),
            JSONMember("iat", .number(.whole(issuedAt.secondsSince1970))),
        ])
        return Base64.urlEncode(JSONValue.object(header).bytes) + [UInt8(ascii: ".")]
            + Base64.urlEncode(JSONValue.object(claims).bytes)
    }

    package static func assemble(signingInput: [UInt8], signature: [UInt8], issuedAt: WallInstant) -> ProviderToken {
        precondition(signature.count == 64, "ES256 signs with R and S of 32 bytes")
        // `iat` has whole seconds: the age is counted from the value that APNs reads.
        return ProviderToken(
            text: signingInput + [UInt8(ascii: ".")] + Base64.urlEncode(signature),
            issuedAt: WallInstant(secondsSince1970: issuedAt.secondsSince1970))
    }
}
