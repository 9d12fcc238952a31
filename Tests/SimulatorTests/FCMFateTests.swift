import Basis
import Reactor
import Simulator
import Testing

@Suite("A registration token that chooses its own answer", .serialized)
struct FCMFateTests {
    struct Expected: Sendable {
        let name: String
        let status: Int
        let rpcStatus: String
        let code: String?
        var field = ""
        var quotaSubject: String?

        init(
            _ name: String, _ status: Int, _ rpcStatus: String, _ code: String?, field: String = "",
            quotaSubject: String? = nil
        ) {
            self.name = name
            self.status = status
            self.rpcStatus = rpcStatus
            self.code = code
            self.field = field
            self.quotaSubject = quotaSubject
        }
    }

    static let refusals: [Expected] = [
        Expected("UNREGISTERED", 404, "NOT_FOUND", "UNREGISTERED"),
        Expected("SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
        Expected("INVALID_TOKEN", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        Expected("INVALID_TOKEN_FIELD", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.token"),
        Expected("INVALID_PAYLOAD", 400, "INVALID_ARGUMENT", nil, field: "message.data[0].value"),
        Expected("MESSAGE_TOO_BIG", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        Expected("INVALID_TTL", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        Expected("THIRD_PARTY_AUTH_ERROR", 401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
        Expected("APNS_AUTH_ERROR", 401, "UNAUTHENTICATED", "APNS_AUTH_ERROR"),
        Expected("INTERNAL", 500, "INTERNAL", "INTERNAL"),
        Expected("UNSPECIFIED_ERROR_400", 400, "INVALID_ARGUMENT", "UNSPECIFIED_ERROR"),
        Expected("UNSPECIFIED_ERROR_500", 500, "UNKNOWN", "UNSPECIFIED_ERROR"),
        Expected("UNKNOWN_CODE_400", 400, "FAILED_PRECONDITION", "CODE_OF_TOMORROW"),
        Expected("UNKNOWN_CODE_503", 503, "UNAVAILABLE", "CODE_OF_TOMORROW"),
        Expected("QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
        Expected(
            "QUOTA_EXCEEDED_PROJECT", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", quotaSubject: "project:carillon"),
        Expected("QUOTA_EXCEEDED_DEVICE", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", quotaSubject: "device"),
        Expected("QUOTA_EXCEEDED_TOPIC", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", quotaSubject: "topic"),
        Expected("UNAVAILABLE", 503, "UNAVAILABLE", "UNAVAILABLE"),
        Expected("UNAUTHENTICATED", 401, "UNAUTHENTICATED", nil),
        Expected("PERMISSION_DENIED", 403, "PERMISSION_DENIED", nil),
        Expected("NOT_FOUND", 404, "NOT_FOUND", nil),
    ]

    private func open(_ adjust: (inout FCMSimulatorSettings) -> Void = { _ in }) async throws
        -> (GoogleStandIn, Provider, String)
    {
        let standIn = try await GoogleStandIn(adjust)
        let client = try standIn.connect()
        return (standIn, client, try standIn.authorization(client))
    }

    private static func message(_ token: String) -> String { #"{"message":{"token":"\#(token)"}}"# }

    @Test("gets the refusal that it names")
    func refused() async throws {
        let (standIn, client, authorization) = try await open()
        for expected in Self.refusals {
            let answer = try client.send(Self.message(expected.name + "-1"), authorization: authorization)
            #expect(answer.status == expected.status, "\(expected.name)")
            #expect(answer.retryAfter == "", "\(expected.name)")
            let error = try FCMError(answer.body)
            #expect(error.status == expected.rpcStatus, "\(expected.name)")
            #expect(error.code == expected.code, "\(expected.name)")
            #expect(error.field == expected.field, "\(expected.name)")
            #expect(error.quotaSubject == expected.quotaSubject, "\(expected.name)")
        }
        let tokenText = "The registration token is not a valid FCM registration token"
        #expect(try client.send(Self.message("INVALID_TOKEN-1"), authorization: authorization).body.contains(tokenText))
        #expect(await standIn.simulator.summary().accepted == 0)
        #expect(await standIn.simulator.received("UNREGISTERED-1").map(\.reason) == ["UNREGISTERED"])
    }

    @Test("gets a Retry-After in seconds or as a date")
    func retryAfter() async throws {
        let (_, client, authorization) = try await open()
        for (name, status) in [("QUOTA_EXCEEDED", 429), ("UNAVAILABLE", 503)] {
            let seconds = try client.send(Self.message(name + "_SECONDS-1"), authorization: authorization)
            #expect(seconds.status == status)
            #expect(seconds.retryAfter == "2")
            let date = try client.send(Self.message(name + "_DATE-1"), authorization: authorization)
            #expect(date.status == status)
            #expect(date.retryAfter.hasSuffix(" GMT"))
        }
    }

    @Test("gets a web page, an empty body or broken JSON")
    func pages() async throws {
        let (_, client, authorization) = try await open()
        for status in [404, 429, 500, 502, 503] {
            let answer = try client.send(Self.message("HTML_\(status)-1"), authorization: authorization)
            #expect(answer.status == status)
            #expect(answer.body.contains("<title>Error \(status)</title>"))
        }
        for status in [500, 502, 503] {
            let answer = try client.send(Self.message("EMPTY_\(status)-1"), authorization: authorization)
            #expect(answer.status == status)
            #expect(answer.body.isEmpty)
        }
        #expect(try client.send(Self.message("GARBLED-1"), authorization: authorization).body == #"{"name":"#)
    }

    @Test("succeeds after the number of refusals that it names")
    func counted() async throws {
        let (_, client, authorization) = try await open()
        let statuses = try (0..<4).map { _ in
            try client.send(Self.message("UNAVAILABLE:2-a"), authorization: authorization).status
        }
        #expect(statuses == [503, 503, 200, 200])
        #expect(try client.send(Self.message("UNAVAILABLE:2-b"), authorization: authorization).status == 503)
        #expect(try client.send(#"{"message":{"fid":"INTERNAL-c"}}"#, authorization: authorization).status == 500)
        #expect(try client.send(#"{"message":{"topic":"INTERNAL-c"}}"#, authorization: authorization).status == 500)
        for ordinary in ["INTERNAL", "INTERNALS-a", "INTERNAL:-a", "INTERNAL:2", "internal-a", "UNAVAILABLE:0x2-b"] {
            #expect(try client.send(Self.message(ordinary), authorization: authorization).status == 200, "\(ordinary)")
        }
    }

    @Test("loses the request or the answer, before or after processing")
    func lost() async throws {
        let (standIn, client, authorization) = try await open { $0.common.slowAnswer = .milliseconds(50) }
        let terminalCounts = try ["RESET-1", "REFUSED_STREAM-1", "RESET_AFTERWARDS-1"].map {
            try client.send(Self.message($0), authorization: authorization).conclusion
        }
        #expect(terminalCounts == [.reset(.internalError), .refused, .reset(.internalError)])
        let before = ContinuousClock.now
        #expect(try client.send(Self.message("SLOW-1"), authorization: authorization).status == 200)
        #expect(ContinuousClock.now - before >= .milliseconds(50))
        #expect(
            try client.send(Self.message("DROP_AFTERWARDS-1"), authorization: authorization).conclusion
                == .lost(wasSent: true))
        for (token, count) in [
            ("RESET-1", 0), ("REFUSED_STREAM-1", 0), ("RESET_AFTERWARDS-1", 1), ("DROP_AFTERWARDS-1", 1),
        ] {
            #expect(await standIn.simulator.received(token).count == count, "\(token)")
        }
    }

    @Test("loses the whole connection over HTTP/1.1")
    func lostByHTTP1() async throws {
        let (standIn, _, authorization) = try await open()
        func ask(_ token: String, _ client: HTTP1Client) throws -> HTTP1Client.Answer {
            try client.ask(
                "POST", GoogleStandIn.sendPath, ["Authorization: " + authorization],
                body: Array(Self.message(token).utf8))
        }
        for token in ["RESET-1", "REFUSED_STREAM-1", "RESET_AFTERWARDS-1", "DROP_AFTERWARDS-1"] {
            let client = try standIn.connectByHTTP1()
            #expect(try ask(token, client).status == 0)
            #expect(client.isClosed)
        }
        for token in ["SILENT-1", "LOST_ANSWER-1"] {
            let client = try standIn.connectByHTTP1()
            let body = Self.message(token)
            let head =
                "POST \(GoogleStandIn.sendPath) HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(authorization)\r\n"
            try client.write(head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try await standIn.wait { $0.unanswered == (token == "SILENT-1" ? 3 : 4) }
        }
        #expect(await standIn.simulator.received("SILENT-1").isEmpty)
        #expect(await standIn.simulator.received("LOST_ANSWER-1").count == 1)
        #expect(try ask("UNREGISTERED-1", standIn.connectByHTTP1()).status == 404)
    }
}

extension GoogleStandIn {
    func wait(until isReached: (SimulatorSummary) -> Bool) async throws {
        let deadline = Clocks.monotonicNow() + Provider.timeout
        while !isReached(await simulator.summary()) {
            guard Clocks.monotonicNow() < deadline else { throw TimedOut() }
        }
    }
}
