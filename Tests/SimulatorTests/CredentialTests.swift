import Encodings
import Model
import Reactor
import Signing
import Simulator
import TLS
import Testing

@Suite("A provider token shown to the APNs simulator", .serialized)
struct ProviderTokenTests {
    private func standIn() async throws -> StandIn {
        try await StandIn { settings, key in
            settings.keys = .registered([
                RegisteredKey(keyID: StandIn.keyID, teamID: StandIn.teamID, publicKeyPEM: try key.publicPEM()),
                RegisteredKey(keyID: "OTHERTEAMK", teamID: "OTHERTEAM1", publicKeyPEM: try key.publicPEM()),
                RegisteredKey(keyID: "SECONDKEY1", teamID: StandIn.teamID, publicKeyPEM: try key.publicPEM()),
            ])
        }
    }

    private func reason(_ provider: Provider, _ authorization: String) throws -> String {
        let answer = try provider.ask(Push(authorization: authorization, [("apns-topic", "com.example.carillon")]))
        return answer.status == 200 ? "" : answer.body
    }

    @Test("passes with an issue time as integer, fraction or text", arguments: ["%", "%.25", "\"%\""])
    func issueTimes(form: String) async throws {
        let standIn = try await standIn()
        let seconds = String(Clocks.wallNow().secondsSince1970)
        let issuedAt = form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: seconds)
        #expect(try reason(standIn.connect(), standIn.authorization(issuedAt: issuedAt)) == "")
    }

    @Test("fails with another key, an unknown key or another team")
    func wrongSignature() async throws {
        let standIn = try await standIn()
        let invalid = #"{"reason":"InvalidProviderToken"}"#
        let provider = try standIn.connect()
        #expect(try reason(provider, standIn.authorization(key: ES256Key.generate())) == invalid)
        #expect(try reason(provider, standIn.authorization(keyID: "UNKNOWNKEY")) == invalid)
        #expect(try reason(provider, standIn.authorization(teamID: "OTHERTEAM1")) == invalid)
        #expect(try reason(provider, standIn.authorization()) == "")
    }

    @Test("expires after an hour, and its connection then refuses fresh tokens too")
    func expired() async throws {
        let standIn = try await standIn()
        let provider = try standIn.connect()
        let expired = #"{"reason":"ExpiredProviderToken"}"#
        #expect(try reason(provider, standIn.authorization(ageSeconds: 3_700)) == expired)
        #expect(try reason(provider, standIn.authorization()) == expired)
        #expect(try reason(standIn.connect(), standIn.authorization()) == "")
    }

    @Test("expires on an open connection")
    func growsOld() async throws {
        let standIn = try await standIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try reason(provider, authorization) == "")
        await standIn.simulator.follow(SimulatorScript(clockOffset: .seconds(3_700)))
        #expect(try reason(provider, authorization) == #"{"reason":"ExpiredProviderToken"}"#)
    }

    @Test("binds the connection to its team")
    func binding() async throws {
        let standIn = try await standIn()
        let provider = try standIn.connect()
        let first = try standIn.authorization()
        #expect(try reason(provider, first) == "")
        let other = try reason(provider, standIn.authorization(keyID: "OTHERTEAMK", teamID: "OTHERTEAM1"))
        #expect(other == #"{"reason":"UnrelatedKeyIdInToken"}"#)
        #expect(try reason(provider, standIn.authorization(keyID: "SECONDKEY1")) == "")
        #expect(try reason(provider, first) == "")
    }
}

@Suite("A certificate shown to the APNs simulator", .serialized)
struct CertificateTests {
    @Test("gets all streams and one topic by default, and is recorded with each push")
    func oneTopic() async throws {
        let standIn = try await StandIn()
        let identity = try standIn.certificate()
        let provider = try standIn.connect(identity: identity)
        #expect(provider.streamLimits == [1_000])
        var push = Push()
        push.set("apns-topic", "")
        #expect(try provider.ask(push).status == 200)
        let name = Hexadecimal.text(identity.certificate.sha256)
        let token = try #require(push.path.split(separator: "/").last)
        let device = DeviceToken(bytes: try #require(Hexadecimal.decode(token.utf8)))
        #expect(await standIn.simulator.received(device).map(\.certificate) == [name])
        push.set("apns-topic", "com.example.other")
        #expect(try provider.ask(push).body == #"{"reason":"TopicDisallowed"}"#)
    }

    @Test("serves the topics of its list only, and requires one of them in each push")
    func listedTopics() async throws {
        let standIn = try await StandIn()
        let topics = ["com.example.carillon", "com.example.carillon.voip"]
        let provider = try standIn.connect(identity: standIn.certificate(topics: topics))
        var push = Push(authorization: "bearer ignored")
        #expect(try provider.ask(push).status == 200)
        push.set("apns-topic", "com.example.carillon.complication")
        #expect(try provider.ask(push).body == #"{"reason":"TopicDisallowed"}"#)
        push.set("apns-topic", "")
        #expect(try provider.ask(push).body == #"{"reason":"MissingTopic"}"#)
    }

    @Test("cannot ask for a location, which needs a provider token")
    func location() async throws {
        let standIn = try await StandIn()
        let topic = "com.example.carillon.location-query"
        let push = Push([("apns-topic", topic), ("apns-push-type", "location")])
        let provider = try standIn.connect(identity: standIn.certificate(topics: [topic]))
        #expect(try provider.ask(push).body == #"{"reason":"TopicDisallowed"}"#)
        let authorized = Push(
            authorization: try standIn.authorization(), [("apns-topic", topic), ("apns-push-type", "location")])
        #expect(try standIn.connect().ask(authorized).status == 200)
    }

    @Test("serves no topic if its topic list can't be read")
    func unreadableTopics() async throws {
        let standIn = try await StandIn()
        let readable = try standIn.certificate(topics: ["com.example.carillon"]).certificate
        #expect(readable.usableTopics == ["com.example.carillon"])
        // The list's first topic claims to be longer than the list.
        let place = try #require(readable.der.ranges(of: [0x0c, 20] + Array("com.example.carillon".utf8)).last)
        var bytes = readable.der
        bytes[place.lowerBound + 1] = 120
        #expect(try TLSCertificate(der: bytes).usableTopics == [])
        #expect(try standIn.certificate().certificate.usableTopics == ["com.example.carillon"])
        #expect(try standIn.certificate(userID: nil).certificate.usableTopics == [])
    }

    @Test("gets a GOAWAY if it is expired, revoked or of the other environment")
    func refused() async throws {
        let standIn = try await StandIn { settings, _ in settings.environment = .production }
        let wrong = try standIn.connect(identity: standIn.certificate(isProduction: false))
        try wrong.waitForGoAway()
        #expect(wrong.goAways.map(\.last) == [0])
        #expect(wrong.goAways.map(\.reason) == [#"{"reason":"BadCertificateEnvironment"}"#])
        let expired = try standIn.connect(identity: standIn.certificate(expired: true))
        try expired.waitForGoAway()
        #expect(expired.goAways.map(\.reason) == [#"{"reason":"BadCertificate"}"#])
        let revoked = try standIn.certificate()
        let other = try await StandIn { settings, _ in settings.revokedCertificates = [revoked.certificate.sha256] }
        let provider = try other.connect(identity: revoked)
        try provider.waitForGoAway()
        #expect(provider.goAways.map(\.reason) == [#"{"reason":"BadCertificate"}"#])
    }
}
