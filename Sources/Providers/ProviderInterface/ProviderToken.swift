import Basis

/// A signed provider token (JWT, ES256). A secret: its holder can send in the team's name for an hour.
package struct ProviderToken: Equatable, Sendable, CustomStringConvertible {
    /// "header.claims.signature", ASCII.
    package let text: [UInt8]
    /// The claim `iat`: the token's age counts from here, not from when we received it.
    package let issuedAt: WallInstant

    package init(text: [UInt8], issuedAt: WallInstant) { (self.text, self.issuedAt) = (text, issuedAt) }

    package var description: String { "provider token issued at \(issuedAt.secondsSince1970)" }

    package var authorization: [UInt8] { Array("bearer ".utf8) + text }
}

/// How long a provider takes a provider token, and how often it takes a new one.
package struct ProviderTokenLifetime: Equatable, Sendable {
    /// From this age on the next token is fetched, while this one is still used.
    package let renewalAge: Duration
    /// From this age on the token is not used: a little before the provider would refuse it.
    package let ageMax: Duration
    /// The provider takes no new token after a shorter time.
    package let renewalsApartMin: Duration
    /// A token from a machine whose clock is ahead of ours by up to this is used.
    package let clockSkewMax: Duration

    package init(renewalAge: Duration, ageMax: Duration, renewalsApartMin: Duration, clockSkewMax: Duration) {
        precondition(renewalAge > .zero && renewalAge < ageMax && renewalsApartMin < ageMax)
        (self.renewalAge, self.ageMax) = (renewalAge, ageMax)
        (self.renewalsApartMin, self.clockSkewMax) = (renewalsApartMin, clockSkewMax)
    }
}

/// A key that signs provider tokens. All processes share one token per key (`ProviderTokenCache`).
package protocol ProviderTokenSource: Sendable {
    var provider: String { get }
    var lifetime: ProviderTokenLifetime { get }
    var keyID: String { get }
    /// Names the key among all keys of the provider.
    var name: String { get }
    func publicPEM() throws(KeyFault) -> [UInt8]
    func token(issuedAt: WallInstant) throws(KeyFault) -> ProviderToken
}
