import Basis
import Encodings
import Model
import Reactor
import Signing
import Simulator
import TLS

/// A running simulator with its authority and a signing key, for one test.
struct StandIn {
    let simulator: ProviderSimulator
    let port: UInt16
    let authority: CertificateAuthority
    let key: ES256Key

    static let keyID = "ABCDE12345"
    static let teamID = "TEAMID1234"

    init(_ adjust: (inout APNsSimulatorSettings, ES256Key) throws -> Void = { _, _ in }) async throws {
        let validity = CertificateValidity.days(30, from: Clocks.wallNow())
        authority = try CertificateAuthority(name: "Stand-in authority", validity: validity)
        key = try ES256Key.generate()
        var settings = APNsSimulatorSettings(
            identity: try authority.issue(
                CertificateSubject(commonName: "api.push.apple.com"),
                names: ["api.push.apple.com", "localhost", "127.0.0.1"], validity: validity))
        try adjust(&settings, key)
        simulator = try ProviderSimulator(settings)
        port = try await simulator.start()
    }

    func connect(identity: TLSIdentity? = nil, alpn: [String] = ["h2"], limitAtStart: Int = 1) throws -> Provider {
        try Provider(
            simulator, port: port, trust: authority.pem, identity: identity, alpn: alpn, limitAtStart: limitAtStart)
    }

    /// `bearer ...`, signed as Apple asks.
    func authorization(
        key other: ES256Key? = nil, keyID: String = StandIn.keyID, teamID: String = StandIn.teamID,
        issuedAt: String? = nil, ageSeconds: Int64 = 0
    ) throws -> String {
        let issuedAt = issuedAt ?? String(Clocks.wallNow().secondsSince1970 - ageSeconds)
        return try authorization(
            header: #"{"alg":"ES256","kid":"\#(keyID)"}"#, claims: #"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#,
            key: other)
    }

    /// Signs any header and claims. The signature is right, unless it is changed afterwards.
    func authorization(
        header: String, claims: String, key other: ES256Key? = nil,
        signature change: ([UInt8]) -> [UInt8] = { $0 }
    ) throws -> String {
        let input =
            Base64.urlEncode(Array(header.utf8)) + [UInt8(ascii: ".")] + Base64.urlEncode(Array(claims.utf8))
        let signature = Base64.urlEncode(change(try (other ?? key).sign(input)))
        return "bearer " + String(decoding: input + [UInt8(ascii: ".")] + signature, as: UTF8.self)
    }

    func certificate(
        topics: [String]? = nil, userID: String? = "com.example.carillon", isProduction: Bool = true,
        isDevelopment: Bool = true, expired: Bool = false
    ) throws -> TLSIdentity {
        let now = Clocks.wallNow()
        let validity =
            expired
            ? CertificateValidity(from: now + .seconds(-7_200), until: now + .seconds(-3_600)) : .days(30, from: now)
        return try authority.issue(
            CertificateSubject(commonName: "Apple Push Services", userID: userID), validity: validity,
            apple: AppleExtensions(isDevelopment: isDevelopment, isProduction: isProduction, topics: topics))
    }

    /// Waits until this many requests have arrived.
    func waitForRequests(_ count: Int) async throws { try await wait { $0.requests >= count } }
    func waitForFaults(_ count: Int) async throws { try await wait { $0.faults >= count } }

    /// Waits until no connection is open.
    func waitForEmptiness() async throws { try await wait { $0.connectionsOpen == 0 } }

    private func wait(until isReached: (SimulatorSummary) -> Bool) async throws {
        let deadline = Clocks.monotonicNow() + Provider.timeout
        while !isReached(await simulator.summary()) {
            guard Clocks.monotonicNow() < deadline else { throw TimedOut() }
        }
    }

    static func token(_ hex: String) -> DeviceToken { DeviceToken(bytes: Hexadecimal.decode(hex) ?? []) }
}
