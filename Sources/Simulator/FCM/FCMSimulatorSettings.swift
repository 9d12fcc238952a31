import TLS

/// The behaviour of an FCM stand-in without a script.
package struct FCMSimulatorSettings: Sendable {
    package var common: SimulatorSettings
    package let accounts: [ServiceAccount]
    /// Projects that exist without an account here: sending to them is forbidden, not "not found".
    package var otherProjects: [String] = []
    /// The lifetime of an access token, also as stated in the answer. A short one makes a sender refresh.
    package var accessTokenSeconds = 3_599
    package var streamLimit: UInt32 = 100

    package init(identity: TLSIdentity, accounts: [ServiceAccount]) {
        common = SimulatorSettings(identity, .ignored, bodyBytesMax: Self.bodyBytesMax)
        self.accounts = accounts
    }

    /// Room for the thousand registration tokens of a topic call.
    static let bodyBytesMax = 1 << 20
}
