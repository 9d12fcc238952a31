import TLS

/// How a stand-in of FCM behaves when nobody disturbs it.
package struct FCMSimulatorSettings: Sendable {
    /// What the server shows. Make one with `CertificateAuthority.issue` for the names that clients use.
    package var identity: TLSIdentity
    /// Whom it knows, and with them their projects.
    package var accounts: [ServiceAccount]
    /// 0: a free one.
    package var port: UInt16 = 0
    package var reach = SimulatorReach.loopback
    package var mode = APNsSimulatorSettings.Mode.validating
    /// Projects that exist without an account of their own: to send to them is forbidden, not unheard of.
    package var otherProjects: [String] = []
    /// What an access token says of itself, and how long it holds. Short: to see a sender refresh.
    package var accessTokenSeconds = 3_599
    package var streamLimit: UInt32 = 100
    package var handshakeTimeout: Duration = .seconds(10)
    package var idleTimeout: Duration = .seconds(900)
    /// From the first byte of a request over HTTP/1.1 to its last. One that takes longer is cut off.
    package var requestTimeout: Duration = .seconds(30)
    /// How late the grammar's slow tokens are answered.
    package var slowAnswer: Duration = .seconds(5)
    /// Bodies and headers beyond it are forgotten, oldest first; counts stay.
    package var keptBytesMax = 256 << 20
    /// Lines of NDJSON, many at a time, each ended. Called on the simulator's thread.
    package var record: (@Sendable ([UInt8]) -> Void)?

    package init(identity: TLSIdentity, accounts: [ServiceAccount]) {
        self.identity = identity
        self.accounts = accounts
    }

    /// A thousand registration tokens of a topic call, and some room.
    static let bodyBytesMax = 1 << 20

    var listenerSettings: SimulatorListenerSettings {
        SimulatorListenerSettings(
            identity: identity, port: port, reach: reach, clientCertificates: .ignored,
            handshakeTimeout: handshakeTimeout, idleTimeout: idleTimeout, requestTimeout: requestTimeout,
            bodyBytesMax: FCMSimulatorSettings.bodyBytesMax, keptBytesMax: keptBytesMax, record: record)
    }
}
