import Basis
import Encodings
import HTTP2
import JSON
import Reactor
import Signing
import Simulator
import TLS

/// A running simulator of FCM with its authority and one service account, for one test.
struct GoogleStandIn {
    let simulator: ProviderSimulator
    let port: UInt16
    let authority: CertificateAuthority
    let account: ServiceAccount
    let key: RS256Key

    static let project = "carillon-demo"
    static let sendPath = "/v1/projects/carillon-demo/messages:send"
    static let messagingScope = "https://www.googleapis.com/auth/firebase.messaging"

    init(_ adjust: (inout FCMSimulatorSettings) throws -> Void = { _ in }) async throws {
        let validity = CertificateValidity.days(30, from: Clocks.wallNow())
        authority = try CertificateAuthority(name: "Stand-in authority", validity: validity)
        account = try ServiceAccount(projectID: GoogleStandIn.project)
        let file = try JSONReader.read(account.file(tokenURI: "")).object
        key = try RS256Key(pem: Array((file?["private_key"]?.string ?? "").utf8))
        let identity = try authority.issue(
            CertificateSubject(commonName: "localhost"), names: ["localhost", "fcm.googleapis.com"], validity: validity)
        var settings = FCMSimulatorSettings(identity: identity, accounts: [account])
        try adjust(&settings)
        simulator = try ProviderSimulator(settings)
        port = try await simulator.start()
    }

    var host: String { "localhost:\(port)" }
    var tokenURL: String { "https://\(host)/token" }

    /// Over HTTP/2.
    func connect() throws -> Provider {
        try Provider(simulator, port: port, trust: authority.pem, limitAtStart: 100, serverName: "localhost")
    }

    /// Over HTTP/1.1.
    func connectByHTTP1(alpn: [String] = ["http/1.1"]) throws -> HTTP1Client {
        try HTTP1Client(simulator, port: port, trust: authority.pem, alpn: alpn, serverName: "localhost")
    }

    /// The claims that a sender signs. They are right unless a parameter changes them.
    func claims(
        audience: String? = nil, scope: String = messagingScope, issuedAgo: Int64 = 0, seconds: Int64 = 3_600,
        issuer: String? = nil
    ) -> String {
        let issuedAt = Clocks.wallNow().secondsSince1970 - issuedAgo
        return """
            {"iss":"\(issuer ?? account.clientEmail)","scope":"\(scope)","aud":"\(audience ?? tokenURL)",\
            "iat":\(issuedAt),"exp":\(issuedAt + seconds)}
            """
    }

    func assertion(header: String? = nil, claims: String? = nil, key other: RS256Key? = nil) throws -> String {
        let header = header ?? #"{"alg":"RS256","typ":"JWT","kid":"\#(account.privateKeyID)"}"#
        let input =
            Base64.urlEncode(Array(header.utf8)) + [UInt8(ascii: ".")]
            + Base64.urlEncode(Array((claims ?? self.claims()).utf8))
        let signature = Base64.urlEncode(try (other ?? key).sign(input))
        return String(decoding: input + [UInt8(ascii: ".")] + signature, as: UTF8.self)
    }

    static func form(_ assertion: String) -> [UInt8] {
        Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)".utf8)
    }

    /// `Bearer ...`
    func authorization(_ client: Provider, scope: String = messagingScope) throws -> String {
        let form = GoogleStandIn.form(try assertion(claims: claims(scope: scope)))
        let answer = try client.post("/token", host: host, body: form)
        let token = try JSONReader.read(Array(answer.body.utf8)).object?["access_token"]?.string
        return "Bearer " + (token ?? "none")
    }
}

extension Provider {
    /// Sends the request to a simulator of Google's services.
    func post(
        _ path: String, host: String = "localhost", method: String = "POST", _ fields: [(String, String)] = [],
        body: [UInt8]
    ) throws -> Answer {
        var list = HeaderList()
        list.append(":method", method)
        list.append(":scheme", "https")
        list.append(":authority", host)
        list.append(":path", Array(path.utf8), isIndexed: false)
        for (name, value) in fields { list.append(name, Array(value.utf8)) }
        return try answer(to: send(list, body: body))
    }

    func send(_ message: String, authorization: String, path: String = GoogleStandIn.sendPath) throws -> Answer {
        try post(path, [("authorization", authorization)], body: Array(message.utf8))
    }
}
