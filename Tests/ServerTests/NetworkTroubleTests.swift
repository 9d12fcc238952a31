import Basis
import CommandLine
import NIOSSL
import Reactor
import Simulator
import TLS
import Testing

@Suite("The message about an unreachable gateway", .timeLimit(.minutes(5)))
struct NetworkTroubleTests {
    /// The number of tries: a busy machine may take longer for a handshake than the command's timeout.
    private static let triesMax = 20

    /// Returns the fault's text. Fails if there is no fault, or if it shows a library's own words.
    private func reportedOnce(_ base: String, _ authorities: [NIOSSLCertificate]) async -> String {
        do throws(CommandFault) {
            _ = try await GatewayClient(base: base, key: "none", authorities: authorities).list("/v1/apps", of: .app)
            Issue.record("\(base) was reached")
            return ""
        } catch {
            #expect(error.kind == .unreachable)
            for raw in ["Error", "NIO", ".swift", ".cc", "/Sources/", "(error -", "SSL routines"] {
                #expect(!error.description.contains(raw), "\(error.description)")
            }
            return error.description
        }
    }

    private func expect(
        _ text: [String], at base: String, _ authorities: [NIOSSLCertificate] = []
    ) async {
        var input = ""
        for _ in 0..<Self.triesMax {
            input = await reportedOnce(base, authorities)
            if text.allSatisfy({ input.contains($0) }) { return }
        }
        Issue.record("\(text) are not in: \(input)")
    }

    @Test("says that no program listens")
    func refused() async throws {
        let listener = try await Listener()
        let port = listener.port
        try await listener.close()
        await expect(["no program listens there"], at: "http://127.0.0.1:\(port)")
        await expect(["no program listens there"], at: "http://localhost:\(port)")
    }

    @Test("says that the host name is unknown")
    func unknownName() async {
        await expect(["its host name is unknown"], at: "http://gateway.invalid")
    }

    @Test("says that the gateway closed the connection")
    func hangsUp() async throws {
        let listener = try await Listener()
        await expect(["closed the connection"], at: "http://127.0.0.1:\(listener.port)")
        try await listener.close()
    }

    @Test("says that the gateway does not speak TLS")
    func plain() async throws {
        let listener = try await Listener(reporting: "HTTP/1.1 400 Bad Request\r\n\r\n")
        await expect(["does not speak TLS", "http://"], at: "https://127.0.0.1:\(listener.port)")
        try await listener.close()
    }

    /// Expects this text from a command that meets a server with such a certificate.
    private func expect(
        _ text: [String], of names: [String] = ["localhost"], from: Duration = .seconds(-60),
        until: Duration = .seconds(3_600), isTrusted: Bool = true
    ) async throws {
        let now = Clocks.wallNow()
        let authority = try CertificateAuthority(validity: .days(2, from: now))
        let identity = try authority.issue(
            CertificateSubject(commonName: "gateway"), names: names,
            validity: CertificateValidity(from: now + from, until: now + until))
        let peer = try ProviderSimulator(APNsSimulatorSettings(identity: identity))
        let port = try await peer.start()
        let authorities = isTrusted ? try NIOSSLCertificate.fromPEMBytes(authority.pem) : []
        await expect(text, at: "https://localhost:\(port)", authorities)
        await peer.stop()
    }

    @Test("says that the certificate's authority is unknown, and suggests --ca-file")
    func unknownAuthority() async throws {
        try await expect(["an authority that this machine does not trust", "--ca-file"], isTrusted: false)
    }

    @Test("says that the certificate has expired or is not yet valid")
    func times() async throws {
        try await expect(["expired on 20"], from: .seconds(-86_400), until: .seconds(-3_600))
        try await expect(["not valid before 20", "clocks"], from: .seconds(3_600), until: .seconds(86_400))
    }

    @Test("says that the certificate is for other host names")
    func otherNames() async throws {
        try await expect(["other host names"], of: ["elsewhere.example"])
    }
}
