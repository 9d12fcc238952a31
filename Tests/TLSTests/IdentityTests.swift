import TLS
import Testing

@Suite("An uploaded certificate and key")
struct IdentityTests {
    @Test("load from PEM in any order")
    func pem() throws {
        let identity = try TLSIdentity(pem: Fixtures.selfSigned)
        #expect(identity.certificate.userID == "com.example.app")
        let text = String(decoding: Fixtures.selfSigned, as: UTF8.self)
        let cut = try #require(text.firstRange(of: "-----BEGIN EC PRIVATE KEY-----"))
        let swapped = text[cut.lowerBound...] + "\n" + text[..<cut.lowerBound]
        #expect(try TLSIdentity(pem: Array(swapped.utf8)).certificate == identity.certificate)
    }

    @Test("load again from their own PEM")
    func roundTrip() throws {
        let identity = try TLSIdentity(pem: Fixtures.selfSigned)
        #expect(try TLSIdentity(pem: identity.pem()).certificate == identity.certificate)
    }

    @Test("load from PKCS#12 in Keychain's old and new encryption")
    func pkcs12() throws {
        for file in [Fixtures.legacyPKCS12, Fixtures.modernPKCS12] {
            let identity = try TLSIdentity(pkcs12: file, password: "carillon")
            #expect(identity.certificate.commonName == "Apple Push Services: com.example.app")
        }
    }

    @Test("load from PKCS#12 without a MAC, and fail with a wrong password as such")
    func withoutMAC() throws {
        for file in [Fixtures.legacyPKCS12, Fixtures.modernPKCS12].map(DERTree.withoutMAC) {
            #expect(try TLSIdentity(pkcs12: file, password: "carillon").certificate.userID == "com.example.app")
            #expect(throws: TLSError.identity(.wrongPassword)) { try TLSIdentity(pkcs12: file, password: "other") }
        }
    }

    @Test("fail to load with an error that names the missing or wrong part")
    func faults() throws {
        let text = String(decoding: Fixtures.selfSigned, as: UTF8.self)
        let cut = try #require(text.firstRange(of: "-----BEGIN EC PRIVATE KEY-----"))
        let certificate = Array(text[..<cut.lowerBound].utf8)
        let key = Array(text[cut.lowerBound...].utf8)
        let other = try TLSFixture().server.pem()
        let otherText = String(decoding: other, as: UTF8.self)
        let otherCut = try #require(otherText.firstRange(of: "-----BEGIN PRIVATE KEY-----"))
        let otherKey = Array(otherText[otherCut.lowerBound...].utf8)
        #expect(throws: TLSError.identity(.keyMissing)) { try TLSIdentity(pem: certificate) }
        #expect(throws: TLSError.identity(.certificateMissing)) { try TLSIdentity(pem: key) }
        #expect(throws: TLSError.identity(.keyMismatch)) { try TLSIdentity(pem: certificate + otherKey) }
        #expect(throws: TLSError.identity(.unreadable)) { try TLSIdentity(pem: Array("hello".utf8)) }
        #expect(throws: TLSError.identity(.unreadable)) { try TLSIdentity(pem: []) }
        #expect(throws: TLSError.identity(.tooLarge)) { try TLSIdentity(pem: [UInt8](repeating: 10, count: 300_000)) }
        #expect(throws: TLSError.identity(.unreadable)) { try TLSIdentity(pkcs12: [1, 2, 3], password: "") }
        for file in [Fixtures.legacyPKCS12, Fixtures.modernPKCS12] {
            #expect(throws: TLSError.identity(.wrongPassword)) { try TLSIdentity(pkcs12: file, password: "other") }
        }
    }

    /// Another curve in this form costs OpenSSL a tenth of a second for each certificate.
    @Test("fail to load if the certificate spells out its curve's parameters")
    func spelledOutCurve() {
        #expect(throws: TLSError.identity(.keyUnsupported)) { try TLSIdentity(pem: SpelledOutCurve.pem) }
        #expect(throws: TLSError.identity(.keyUnsupported)) {
            try TLSIdentity(pkcs12: SpelledOutCurve.pkcs12, password: "carillon")
        }
    }

    @Test("fail to load before decoding if there are too many certificates")
    func tooMany() {
        let unreadable = Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
        let many = (0..<17).flatMap { _ in unreadable }
        #expect(throws: TLSError.identity(.tooLarge)) { try TLSIdentity(pem: Fixtures.selfSigned + [10] + many) }
    }

    @Test("load with an encrypted key if its password is given")
    func encrypted() throws {
        let pem = Fixtures.pem(encryptedKey: Fixtures.encryptedKey)
        #expect(try TLSIdentity(pem: pem, password: Array("carillon".utf8)).certificate.userID == "com.example.app")
        #expect(throws: TLSError.identity(.keyEncrypted)) { try TLSIdentity(pem: pem) }
        for wrong in [[], [1]] as [[UInt8]] {
            #expect(throws: TLSError.identity(.wrongPassword)) { try TLSIdentity(pem: pem, password: wrong) }
        }
    }

    @Test("hide the key in their description")
    func description() throws {
        let identity = try TLSIdentity(pem: Fixtures.selfSigned)
        #expect(identity.description.utf8.count < 24)
    }

    @Test("never trap, however they are damaged", arguments: [0, 1, 2])
    func fuzz(which: Int) {
        let original = [Fixtures.selfSigned, Fixtures.legacyPKCS12, Fixtures.modernPKCS12][which]
        var chance = UInt64(which) &+ 88_172_645_463_325_252
        for _ in 0..<400 {
            var bytes = original
            for _ in 0..<3 {
                chance ^= chance << 13
                chance ^= chance >> 7
                chance ^= chance << 17
                bytes[Int(chance % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: chance >> 40)
            }
            if chance % 5 == 0 { bytes.removeLast(Int(chance % UInt64(bytes.count))) }
            if which == 0 {
                _ = try? TLSIdentity(pem: bytes)
            } else {
                _ = try? TLSIdentity(pkcs12: bytes, password: "")
            }
        }
    }
}

@Suite("A certificate that Apple issued")
struct AppleCertificateTests {
    @Test("gives its environments, dates and topic list")
    func facts() throws {
        let authority = try CertificateAuthority(validity: century)
        let identity = try authority.issue(
            CertificateSubject(commonName: "VoIP Services: com.example.app", userID: "com.example.app"),
            validity: century, apple: AppleExtensions(isDevelopment: false, topics: ["com.example.app.voip"]))
        let certificate = try TLSCertificate(der: identity.certificate.der)
        #expect(certificate.isForProduction && !certificate.isForSandbox)
        #expect(certificate.appleTopicList?.contains(Array("com.example.app.voip".utf8)) == true)
        #expect(certificate.notBefore == century.from)
        #expect(certificate.notAfter == century.until)
        #expect(certificate.sha256.count == 32)
        #expect(certificate.extensionValue(oid: "1.2.840.113635.100.6.3.2") == [5, 0])
        #expect(certificate.extensionValue(oid: "1.2.3.4") == nil)
    }

    /// The example of docs/promises.md, "The topic list".
    @Test("encodes the topic list as Apple does")
    func vector() throws {
        let hex =
            "30640c0f636f6d2e6578616d706c652e61707030050c036170700c14636f6d2e6578616d706c652e6170702e766f697030060c04"
            + "766f69700c1c636f6d2e6578616d706c652e6170702e636f6d706c69636174696f6e300e0c0c636f6d706c69636174696f6e"
        let topics = ["com.example.app", "com.example.app.voip", "com.example.app.complication"]
        let authority = try CertificateAuthority(validity: century)
        let identity = try authority.issue(
            CertificateSubject(commonName: "a"), validity: century, apple: AppleExtensions(topics: topics))
        let value = try #require(identity.certificate.extensionValue(oid: AppleExtensions.OID.topics))
        #expect(value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
    }

    @Test("fails to load from bytes that are no certificate")
    func garbage() {
        #expect(throws: TLSError.identity(.unreadable)) { try TLSCertificate(der: [0x30, 0x80, 1, 2]) }
        #expect(throws: TLSError.identity(.unreadable)) { try TLSCertificate(der: []) }
    }
}
