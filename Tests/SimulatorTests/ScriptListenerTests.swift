import Basis
import HTTP2
import Simulator
import Testing

@Suite("A simulator that gets its script over HTTP", .serialized)
struct ScriptListenerTests {
    private func open() async throws -> (StandIn, Provider, HTTP1Client, String) {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        try provider.waitForLimit(1_000)
        let http1 = try HTTP1Client(
            standIn.simulator, port: standIn.port, trust: standIn.authority.pem, serverName: "localhost")
        return (standIn, provider, http1, authorization)
    }

    private func report(_ http1: HTTP1Client, _ script: String) throws -> HTTP1Client.Answer {
        try http1.ask("POST", "/simulator/script", body: Array(script.utf8))
    }

    @Test("gives the next answers as scripted, then answers normally again")
    func nextAnswers() async throws {
        let (_, provider, http1, authorization) = try await open()
        let reported = try report(
            http1,
            """
            {"faults":[{"kind":"answer","status":503,"reason":"Shutdown","headers":{"Retry-After":"3"},"next":2},
            {"kind":"answer","status":400,"body":"odd"}]}
            """)
        #expect(reported.body == #"{"script":1,"latency_ms":0,"clock_offset_s":0,"fault_hits":[0,0]}"#)
        for _ in 0..<2 {
            let answer = try provider.ask(Push(authorization: authorization))
            #expect(answer.status == 503)
            #expect(answer.body == #"{"reason":"Shutdown"}"#)
            #expect(answer.retryAfter == "3")
            #expect(!answer.apnsID.isEmpty)
        }
        #expect(try provider.ask(Push(authorization: authorization)).body == "odd")
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        #expect(try http1.ask("GET", "/simulator/script").body.contains(#""fault_hits":[2,1]"#))
        #expect(try http1.ask("DELETE", "/simulator/script").body.contains(#""fault_hits":[]"#))
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
    }

    @Test("delays its answers, and moves its clock ahead")
    func lateAndAhead() async throws {
        let (_, provider, http1, authorization) = try await open()
        #expect(try report(http1, #"{"latency_ms":40}"#).status == 200)
        let before = ContinuousClock.now
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        #expect(ContinuousClock.now - before >= .milliseconds(40))
        #expect(try report(http1, #"{"clock_offset_s":3700}"#).status == 200)
        #expect(
            try provider.ask(Push(authorization: authorization)).body.contains("ExpiredProviderToken"))
    }

    static let faults: [(script: String, conclusion: HTTP2Answer.Conclusion)] = [
        (#"{"kind":"goaway","reason":"Shutdown","close":"never"}"#, .refused),
        (#"{"kind":"reset","code":"ENHANCE_YOUR_CALM"}"#, .reset(HTTP2ErrorCode(rawValue: 11))),
        (#"{"kind":"reset"}"#, .reset(.internalError)),
        (#"{"kind":"close"}"#, .lost(wasSent: true)), (#"{"kind":"drop"}"#, .lost(wasSent: true)),
        (#"{"kind":"garbage"}"#, .lost(wasSent: true)),
        (#"{"kind":"huge_header"}"#, .lost(wasSent: true)),
    ]

    @Test("misbehaves at the next request, or at a numbered one")
    func nextFaults() async throws {
        for (fault, conclusion) in Self.faults {
            let (standIn, provider, http1, authorization) = try await open()
            let named = fault.dropLast() + #","at":2,"times":1}"#
            for script in [fault, String(named)] {
                let client = try standIn.connect(limitAtStart: 100)
                #expect(try client.ask(Push(authorization: authorization)).status == 200)
                #expect(try report(http1, #"{"faults":[\#(script)]}"#).status == 200)
                if script != fault {
                    #expect(try client.ask(Push(authorization: authorization)).status == 200)
                }
                let found = try client.ask(Push(authorization: authorization)).conclusion
                #expect(
                    found == conclusion
                        || (fault.contains("huge") || fault.contains("garbage")) && found != .complete,
                    "\(script)")
            }
            #expect(
                try provider.ask(Push(authorization: authorization)).status == 200, "other requests are answered")
        }
    }

    @Test("refuses certificates after the handshake")
    func certificate() async throws {
        let (standIn, _, http1, _) = try await open()
        let script =
            #"{"faults":[{"kind":"refuse_certificate","reason":"BadCertificateEnvironment","times":1}]}"#
        #expect(try report(http1, script).status == 200)
        let refused = try standIn.connect(identity: standIn.certificate())
        try refused.waitForGoAway()
        #expect(refused.goAways.map(\.reason) == [#"{"reason":"BadCertificateEnvironment"}"#])
        #expect(refused.goAways.map(\.last) == [0])
        #expect(try standIn.connect(identity: standIn.certificate()).ask(Push()).status == 200)
    }

    @Test("applies immediate faults to all open connections except the script's own")
    func now() async throws {
        let (standIn, provider, http1, authorization) = try await open()
        #expect(try report(http1, #"{"now":[{"kind":"stream_limit","limit":7}]}"#).status == 200)
        try provider.waitForLimit(7)
        #expect(try report(http1, #"{"now":[{"kind":"goaway","reason":"Shutdown"}]}"#).status == 200)
        try provider.waitForGoAway()
        #expect(provider.goAways.map(\.reason) == [#"{"reason":"Shutdown"}"#])
        #expect(provider.goAways.map(\.last) == [1], "the GOAWAY includes every answered request")
        for kind in ["drop", "close", "garbage"] {
            let client = try standIn.connect()
            #expect(try client.ask(Push(authorization: authorization)).status == 200)
            #expect(try report(http1, #"{"now":[{"kind":"\#(kind)"}]}"#).status == 200)
            // Garbage ends a session at its next request.
            if kind == "garbage" {
                _ = try? client.ask(Push(authorization: authorization))
            } else {
                try client.waitForClose()
            }
        }
        #expect(
            try http1.ask("GET", "/simulator/script").body.contains(#""script":0"#), "the simulator has no script")
    }

    @Test("revokes its access tokens as the FCM simulator")
    func revoke() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let http1 = try standIn.connectByHTTP1()
        let message = #"{"message":{"token":"phone"}}"#
        #expect(try client.send(message, authorization: authorization).status == 200)
        let script = """
            {"now":[{"kind":"revoke_access_tokens"}],
            "faults":[{"kind":"answer","status":500,"reason":"internal_failure","endpoint":"access_token"},
            {"kind":"answer","status":429,"reason":"QUOTA_EXCEEDED","next":1},
            {"kind":"answer","status":500,"reason":"INTERNAL","endpoint":"topics"}]}
            """
        #expect(try report(http1, script).status == 200)
        let quota = try client.send(message, authorization: authorization)
        #expect(try FCMError(quota.body).code == "QUOTA_EXCEEDED")
        #expect(try client.send(message, authorization: authorization).status == 401)
        #expect(
            try client.post("/token", host: standIn.host, body: []).body.contains("internal_failure"))
        #expect(try client.post("/iid/v1:batchAdd", body: []).body == #"{"error":"INTERNAL"}"#)
        #expect(try client.send(message, authorization: standIn.authorization(client)).status == 200)
    }

    @Test("delays the answers of one endpoint only")
    func slow() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let http1 = try standIn.connectByHTTP1()
        let script = #"{"faults":[{"kind":"slow","ms":60,"endpoint":"access_token"},{"kind":"slow","ms":90}]}"#
        #expect(try report(http1, script).status == 200)
        let start = ContinuousClock.now
        let authorization = try standIn.authorization(client)
        let granted = ContinuousClock.now
        #expect(granted - start >= .milliseconds(60))
        #expect(try client.send(#"{"message":{"token":"phone"}}"#, authorization: authorization).status == 200)
        #expect(ContinuousClock.now - granted >= .milliseconds(90))
        let (_, provider, apple, bearer) = try await open()
        #expect(try report(apple, #"{"faults":[{"kind":"slow","ms":40,"next":2}]}"#).status == 200)
        let before = ContinuousClock.now
        #expect(try provider.ask(Push(authorization: bearer)).status == 200)
        #expect(try provider.ask(Push(token: "dead0100", authorization: bearer)).status == 410)
        #expect(ContinuousClock.now - before >= .milliseconds(80))
    }

    static let wrong: [(script: String, place: String)] = [
        ("", "ends early"), ("[]", "an object"), (#"{"delay":1}"#, "delay: "),
        (#"{"latency_ms":-1}"#, "latency_ms: "),
        (#"{"latency_ms":1.5}"#, "latency_ms: "), (#"{"faults":{}}"#, "faults: "),
        (#"{"faults":[1]}"#, "faults[0]: "),
        (#"{"faults":[{}]}"#, "faults[0].kind: "),
        (#"{"faults":[{"kind":"explode"}]}"#, "faults[0].kind: "),
        (#"{"faults":[{"kind":"close","atOnce":1}]}"#, "faults[0].atOnce: "),
        (#"{"faults":[{"kind":"close"},{"kind":"answer"}]}"#, "faults[1].status: "),
        (#"{"faults":[{"kind":"answer","status":99}]}"#, "faults[0].status: "),
        (#"{"faults":[{"kind":"answer","status":400,"headers":{"a b":"c"}}]}"#, "faults[0].headers: "),
        (
            #"{"faults":[{"kind":"answer","status":400,"headers":{"a":"b\r\nc: d"}}]}"#,
            "faults[0].headers: "
        ),
        (#"{"faults":[{"kind":"answer","status":400,"headers":[]}]}"#, "faults[0].headers: "),
        (#"{"faults":[{"kind":"reset","code":"NO"}]}"#, "faults[0].code: "),
        (#"{"faults":[{"kind":"stream_limit"}]}"#, "faults[0].limit: "),
        (#"{"faults":[{"kind":"slow"}]}"#, "faults[0].ms: "),
        (#"{"faults":[{"kind":"goaway","close":"later"}]}"#, "faults[0].close: "),
        (#"{"faults":[{"kind":"close","next":0}]}"#, "faults[0].next: "),
        (#"{"faults":[{"kind":"close","endpoint":"push2"}]}"#, "faults[0].endpoint: "),
        (#"{"now":[{"kind":"reset"}]}"#, "now[0].kind: "),
        (#"{"now":[{"kind":"drop","at":1}]}"#, "now[0].at: "),
    ]

    @Test("refuses a wrong script with its cause, and continues as before")
    func refused() async throws {
        let (_, provider, http1, authorization) = try await open()
        for (script, place) in Self.wrong {
            let answer = try report(http1, script)
            #expect(answer.status == 400, "\(script)")
            #expect(answer.body.hasPrefix(#"{"reason":"BadScript","detail":""#))
            #expect(answer.body.contains(place), "\(script): \(answer.body)")
        }
        #expect(try http1.ask("GET", "/simulator/script").body.contains(#""script":0"#))
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
    }

    @Test(
        "takes a script of up to 64 KiB over HTTP/2, but as a sink over HTTP/1.1 only",
        arguments: [false, true])
    func http2(isSink: Bool) async throws {
        let standIn = try await StandIn { settings, _ in settings.common.isSink = isSink }
        let provider = try standIn.connect()
        var push = Push(method: "POST", path: "/simulator/script")
        push.body = Array(#"{"latency_ms":1}"#.utf8)
        let answer = try provider.ask(push)
        #expect(answer.status == (isSink ? 413 : 200))
        push.body = Array(repeating: UInt8(ascii: " "), count: 65_537)
        #expect(try provider.ask(push).status == 413)
    }
}
