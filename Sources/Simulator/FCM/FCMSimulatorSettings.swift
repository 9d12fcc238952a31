import TLS

/// The behaviour of an FCM stand-in without a script.
package struct FCMSimulatorSettings: Sendable {
    /// The server's certificate and key. Make one with `CertificateAuthority.issue` for the names that clients use.
    package var identity: TLSIdentity
    /// The known accounts, and with them their projects.
    package var accounts: [ServiceAccount]
    /// 0: any free port.
    package var port: UInt16 = 0
    package var reach = SimulatorReach.loopback
    package var mode = APNsSimulatorSettings.Mode.validating
    /// Projects that exist without an account here: sending to them is forbidden, not "not found".
    package var otherProjects: [String] = []
    /// The lifetime of an access token, also as stated in the answer. A short one makes a sender refresh.
    package var accessTokenSeconds = 3_599
    package var streamLimit: UInt32 = 100
    package var handshakeTimeout: Duration = .seconds(10)
    package var idleTimeout: Duration = .seconds(900)
    /// The time from the first byte of a request over HTTP/1.1 to its last. A slower connection is closed.
    package var requestTimeout: Duration = .seconds(30)
    /// The delay of answers to the grammar's slow tokens.
    package var slowAnswer: Duration = .seconds(5)
    /// The limit of kept bodies and headers; the oldest are forgotten first. Counts stay.
    package var keptBytesMax = 256 << 20
    /// Called on the simulator's thread with complete lines of NDJSON, many at a time.
    package var record: (@Sendable ([UInt8]) -> Void)?

    package init(identity: TLSIdentity, accounts: [ServiceAccount]) {
        self.identity = identity
        self.accounts = accounts
    }

    /// Room for the thousand registration tokens of a topic call.
    static let bodyBytesMax = 1 << 20

    var listenerSettings: SimulatorListenerSettings {
        SimulatorListenerSettings(
            identity: identity, port: port, reach: reach, clientCertificates: .ignored,
            handshakeTimeout: handshakeTimeout, idleTimeout: idleTimeout, requestTimeout: requestTimeout,
            bodyBytesMax: FCMSimulatorSettings.bodyBytesMax, keptBytesMax: keptBytesMax, record: record)
    }
}
