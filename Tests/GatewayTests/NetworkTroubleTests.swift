import Commands
import NIOSSL
import PushModel
import Reactor
import Simulator
import TLS
import Testing

@Suite("Where a gateway can't be reached, a person reads why")
struct NetworkTroubleTests {
    /// The words of the fault; fails where there is none, or where it holds what libraries say of themselves.
    private func said(_ base: String, _ authorities: [NIOSSLCertificate] = []) async -> String {
        do throws(CommandFault) {
            _ = try await GatewayClient(base: base, key: "none", authorities: authorities).get("/v1/apps")
            Issue.record("\(base) can be reached")
            return ""
        } catch {
            #expect(error.kind == .unreachable)
            for raw in ["Error", "NIO", ".swift", ".cc", "/Sources/", "(error -", "SSL routines"] {
                #expect(!error.description.contains(raw), "\(error.description)")
            }
            return error.description
        }
    }

    @Test("nobody listens")
    func refused() async throws {
        let listener = try await Listener()
        let port = listener.port
        try await listener.close()
        #expect(await said("http://127.0.0.1:\(port)").contains("nobody listens there"))
        #expect(await said("http://localhost:\(port)").contains("nobody listens there"))
    }

    @Test("the name is not known")
    func unknownName() async {
        #expect(await said("http://gateway.invalid").contains("its name is not known"))
    }

    @Test("it hangs up without a word")
    func hangsUp() async throws {
        let listener = try await Listener()
        #expect(await said("http://127.0.0.1:\(listener.port)").contains("closed the connection"))
        try await listener.close()
    }

    @Test("it speaks no TLS")
    func plain() async throws {
        let listener = try await Listener(saying: "HTTP/1.1 400 Bad Request\r\n\r\n")
        let said = await said("https://127.0.0.1:\(listener.port)")
        #expect(said.contains("speaks no TLS") && said.contains("http://"))
        try await listener.close()
    }

    /// What an APNs of ours with such a certificate is taken for.
    private func said(names: [String], from: Duration, until: Duration, isTrusted: Bool) async throws -> String {
        let now = Clocks.wallNow()
        let authority = try CertificateAuthority(validity: .days(2, from: now))
        let identity = try authority.issue(
            CertificateSubject(commonName: "gateway"), names: names,
            validity: CertificateValidity(from: now + from, until: now + until))
        let peer = try APNsSimulator(APNsSimulatorSettings(identity: identity))
        let port = try await peer.start()
        let authorities = isTrusted ? try NIOSSLCertificate.fromPEMBytes(authority.pem) : []
        let said = await said("https://localhost:\(port)", authorities)
        await peer.stop()
        return said
    }

    @Test("its authority is unknown: the remedy is --ca-file")
    func unknownAuthority() async throws {
        let said = try await said(
            names: ["localhost"], from: .seconds(-60), until: .seconds(3_600), isTrusted: false)
        #expect(said.contains("nobody whom this machine trusts") && said.contains("--ca-file"), "\(said)")
    }

    @Test("its certificate has expired, or is not valid yet")
    func times() async throws {
        let expired = try await said(
            names: ["localhost"], from: .seconds(-86_400), until: .seconds(-3_600), isTrusted: true)
        #expect(expired.contains("has expired, on 20"), "\(expired)")
        let early = try await said(
            names: ["localhost"], from: .seconds(3_600), until: .seconds(86_400), isTrusted: true)
        #expect(early.contains("not valid before 20") && early.contains("clocks"), "\(early)")
    }

    @Test("its certificate is for other names")
    func otherNames() async throws {
        let said = try await said(
            names: ["elsewhere.example"], from: .seconds(-60), until: .seconds(3_600), isTrusted: true)
        #expect(said.contains("other names"), "\(said)")
    }
}
