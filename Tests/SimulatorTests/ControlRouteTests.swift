import HTTP2
import Simulator
import Testing

@Suite("The simulator's control route", .serialized)
struct ControlRouteTests {
    private static let openings = [
        #"{"kind":"goaway","reason":"Shutdown","close":"at_once","at":0}"#, #"{"kind":"refuse_certificate"}"#,
        #"{"kind":"stream_limit","limit":0,"at":0}"#, #"{"kind":"stall","at":0}"#, #"{"kind":"close","at":0}"#,
        #"{"kind":"drop","at":0}"#, #"{"kind":"garbage","at":0}"#, #"{"kind":"half_frame","at":0}"#,
    ]
    private static let requests = [
        #"{"kind":"silence","at":1,"every":1}"#, #"{"kind":"stall","at":1,"every":1}"#,
        #"{"kind":"drop","at":1,"every":1}"#, #"{"kind":"goaway","at":1,"every":1}"#,
        #"{"kind":"answer","status":503,"reason":"Shutdown","at":1,"every":1}"#,
    ]

    private static func script(_ fault: String) -> [UInt8] {
        Array(#"{"latency_ms":3600000,"faults":[\#(fault)]}"#.utf8)
    }

    @Test("answers new connections over HTTP/1.1 and ends the script, whatever it says", arguments: openings + requests)
    func overHTTP1(fault: String) async throws {
        let standIn = try await StandIn()
        #expect(try Self.http1(standIn).ask("POST", "/simulator/script", body: Self.script(fault)).status == 200)
        for _ in 0..<3 { #expect(try Self.http1(standIn).ask("GET", "/simulator/summary").status == 200) }
        #expect(try Self.http1(standIn).ask("DELETE", "/simulator/script").status == 200)
        let authorization = try standIn.authorization()
        #expect(try standIn.connect().ask(Push(authorization: authorization)).status == 200)
    }

    @Test("does the same at the port of FCM", arguments: openings + requests)
    func atFCM(fault: String) async throws {
        let standIn = try await GoogleStandIn()
        func ask(_ method: String, _ path: String, _ body: [UInt8] = []) throws -> Int {
            try standIn.connectByHTTP1().ask(method, path, body: body).status
        }
        #expect(try ask("POST", "/simulator/script", Self.script(fault)) == 200)
        #expect(try ask("GET", "/simulator/summary") == 200)
        #expect(try ask("DELETE", "/simulator/script") == 200)
        #expect(try ask("GET", "/simulator/script") == 200)
    }

    @Test("answers over HTTP/2 a client that asks at once", arguments: openings + requests)
    func overHTTP2(fault: String) async throws {
        let standIn = try await StandIn()
        #expect(try Self.http1(standIn).ask("POST", "/simulator/script", body: Self.script(fault)).status == 200)
        let client = try Provider(
            standIn.simulator, port: standIn.port, trust: standIn.authority.pem,
            first: Push(method: "DELETE", path: "/simulator/script"))
        #expect(try client.answer(to: 1).status == 200)
    }

    @Test("leaves the openings of other connections to the script", arguments: openings)
    func others(fault: String) async throws {
        let standIn = try await StandIn()
        let http1 = try Self.http1(standIn)
        #expect(try http1.ask("POST", "/simulator/script", body: Self.script(fault)).status == 200)
        let provider = try Provider(
            standIn.simulator, port: standIn.port, trust: standIn.authority.pem, first: Push(authorization: "none"))
        try await standIn.waitForFaults(1)
        #expect(try http1.ask("GET", "/simulator/script").body.contains(#""fault_hits":[1]"#))
        #expect(provider.answers[1]?.status != 200)
    }

    @Test("keeps the connections of all clients that ask nothing else when faults happen at once")
    func now() async throws {
        let standIn = try await StandIn()
        let (asker, reader) = (try Self.http1(standIn), try Self.http1(standIn))
        #expect(try reader.ask("GET", "/simulator/summary").status == 200)
        let provider = try standIn.connect()
        #expect(try provider.ask(Push(authorization: standIn.authorization())).status == 200)
        let drop = Array(#"{"now":[{"kind":"drop"}]}"#.utf8)
        #expect(try asker.ask("POST", "/simulator/script", body: drop).status == 200)
        try provider.waitForClose()
        #expect(try reader.ask("GET", "/simulator/summary").status == 200)
    }

    @Test("has a place when stalled connections have taken all of them")
    func full() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.connectionsMax = 3 }
        let stall = Self.script(#"{"kind":"stall","at":1,"every":1}"#)
        #expect(try Self.http1(standIn).ask("POST", "/simulator/script", body: stall).status == 200)
        var stalled: [Provider] = []
        for count in 1...4 {
            stalled.append(try standIn.connect())
            try stalled[count - 1].send(Push(authorization: "none"))
            try await standIn.waitForRequests(count)
        }
        #expect(try Self.http1(standIn).ask("DELETE", "/simulator/script").status == 200)
        #expect(stalled.allSatisfy { $0.answers.isEmpty })
    }

    private static func http1(_ standIn: StandIn) throws -> HTTP1Client {
        try HTTP1Client(standIn.simulator, port: standIn.port, trust: standIn.authority.pem, serverName: "localhost")
    }
}
