import Basis
import TLS
import Testing

@Suite("A chain of certificates")
struct MissingIssuerTests {
    private static let day = CertificateValidity.days(2, from: WallInstant(secondsSince1970: 1_796_126_400))

    @Test("lacks its issuer unless the file or the trust has it")
    func missing() throws {
        let authority = try CertificateAuthority(name: "Garden authority", validity: Self.day)
        let other = try CertificateAuthority(name: "Forest authority", validity: Self.day)
        let leaf = try authority.issue(CertificateSubject(commonName: "localhost"), validity: Self.day).pem()
        let strangers = try TLSTrust.only(pem: other.pem)
        #expect(try strangers.missingIssuer(of: leaf) == "Garden authority")
        #expect(try strangers.missingIssuer(of: leaf + other.pem) == "Garden authority")
        #expect(try strangers.missingIssuer(of: leaf + authority.pem) == nil)
        #expect(try TLSTrust.only(pem: authority.pem).missingIssuer(of: leaf) == nil)
    }

    @Test("lacks nothing if its certificate issued itself")
    func selfSigned() throws {
        let (own, other) = (try CertificateAuthority(validity: Self.day), try CertificateAuthority(validity: Self.day))
        #expect(try TLSTrust.only(pem: other.pem).missingIssuer(of: own.pem) == nil)
    }
}
