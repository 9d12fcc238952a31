import Basis
import TLS
import Testing

@Suite("A TLS session")
struct TLSSessionTests {
    @Test("agrees on TLS 1.3 and h2, and carries bytes both ways")
    func plain() throws {
        let fixture = try TLSFixture()
        let conversation = try Conversation(fixture.clientContext(), .server(identity: fixture.server))
        try conversation.settle()
        #expect(conversation.client.state == .open)
        #expect(conversation.server.state == .open)
        #expect(conversation.client.alpn == "h2")
        #expect(conversation.server.alpn == "h2")
        try conversation.client.write(Array("POST".utf8).span)
        try conversation.server.write(Array("200".utf8).span)
        try conversation.settle()
        #expect(try readAll(conversation.server) == Array("POST".utf8))
        #expect(try readAll(conversation.client) == Array("200".utf8))
    }

    @Test("takes megabytes in one write and keeps their order", arguments: [1_000_003, 16_384, 1])
    func large(count: Int) throws {
        let fixture = try TLSFixture()
        let conversation = try Conversation(fixture.clientContext(), .server(identity: fixture.server))
        try conversation.settle()
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try conversation.client.write(bytes.span)
        try conversation.settle()
        #expect(try readAll(conversation.server) == bytes)
    }

    @Test("works over a wire that delivers one byte at a time")
    func dripping() throws {
        let fixture = try TLSFixture()
        var conversation = try Conversation(fixture.clientContext(), .server(identity: fixture.server))
        conversation.chunk = 1
        try conversation.settle()
        try conversation.client.write([1, 2, 3].span)
        try conversation.settle()
        #expect(try readAll(conversation.server) == [1, 2, 3])
    }

    @Test("delivers the earlier bytes before its clean end")
    func ends() throws {
        let fixture = try TLSFixture()
        let conversation = try Conversation(fixture.clientContext(), .server(identity: fixture.server))
        try conversation.settle()
        try conversation.server.write([9].span)
        conversation.server.close()
        try conversation.carry(from: conversation.server, to: conversation.client)
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(try conversation.client.read(into: &buffer) == .bytes(1))
        #expect(try conversation.client.read(into: &buffer) == .ended)
        #expect(conversation.client.state == .ended)
    }

    @Test("accepts a client without ALPN, and refuses one that offers only other protocols")
    func protocols() throws {
        let fixture = try TLSFixture()
        let silent = try Conversation(fixture.clientContext(alpn: []), .server(identity: fixture.server))
        try silent.settle()
        #expect(silent.client.state == .open)
        #expect(silent.server.alpn == nil)
        let other = try Conversation(fixture.clientContext(alpn: ["http/1.1"]), .server(identity: fixture.server))
        #expect(other.clientFailure() == .noSharedProtocol)
    }
}

@Suite("A client that verifies the server's certificate")
struct VerificationTests {
    private func failure(_ server: TLSIdentity, trusting authority: [UInt8], as name: String) throws -> TLSError? {
        let client = try TLSContext.client(trust: .only(pem: authority))
        return try Conversation(client, .server(identity: server), serverName: name).clientFailure()
    }

    @Test(
        "accepts names and addresses that the certificate contains",
        arguments: ["api.push.apple.com", "127.0.0.1", "[::1]"])
    func good(name: String) throws {
        let fixture = try TLSFixture()
        #expect(try failure(fixture.server, trusting: fixture.authority.pem, as: name) == nil)
    }

    @Test(
        "reports a name that the certificate does not contain",
        arguments: ["api.sandbox.push.apple.com", "127.0.0.2", "push.apple.com"])
    func name(name: String) throws {
        let fixture = try TLSFixture()
        #expect(try failure(fixture.server, trusting: fixture.authority.pem, as: name) == .verification(.nameMismatch))
    }

    @Test(
        "accepts a wildcard for a whole first label with two labels behind it, and no other",
        arguments: [
            ("*.push.apple.com", true), ("*.com", false), ("*", false), ("api*.push.apple.com", false),
            ("api.*.apple.com", false), ("*.apple.com", false),
        ])
    func wildcard(name: String, isAccepted: Bool) throws {
        let fixture = try TLSFixture()
        let named = try fixture.authority.issue(
            CertificateSubject(commonName: "wildcard"), names: [name], validity: century)
        for host in ["api.push.apple.com", "apple.com", "apple"] {
            let isAccepted = isAccepted && host == "api.push.apple.com"
            #expect(
                try failure(named, trusting: fixture.authority.pem, as: host)
                    == (isAccepted ? nil : .verification(.nameMismatch)), "\(host)")
            #expect(named.certificate.isFor(host) == isAccepted, "\(host)")
        }
    }

    @Test("takes no common name for a host name, even if the certificate has no other name")
    func commonName() throws {
        let fixture = try TLSFixture()
        let named = try fixture.authority.issue(
            CertificateSubject(commonName: "api.push.apple.com"), validity: century)
        #expect(
            try failure(named, trusting: fixture.authority.pem, as: "api.push.apple.com")
                == .verification(.nameMismatch))
    }

    @Test("reports an unknown issuer")
    func stranger() throws {
        let fixture = try TLSFixture()
        let other = try CertificateAuthority(validity: century)
        #expect(
            try failure(fixture.server, trusting: other.pem, as: "api.push.apple.com") == .verification(.unknownIssuer))
    }

    @Test("reports a self-signed certificate")
    func selfSigned() throws {
        let identity = try TLSIdentity(pem: Fixtures.selfSigned)
        let fixture = try TLSFixture()
        #expect(
            try failure(identity, trusting: fixture.authority.pem, as: "com.example") == .verification(.selfSigned))
    }

    @Test("reports a certificate that has expired or is not yet valid")
    func dates() throws {
        let fixture = try TLSFixture()
        let subject = CertificateSubject(commonName: "api.push.apple.com")
        let past = CertificateValidity(from: longAgo, until: longAgo + .seconds(86_400))
        let future = CertificateValidity(from: century.until + .seconds(-86_400), until: century.until)
        let expired = try fixture.authority.issue(subject, names: ["api.push.apple.com"], validity: past)
        let early = try fixture.authority.issue(subject, names: ["api.push.apple.com"], validity: future)
        let trust = fixture.authority.pem
        #expect(try failure(expired, trusting: trust, as: "api.push.apple.com") == .verification(.expired))
        #expect(try failure(early, trusting: trust, as: "api.push.apple.com") == .verification(.notYetValid))
    }

    @Test("trusts the test authority only if it is added to the system's roots")
    func systemRoots() throws {
        let fixture = try TLSFixture()
        let conversation = try Conversation(.client(trust: .system()), .server(identity: fixture.server))
        #expect(conversation.clientFailure() != nil)
        let taught = try Conversation(
            .client(trust: .system(and: fixture.authority.pem)), .server(identity: fixture.server))
        #expect(taught.clientFailure() == nil)
    }

    @Test("refuses a trust file that contains no certificate")
    func trust() {
        #expect(throws: TLSError.trustUnreadable) { try TLSTrust.only(pem: Array("hello".utf8)) }
    }
}

@Suite("A server that asks for client certificates")
struct ClientCertificateTests {
    private func apple(_ fixture: TLSFixture) throws -> TLSIdentity {
        try fixture.authority.issue(
            CertificateSubject(
                commonName: "Apple Push Services: com.example.app", userID: "com.example.app",
                organizationalUnit: "TEAMID1234"),
            validity: century, apple: AppleExtensions(topics: ["com.example.app", "com.example.app.voip"]))
    }

    @Test("reads the topics of the certificate that it gets")
    func shown() throws {
        let fixture = try TLSFixture()
        let identity = try apple(fixture)
        let conversation = try Conversation(
            fixture.clientContext(identity: identity),
            .server(identity: fixture.server, clientCertificates: .requested))
        try conversation.settle()
        let certificate = try #require(conversation.server.peerCertificate)
        #expect(certificate.userID == "com.example.app")
        #expect(certificate.organizationalUnit == "TEAMID1234")
        #expect(certificate.appleTopicList != nil)
        #expect(certificate.appleTopicList == identity.certificate.appleTopicList)
    }

    @Test("accepts clients without certificate, or with an unknown one, if it only asks for one")
    func requested() throws {
        let fixture = try TLSFixture()
        let stranger = try TLSFixture()
        let none = try Conversation(
            fixture.clientContext(), .server(identity: fixture.server, clientCertificates: .requested))
        try none.settle()
        #expect(none.server.peerCertificate == nil)
        let strange = try Conversation(
            fixture.clientContext(identity: apple(stranger)),
            .server(identity: fixture.server, clientCertificates: .requested))
        try strange.settle()
        #expect(strange.server.peerCertificate?.userID == "com.example.app")
    }

    @Test("refuses clients without certificate, or with an unknown one, if it requires one")
    func required() throws {
        let fixture = try TLSFixture()
        let stranger = try TLSFixture()
        let server = try TLSContext.server(
            identity: fixture.server, clientCertificates: .required(.only(pem: fixture.authority.pem)))
        #expect(try Conversation(fixture.clientContext(), server).clientFailure() == .alert(.certificateRequired))
        let strange = try Conversation(fixture.clientContext(identity: apple(stranger)), server).clientFailure()
        guard case .alert = strange else {
            Issue.record("expected an alert, got \(String(describing: strange))")
            return
        }
        #expect(try Conversation(fixture.clientContext(identity: apple(fixture)), server).clientFailure() == nil)
    }
}

@Suite("A TLS session that gets other bytes than TLS")
struct TLSGarbageTests {
    @Test("fails with an error and ends")
    func http() throws {
        let fixture = try TLSFixture()
        let client = try TLSSession(fixture.clientContext(), serverName: "api.push.apple.com")
        try client.advance()
        #expect(throws: TLSError.self) { try client.feed(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).span) }
        let server = try TLSSession(.server(identity: fixture.server))
        #expect(throws: TLSError.self) { try server.feed(Array("GET / HTTP/1.1\r\n\r\n".utf8).span) }
        #expect(server.state == .ended)
    }

    @Test("never traps on a session with one changed byte", arguments: 0..<300)
    func mutated(seed: Int) throws {
        let fixture = try Self.fixture.get()
        let conversation = try Conversation(fixture.clientContext(), .server(identity: fixture.server))
        var chance = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1
        func next(_ bound: Int) -> Int {
            chance ^= chance << 13
            chance ^= chance >> 7
            chance ^= chance << 17
            return Int(chance % UInt64(bound))
        }
        try conversation.client.advance()
        var victim = next(6)
        do throws(TLSError) {
            for _ in 0..<6 {
                for (from, to) in [
                    (conversation.client, conversation.server), (conversation.server, conversation.client),
                ] {
                    var wire: [UInt8] = []
                    from.takeCiphertext(into: &wire)
                    if wire.isEmpty { continue }
                    if victim == 0 { wire[next(wire.count)] ^= UInt8(1 + next(255)) }
                    victim -= 1
                    try to.feed(wire.span)
                    var buffer = [UInt8](repeating: 0, count: 1_024)
                    _ = try to.read(into: &buffer)
                    if to.state == .open { try to.write([1, 2, 3].span) }
                }
            }
        } catch {
            #expect(!error.description.isEmpty)
        }
    }

    private static let fixture = Result { try TLSFixture() }
}
