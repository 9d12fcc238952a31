import Simulator
import Testing

@Suite("A device token that chooses its own answer", .serialized)
struct FateTests {
    static let refusals: [(code: String, status: Int, body: String)] = [
        ("02", 410, #"{"reason":"Unregistered","timestamp":1577836800000}"#),
        ("04", 400, #"{"reason":"BadDeviceToken"}"#),
        ("05", 400, #"{"reason":"DeviceTokenNotForTopic"}"#), ("06", 429, #"{"reason":"TooManyRequests"}"#),
        ("07", 500, #"{"reason":"InternalServerError"}"#), ("08", 503, #"{"reason":"ServiceUnavailable"}"#),
        ("09", 503, #"{"reason":"Shutdown"}"#), ("0a", 400, #"{"reason":"TopicDisallowed"}"#),
        ("0b", 413, #"{"reason":"PayloadTooLarge"}"#), ("0c", 403, #"{"reason":"ExpiredProviderToken"}"#),
        ("0d", 403, #"{"reason":"InvalidProviderToken"}"#), ("0e", 403, #"{"reason":"Forbidden"}"#),
        ("0f", 429, #"{"reason":"TooManyProviderTokenUpdates"}"#), ("11", 400, #"{"reason":"ReasonOfTomorrow"}"#),
        ("12", 503, #"{"reason":"ReasonOfTomorrow"}"#), ("13", 410, #"{"reason":"Unregistered"}"#), ("27", 500, ""),
        ("28", 400, #"{"reason":"#), ("40", 400, #"{"reason":"BadCollapseId"}"#),
        ("41", 400, #"{"reason":"BadExpirationDate"}"#), ("42", 400, #"{"reason":"BadMessageId"}"#),
        ("43", 400, #"{"reason":"BadPriority"}"#), ("44", 400, #"{"reason":"BadTopic"}"#),
        ("45", 400, #"{"reason":"DuplicateHeaders"}"#), ("46", 400, #"{"reason":"IdleTimeout"}"#),
        ("47", 400, #"{"reason":"InvalidPushType"}"#), ("48", 400, #"{"reason":"MissingDeviceToken"}"#),
        ("49", 400, #"{"reason":"MissingTopic"}"#), ("4a", 400, #"{"reason":"PayloadEmpty"}"#),
        ("4b", 403, #"{"reason":"BadCertificate"}"#), ("4c", 403, #"{"reason":"BadCertificateEnvironment"}"#),
        ("4d", 403, #"{"reason":"MissingProviderToken"}"#), ("4e", 403, #"{"reason":"UnrelatedKeyIdInToken"}"#),
        ("4f", 403, #"{"reason":"BadEnvironmentKeyIdInToken"}"#),
        ("50", 403, #"{"reason":"BadEnvironmentKeyInToken"}"#), ("51", 404, #"{"reason":"BadPath"}"#),
        ("52", 405, #"{"reason":"MethodNotAllowed"}"#),
    ]

    @Test("gets the refusal that it names")
    func refused() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        for (code, status, body) in FateTests.refusals {
            let answer = try provider.ask(Push(token: "dead\(code)00aabb", authorization: authorization))
            #expect(answer.status == status, "code \(code)")
            #expect(answer.body == body, "code \(code)")
            #expect(answer.apnsID.utf8.count == 36, "code \(code): a refusal has an apns-id too")
        }
        for (code, reason) in [("01", "Unregistered"), ("03", "ExpiredToken")] {
            let answer = try provider.ask(Push(token: "dead\(code)00aabb", authorization: authorization))
            #expect(answer.status == 410)
            let timestamp = answer.body.split(separator: ":").last.flatMap { Int($0.dropLast()) } ?? 0
            #expect(timestamp > 1_700_000_000_000, "the timestamp is the current time in milliseconds")
            #expect(answer.body.contains(reason))
        }
        let waiting = try provider.ask(Push(token: "dead1000aabb", authorization: authorization))
        #expect(waiting.retryAfter == "2")
        #expect(await standIn.simulator.summary().accepted == 0)
    }

    @Test("succeeds after the number of refusals that it names")
    func counted() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        let statuses = try (0..<4).map { _ in
            try provider.ask(Push(token: "dead0802aabb", authorization: authorization)).status
        }
        #expect(statuses == [503, 503, 200, 200])
        #expect(try provider.ask(Push(token: "dead0802aacc", authorization: authorization)).status == 503)
    }

    @Test("resets the stream, before or after the push is processed")
    func resets() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        let terminalCounts = try ["20", "21", "25"].map {
            try provider.ask(Push(token: "dead\($0)00aabb", authorization: authorization)).conclusion
        }
        #expect(terminalCounts == [.reset(.internalError), .refused, .reset(.internalError)])
        #expect(await standIn.simulator.received(StandIn.token("dead2000aabb")).isEmpty)
        #expect(await standIn.simulator.received(StandIn.token("dead2500aabb")).count == 1)
    }

    @Test("leaves the push without an answer, processed or not, or delays the answer")
    func silence() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.slowAnswer = .milliseconds(50) }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        let silent = try provider.send(Push(token: "dead2200aabb", authorization: authorization))
        let lost = try provider.send(Push(token: "dead2400aabb", authorization: authorization))
        let slow = try provider.send(Push(token: "dead2300aabb", authorization: authorization))
        #expect(try provider.answer(to: slow).status == 200)
        #expect(provider.answers[silent] == nil)
        #expect(provider.answers[lost] == nil)
        #expect(await standIn.simulator.received(StandIn.token("dead2200aabb")).isEmpty)
        #expect(await standIn.simulator.received(StandIn.token("dead2400aabb")).count == 1)
        #expect(await standIn.simulator.summary().unanswered == 2)
    }

    @Test("drops the connection instead of an answer")
    func dropped() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let answer = try provider.ask(Push(token: "dead2600aabb", authorization: try standIn.authorization()))
        #expect(answer.conclusion == .lost(wasSent: true))
        #expect(await standIn.simulator.received(StandIn.token("dead2600aabb")).count == 1)
    }

    @Test("exists in one environment only")
    func environments() async throws {
        let standIn = try await StandIn { settings, _ in settings.environment = .sandbox }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try provider.ask(Push(token: "dead3000aabb", authorization: authorization)).status == 400)
        #expect(try provider.ask(Push(token: "dead3100aabb", authorization: authorization)).status == 200)
    }
}
