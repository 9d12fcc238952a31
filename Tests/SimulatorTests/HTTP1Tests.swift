import Basis
import Simulator
import TestSupport
import Testing

@Suite("A client that speaks HTTP/1.1 to a simulator", .serialized)
struct HTTP1Tests {
    private static let message = #"{"message":{"token":"phone"}}"#

    private func open(_ adjust: (inout FCMSimulatorSettings) -> Void = { _ in }) async throws
        -> (GoogleStandIn, HTTP1Client, String)
    {
        let standIn = try await GoogleStandIn(adjust)
        let authorization = try standIn.authorization(standIn.connect())
        return (standIn, try standIn.connectByHTTP1(), authorization)
    }

    private static func head(_ authorization: String, _ fields: [String]) -> String {
        (["POST \(GoogleStandIn.sendPath) HTTP/1.1", "host: localhost", "authorization: \(authorization)"] + fields)
            .joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test("sends several requests on one connection, with or without ALPN", arguments: [["http/1.1"], []])
    func served(alpn: [String]) async throws {
        let (standIn, _, authorization) = try await open()
        let client = try standIn.connectByHTTP1(alpn: alpn)
        for _ in 0..<3 {
            let answer = try client.ask(
                "POST", GoogleStandIn.sendPath, ["Authorization: " + authorization], body: Array(Self.message.utf8))
            #expect(answer.status == 200)
            #expect(answer.has("content-type: application/json; charset=UTF-8"))
        }
        #expect(await standIn.simulator.received("phone").count == 3)
        #expect(try client.ask("GET", "/simulator/summary").body.contains(#""accepted":3"#))
    }

    @Test("may send its body in chunks, in pieces or after 100 Continue")
    func bodies() async throws {
        let (standIn, client, authorization) = try await open()
        let body = Self.message
        let half = body.utf8.count / 2
        let chunks =
            String(half, radix: 16) + ";x=y\r\n" + body.prefix(half) + "\r\n"
            + String(body.utf8.count - half, radix: 16).uppercased() + "\r\n" + body.dropFirst(half)
            + "\r\n0\r\nx-trailer: 1\r\n\r\n"
        for piece in Self.head(authorization, ["Transfer-Encoding: chunked"]) + chunks {
            try client.write(String(piece))
        }
        #expect(try client.answer().status == 200)
        try client.write(Self.head(authorization, ["content-length: \(body.utf8.count)", "expect: 100-continue"]))
        #expect(try client.answer().status == 100)
        try client.write(body)
        #expect(try client.answer().status == 200)
        let received = await standIn.simulator.received("phone").map { String(decoding: $0.body, as: UTF8.self) }
        #expect(received == [body, body])
    }

    @Test("may pipeline its requests, and gets the answers in order")
    func pipelined() async throws {
        let (_, client, authorization) = try await open()
        let tokens = ["phone", "UNREGISTERED-1", "INTERNAL-1", "phone"]
        let requests = tokens.map { token in
            let body = #"{"message":{"token":"\#(token)"}}"#
            return Self.head(authorization, ["content-length: \(body.utf8.count)"]) + body
        }
        try client.write(requests.joined())
        #expect(try tokens.map { _ in try client.answer().status } == [200, 404, 500, 200])
    }

    @Test("gets its answer and then a closed connection if it sends Connection: close")
    func close() async throws {
        let (_, client, authorization) = try await open()
        let fields = ["Authorization: " + authorization, "Connection: close"]
        let answer = try client.ask("POST", GoogleStandIn.sendPath, fields, body: Array(Self.message.utf8))
        #expect(answer.status == 200)
        #expect(answer.has("connection: close"))
        try client.waitForClose()
    }

    private static let long = String(repeating: "x", count: 17_000)
    static let refused: [(request: String, status: Int)] = [
        ("GET /simulator/summary HTTP/1.0\r\nhost: a\r\n\r\n", 505),
        ("GET /simulator/summary HTTP/2.0\r\nhost: a\r\n\r\n", 505),
        ("GET /simulator/summary\r\n\r\n", 400), ("GET  /simulator/summary HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        ("GET simulator HTTP/1.1\r\nhost: a\r\n\r\n", 400), ("G(T /x HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\n\r\n", 400), ("GET /x HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\nhost : a\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\nhost: a\r\nx : y\r\n\r\n", 400), ("GET /x HTTP/1.1\r\nhost: a\r\n folded: y\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\nhost: a\r\n folded\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\nhost: a\nx: y\r\n\r\n", 400), ("GET /x HTTP/1.1\r\nhost: a\r\nx: \u{1}\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\nhost: a\r\n: y\r\n\r\n", 400), ("GET /x HTTP/1.1\r\nhost: a\r\nx\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1, 1\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1048577\r\n\r\n", 413),
        ("POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        ("POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n", 400),
        ("POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n100001\r\n", 413),
        ("POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc", 400),
        ("GET /\(long) HTTP/1.1\r\nhost: a\r\n\r\n", 431), ("GET /\(long)", 431),
        ("GET /x HTTP/1.1\r\nhost: a\r\n" + String(repeating: "x: y\r\n", count: 100) + "\r\n", 431),
    ]

    @Test("loses its connection if any of its requests does not end in time")
    func slow() async throws {
        let (standIn, _, authorization) = try await open { settings in
            settings.common.handshakeTimeout = .milliseconds(300)
            settings.common.requestTimeout = .milliseconds(50)
        }
        let first = try standIn.connectByHTTP1()
        try first.write("GET /simulator/summary HTT")
        try first.waitForClose()
        let later = try standIn.connectByHTTP1()
        #expect(try later.ask("GET", "/simulator/summary").status == 200)
        try later.write(Self.head(authorization, ["content-length: 100"]) + "{")
        try later.waitForClose()
        #expect(try standIn.connectByHTTP1().ask("GET", "/simulator/summary").body.contains(#""requests":0"#))
    }

    @Test("gets an error status and a closed connection for a malformed request")
    func refused() async throws {
        let standIn = try await GoogleStandIn()
        for (request, status) in Self.refused {
            let client = try standIn.connectByHTTP1()
            try client.write(request)
            #expect(try client.answer().status == status, "\(request.prefix(150))")
            try client.waitForClose()
        }
    }

    @Test("may query the APNs simulator, but sends no pushes by HTTP/1.1")
    func apns() async throws {
        let standIn = try await StandIn()
        let client = try HTTP1Client(
            standIn.simulator, port: standIn.port, trust: standIn.authority.pem, serverName: "localhost")
        #expect(try client.ask("GET", "/simulator/summary").status == 200)
        #expect(try client.ask("POST", "/3/device/00fc13ad", body: Array("{}".utf8)).status == 505)
        #expect(try client.ask("GET", "/simulator/received/0a").body == #"{"token":"0a","pushes":[]}"#)
    }

    @Test("meets every scripted fault that HTTP/1.1 can express")
    func faults() async throws {
        let (standIn, _, authorization) = try await open()
        let kinds: [ScriptedFault.Kind] = [
            .goAway(ScriptedGoAway(reason: "Shutdown")), .reset(.internalError), .close, .drop, .garbage, .halfFrame,
        ]
        for (place, kind) in kinds.enumerated() {
            await standIn.simulator.follow(SimulatorScript(faults: [ScriptedFault(kind, at: 1, times: 1)]))
            let client = try standIn.connectByHTTP1()
            try client.write(Self.head(authorization, ["content-length: \(Self.message.utf8.count)"]) + Self.message)
            // The other half of the frame never comes.
            if place == 5 {
                try await standIn.wait { $0.faults == kinds.count }
                await standIn.simulator.dropConnections()
            }
            #expect(try client.answer().status == 0, "kind \(place)")
        }
        await standIn.simulator.follow(SimulatorScript(answerDelay: .milliseconds(30)))
        let before = ContinuousClock.now
        let client = try standIn.connectByHTTP1()
        let fields = ["Authorization: " + authorization]
        #expect(try client.ask("POST", GoogleStandIn.sendPath, fields, body: Array(Self.message.utf8)).status == 200)
        #expect(ContinuousClock.now - before >= .milliseconds(30))
    }

    @Test(
        "gets an answer or a closed connection for garbage, and other clients are still served",
        arguments: UInt64(1)...3)
    func garbage(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        // Some requests wait for more bytes.
        let (standIn, _, authorization) = try await open { settings in
            settings.common.handshakeTimeout = .milliseconds(200)
            settings.common.requestTimeout = .milliseconds(200)
        }
        let sound = Self.head(authorization, ["transfer-encoding: chunked"]) + "1d\r\n\(Self.message)\r\n0\r\n\r\n"
        let marks = Array("\r\n :;,0123456789abcdefHTP/.-\u{0}\t".utf8) + [0x7f, 0x80, 0xff]
        var statuses: Set<Int> = []
        for _ in 0..<300 {
            var bytes = Array(sound.utf8)
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[place] = marks[Int.random(in: 0..<marks.count, using: &random)]
                case 2: bytes.remove(at: place)
                default: bytes.insert(marks[Int.random(in: 0..<marks.count, using: &random)], at: place)
                }
            }
            let client = try standIn.connectByHTTP1()
            try client.write(bytes + Array("\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".utf8))
            statuses.insert(try client.answer().status)
        }
        #expect(
            statuses.isSuperset(of: [200, 400])
                && statuses.isSubset(of: [0, 200, 400, 401, 403, 404, 413, 431, 501, 505]), "\(statuses.sorted())")
        // A client that a busy machine delays for 200 ms loses its connection too, and asks again.
        let summaries = (1...50).lazy.map { _ in
            try? standIn.connectByHTTP1().ask("GET", "/simulator/summary").status
        }
        #expect(summaries.contains(200))
    }
}
