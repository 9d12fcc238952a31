import HTTP2
import Simulator
import Testing

@Suite("An APNs simulator that is as lenient as APNs", .serialized)
struct LeniencyTests {
    @Test(
        "accepts host instead of :authority, and both names of the sandbox",
        arguments: [
            "api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com:443",
        ])
    func host(name: String) async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        for field in ["host", ":authority"] {
            var list = HeaderList()
            list.append(":method", "POST")
            list.append(":scheme", "https")
            list.append(":path", "/3/device/0a0b")
            if field == ":authority" { list.append(":authority", name) }
            list.append("authorization", authorization)
            list.append("apns-topic", "com.example.carillon")
            if field == "host" { list.append("host", name) }
            let tag = try provider.send(list, body: Array("{}".utf8))
            #expect(try provider.answer(to: tag).status == 200, "\(field)")
        }
    }

    @Test("sends the body of a refusal in one DATA frame")
    func oneFrame() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let answer = try provider.ask(Push(token: "dead0100aa", authorization: standIn.authorization()))
        #expect(answer.status == 410)
        let bodies = Self.frames(provider.received).filter { $0.kind == 0 }.map {
            String(decoding: $0.payload, as: UTF8.self)
        }
        #expect(bodies == [answer.body])
    }

    /// Source: RFC 9113, section 4.1.
    private static func frames(_ bytes: [UInt8]) -> [(kind: UInt8, payload: [UInt8])] {
        var frames: [(kind: UInt8, payload: [UInt8])] = []
        var start = 0
        while start + 9 <= bytes.count {
            let count = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            let end = min(bytes.count, start + 9 + count)
            frames.append((bytes[start + 3], Array(bytes[(start + 9)..<end])))
            start = end
        }
        return frames
    }

    @Test("accepts tokens of any length, and treats both letter cases as one token")
    func tokens() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        for bytes in [1, 32, 54, 100, 256] {
            for digits in ["aB", "Ab"] {
                let token = String(repeating: digits, count: bytes)
                #expect(try provider.ask(Push(token: token, authorization: authorization)).status == 200)
            }
            let received = await standIn.simulator.received(
                StandIn.token(String(repeating: "ab", count: bytes)))
            #expect(received.count == 2)
        }
    }

    @Test("can switch off its strict rules for provider tokens")
    func forgiving() async throws {
        let standIn = try await StandIn { settings, _ in
            settings.expiredTokenSpoilsConnection = false
            settings.providerTokenChangeInterval = .zero
        }
        let provider = try standIn.connect()
        let expired = try provider.ask(Push(authorization: standIn.authorization(ageSeconds: 3_700)))
        #expect(expired.body == #"{"reason":"ExpiredProviderToken"}"#)
        for age in [Int64(10), 5, 0, 0] {
            #expect(
                try provider.ask(Push(authorization: standIn.authorization(ageSeconds: age))).status == 200)
        }
    }

    @Test("can allow all streams from the start")
    func openStreams() async throws {
        let standIn = try await StandIn { settings, _ in settings.startsWithOneStream = false }
        #expect(try standIn.connect().streamLimits == [1_000])
    }

    @Test("keeps no pushes as a sink, however many it gets")
    func sinkKeepsNothing() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.isSink = true }
        let provider = try standIn.connect(limitAtStart: 100)
        for number in 0..<300 {
            #expect(try provider.ask(Push(token: "0a0b\(100 + number % 900)0")).status == 200)
        }
        let summary = await standIn.simulator.summary()
        #expect(summary.accepted == 300)
        #expect(summary.tokens == 0)
        #expect(summary.kept == 0)
    }
}
