import Encodings
import HTTP2
import Reactor
import Simulator
import TLS
import TestSupport
import Testing

@Suite("Seeded garbage sent to the simulator", .serialized)
struct FuzzTests {
    private static let rounds = 1_000
    private static let seeds: ClosedRange<UInt64> = 1...3

    /// Expects one of the allowed answers. A stream that violates HTTP's own rules is reset.
    private func expectAnswer(_ answer: Provider.Answer, _ statuses: Set<Int>, seed: UInt64, round: Int) {
        switch answer.conclusion {
        case .complete where statuses.contains(answer.status): break
        case .reset: break
        default: Issue.record("\(answer) at seed \(seed), round \(round)")
        }
    }

    @Test("gets an allowed status or a reset stream in a push's headers, path or payload", arguments: seeds)
    func pushes(seed: UInt64) async throws {
        var garbage = Garbage(seed: seed)
        let standIn = try await StandIn { settings, _ in settings.topics = ["com.example.carillon"] }
        // A connection with a certificate needs no provider token, so that no push fails for one.
        let provider = try standIn.connect(identity: standIn.certificate())
        var accepted = 0
        for round in 0..<Self.rounds {
            let (headers, body) = garbage.push()
            let answer = try provider.answer(to: provider.send(headers, body: body))
            expectAnswer(answer, [200, 400, 404, 405, 410, 413], seed: seed, round: round)
            if answer.status == 200 { accepted += 1 }
        }
        #expect((1..<Self.rounds).contains(accepted), "some of the random pushes are valid and reach the last checks")
        #expect(await standIn.simulator.summary().accepted == accepted)
    }

    @Test("gets an allowed status or a reset stream in a provider token", arguments: seeds)
    func providerTokens(seed: UInt64) async throws {
        var garbage = Garbage(seed: seed)
        let standIn = try await StandIn { settings, key in
            guard seed % 2 == 1 else { return }
            settings.keys = .registered([
                RegisteredKey(keyID: StandIn.keyID, teamID: StandIn.teamID, publicKeyPEM: try key.publicPEM())
            ])
        }
        var provider = try standIn.connect()
        for round in 0..<Self.rounds {
            let answer = try provider.ask(Push(authorization: garbage.authorization(standIn)))
            expectAnswer(answer, [200, 403, 429], seed: seed, round: round)
            // The connection can no longer be used.
            if answer.body.contains("ExpiredProviderToken") { provider = try standIn.connect() }
        }
    }

    @Test(
        "gets an allowed status or a reset stream in a query to the simulator's own endpoints",
        arguments: [false, true])
    func inspection(isSink: Bool) async throws {
        var garbage = Garbage(seed: isSink ? 11 : 12)
        let standIn = try await StandIn { settings, _ in settings.common.isSink = isSink }
        let provider = try standIn.connect(identity: standIn.certificate())
        for round in 0..<Self.rounds {
            let (headers, body) = garbage.question()
            let answer = try provider.answer(to: provider.send(headers, body: body))
            expectAnswer(answer, [200, 400, 404, 405, 413], seed: isSink ? 11 : 12, round: round)
        }
        #expect(try provider.get("/simulator/summary").status == 200)
    }

    @Test("gets 200, 404 or a reset stream from a simulator that is a sink", arguments: seeds)
    func sink(seed: UInt64) async throws {
        var garbage = Garbage(seed: seed)
        let standIn = try await StandIn { settings, _ in settings.common.isSink = true }
        let provider = try standIn.connect()
        for round in 0..<Self.rounds {
            let (headers, body) = garbage.push()
            let answer = try provider.answer(to: provider.send(headers, body: body))
            expectAnswer(answer, [200, 404], seed: seed, round: round)
        }
    }

    @Test("never traps the certificate parser, nor the reader of its topics", arguments: seeds)
    func certificates(seed: UInt64) async throws {
        var garbage = Garbage(seed: seed)
        let standIn = try await StandIn()
        let topics = ["com.example.carillon", "com.example.carillon.voip"]
        let der = try standIn.certificate(topics: topics).certificate.der
        let list = try #require(der.ranges(of: Array("com.example.carillon".utf8)).last).lowerBound
        var read = 0
        for _ in 0..<Self.rounds {
            // Either anywhere, or around the list of topics.
            let place = garbage.next(2) == 0 ? 0..<der.count : (list - 20)..<(list + 70)
            guard let certificate = try? TLSCertificate(der: garbage.mangled(der, in: place)) else { continue }
            if certificate.usableTopics == topics { read += 1 }
        }
        #expect(read < Self.rounds)
    }

    @Test("ends its own connection in time, and other clients are still served", arguments: seeds)
    func frames(seed: UInt64) async throws {
        var garbage = Garbage(seed: seed)
        let standIn = try await StandIn { settings, _ in
            settings.common.handshakeTimeout = .milliseconds(500)
            settings.common.idleTimeout = .milliseconds(500)
        }
        let sound = try Garbage.clientBytes(authorization: standIn.authorization())
        let strangers = try (0..<50).map { _ in try Stranger(standIn, inside: garbage.mangled(sound)) }
        for stranger in strangers { try stranger.waitForClose() }
        try await standIn.waitForEmptiness()
        #expect(try Stranger.isServed(by: standIn))
    }
}

/// Generates pushes, provider tokens and queries with a few wrong bytes.
private struct Garbage {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func next(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private static let marks = Array(#"{}[]",:\0\u00 -+.eE1/%?&=AzF"#.utf8) + [0, 9, 10, 0x7f, 0x80, 0xc3, 0xed, 0xff]

    /// Changes, removes, repeats, inserts or cuts off bytes, a few times.
    mutating func mangled(_ sound: [UInt8], in range: Range<Int>? = nil) -> [UInt8] {
        var bytes = sound
        for _ in 0...next(3) where !bytes.isEmpty {
            let bounds = (range ?? 0..<bytes.count).clamped(to: 0..<bytes.count)
            guard !bounds.isEmpty else { return bytes }
            let place = bounds.lowerBound + next(bounds.count)
            switch next(6) {
            case 0: bytes[place] = UInt8(next(256))
            case 1: bytes[place] = Self.marks[next(Self.marks.count)]
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(Self.marks[next(Self.marks.count)], at: place)
            case 4: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 1 + next(40))], at: place)
            default: if next(3) == 0 { bytes.removeSubrange(place...) }
            }
        }
        return bytes
    }

    private mutating func mangled(_ text: String) -> [UInt8] { mangled(Array(text.utf8)) }

    private static let fields = [
        ("apns-topic", "com.example.carillon"), ("apns-push-type", "alert"), ("apns-priority", "10"),
        ("apns-expiration", "1735689600"), ("apns-id", "123e4567-e89b-12d3-a456-4266554400a0"),
        ("apns-collapse-id", "room-42"), ("authorization", "bearer abc"), ("host", "localhost"),
    ]
    private static let payload =
        #"{"aps":{"alert":{"title":"Noon","loc-args":["a","\u00e9"]},"badge":3},"x":[1.5e3,null]}"#

    /// Generates a push that is mostly correct.
    mutating func push() -> (HeaderList, [UInt8]) {
        let token = ["00fc13adff785122", "dead0100aa", "dead2001bb", "dead0400cc", ""][next(5)]
        let isTokenSound = next(3) > 0
        var list = opening(method: "POST", path: "/3/device/" + (isTokenSound ? "00fc13adff785122" : token))
        for (name, value) in Self.fields where next(4) > 0 {
            let isNameSound = next(40) > 0
            list.append(
                name: isNameSound ? Array(name.utf8) : mangled(name),
                value: next(6) > 0 ? Array(value.utf8) : mangled(value))
        }
        return (list, next(3) > 0 ? Array(Self.payload.utf8) : mangled(Self.payload))
    }

    mutating func question() -> (HeaderList, [UInt8]) {
        let paths = ["/simulator/summary", "/simulator/reset", "/simulator/received/0a0b", "/simulator/received/"]
        let methods = ["GET", "POST", "PUT", "DELETE"]
        return (opening(method: methods[next(4)], path: paths[next(4)]), next(4) == 0 ? mangled(Self.payload) : [])
    }

    private mutating func opening(method: String, path: String) -> HeaderList {
        var list = HeaderList()
        list.append(":method", next(30) > 0 ? Array(method.utf8) : mangled(method))
        list.append(":scheme", "https")
        list.append(":authority", "api.push.apple.com")
        list.append(":path", next(3) > 0 ? Array(path.utf8) : mangled(path), isIndexed: false)
        return list
    }

    /// Signs a wrong header or wrong claims correctly, or changes the whole token.
    mutating func authorization(_ standIn: StandIn) throws -> String {
        let now = Clocks.wallNow().secondsSince1970
        let header = #"{"alg":"ES256","kid":"\#(StandIn.keyID)"}"#
        let claims = #"{"iss":"\#(StandIn.teamID)","iat":\#(now)}"#
        switch next(4) {
        case 0:
            let wrong = String(decoding: mangled(header), as: UTF8.self)
            return try standIn.authorization(header: wrong, claims: claims)
        case 1:
            let wrong = String(decoding: mangled(claims), as: UTF8.self)
            return try standIn.authorization(header: header, claims: wrong)
        case 2:
            let noise = (0..<next(80)).map { _ in UInt8(next(256)) }
            return try standIn.authorization(header: header, claims: claims) { $0.prefix(2) + noise }
        default:
            return String(decoding: mangled(try standIn.authorization()), as: UTF8.self)
        }
    }

    /// The bytes of a client that sends a few pushes.
    static func clientBytes(authorization: String) throws -> [UInt8] {
        var settings = HTTP2ClientSettings()
        settings.streamLimitAtStart = 10
        let client = try HTTP2ClientSession(settings)
        for tag in UInt64(1)...5 {
            let push = Push(authorization: authorization)
            try client.submitRequest(push.headers, body: push.body.span, tag: tag)
        }
        try client.submitPing(1)
        var bytes: [UInt8] = []
        try client.takeOutput(into: &bytes, atMost: 65_536)
        return bytes
    }
}
