import TLS

/// The behaviour of an APNs stand-in without a script.
package struct APNsSimulatorSettings: Sendable {
    /// The environment of certificates, and of device tokens that the grammar binds to one.
    package enum Environment: Sendable {
        case production
        case sandbox
        /// Refuses nothing for its environment.
        case both

        func serves(_ other: Environment) -> Bool { self == .both || other == .both || self == other }
    }

    package enum Keys: Sendable {
        /// Tokens must be well formed and not too old; the signature is not checked.
        case any
        case registered([RegisteredKey])
    }

    package var common: SimulatorSettings
    package var environment = Environment.both
    /// SHA-256 of certificates that Apple has revoked: refused by GOAWAY after the handshake.
    package var revokedCertificates: [[UInt8]] = []
    package var keys = Keys.any
    /// Bundle ids without suffix. nil: any.
    package var topics: [String]?
    /// The stream limit: with a certificate from the start, with tokens after the first success, and 1 until then.
    package var streamLimit: UInt32 = 1_000
    /// Set to false for clients that assume 1,000 streams before they know (aioapns).
    package var startsWithOneStream = true
    package var providerTokenAgeMax: Duration = .seconds(3_600)
    /// The shortest time between a key's provider tokens. Zero: no limit.
    package var providerTokenChangeInterval: Duration = .seconds(1_200)
    /// Practice: after an expired provider token, a connection takes no fresh one either. If false, only that request
    /// is refused.
    package var expiredTokenSpoilsConnection = true
    /// After so many refusals in a row (410 doesn't count), the limit drops to 1 until the next success. nil: never.
    package var refusalsUntilLimitDrops: Int?
    /// After so many `BadDeviceToken`, the connection gets a GOAWAY. nil: never.
    package var badDeviceTokensMax: Int?

    package init(identity: TLSIdentity) {
        common = SimulatorSettings(identity, .requested, bodyBytesMax: APNsSession.keptBodyBytes)
    }
}

/// A key for all topics of its team, in both environments.
package struct RegisteredKey: Sendable {
    package let keyID: String
    package let teamID: String
    package let publicKeyPEM: [UInt8]

    package init(keyID: String, teamID: String, publicKeyPEM: [UInt8]) {
        (self.keyID, self.teamID, self.publicKeyPEM) = (keyID, teamID, publicKeyPEM)
    }
}
