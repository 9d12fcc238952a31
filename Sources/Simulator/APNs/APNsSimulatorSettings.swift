import TLS

/// The behaviour of an APNs stand-in without a script.
package struct APNsSimulatorSettings: Sendable {
    package enum Mode: Sendable {
        /// Validates each request as Apple does, and keeps what each token received.
        case validating
        /// Answers 200 as fast as it can: no check, no record. For benchmarks.
        case sink
    }

    /// The environment of certificates, keys, and device tokens that the grammar binds to one.
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

    /// The server's certificate and key. Make one with `CertificateAuthority.issue` for the names that clients use.
    package var identity: TLSIdentity
    /// 0: any free port.
    package var port: UInt16 = 0
    package var reach = SimulatorReach.loopback
    package var mode = Mode.validating
    package var environment = Environment.both
    package var clientCertificates: TLSContext.ClientCertificates = .requested
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
    /// The time from the connection's arrival until TLS and HTTP/2 are agreed: the client's first request, or its
    /// acknowledgement of our SETTINGS. A slower connection is closed.
    package var handshakeTimeout: Duration = .seconds(10)
    /// A client that has sent nothing for this time, and waits for no answer, is sent a GOAWAY. Practice: Apple ends
    /// idle connections after about a quarter of an hour.
    package var idleTimeout: Duration = .seconds(900)
    /// The time from the first byte of a request over HTTP/1.1 to its last. A slower connection is closed.
    package var requestTimeout: Duration = .seconds(30)
    /// The delay of answers to the grammar's slow tokens.
    package var slowAnswer: Duration = .seconds(5)
    /// The limit of kept bodies and headers; the oldest are forgotten first. Counts stay.
    package var keptBytesMax = 256 << 20
    /// Called on the simulator's thread with complete lines of NDJSON, many at a time.
    package var record: (@Sendable ([UInt8]) -> Void)?

    package init(identity: TLSIdentity) { self.identity = identity }

    var listenerSettings: SimulatorListenerSettings {
        SimulatorListenerSettings(
            identity: identity, port: port, reach: reach, clientCertificates: clientCertificates,
            handshakeTimeout: handshakeTimeout, idleTimeout: idleTimeout, requestTimeout: requestTimeout,
            bodyBytesMax: APNsSession.keptBodyBytes, keptBytesMax: keptBytesMax, record: record)
    }
}

/// A provider token key as Apple stores it.
package struct RegisteredKey: Sendable {
    package enum Scope: Sendable, Equatable {
        /// Created before 2025: all topics, both environments.
        case legacy
        /// All topics of the team, one environment.
        case team(APNsSimulatorSettings.Environment)
        /// These bundle ids only; one other key may share the connection.
        case topics([String], APNsSimulatorSettings.Environment, relatedKeyID: String?)
    }

    package let keyID: String
    package let teamID: String
    package let publicKeyPEM: [UInt8]
    package let scope: Scope

    package init(keyID: String, teamID: String, publicKeyPEM: [UInt8], scope: Scope = .legacy) {
        (self.keyID, self.teamID, self.publicKeyPEM, self.scope) = (keyID, teamID, publicKeyPEM, scope)
    }
}
