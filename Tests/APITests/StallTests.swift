import Listener
import Testing

@Suite("A request that stalls or is malformed")
struct StallTests {
    private static let start = "POST /v1/apps HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer \(GatewayWorld.key)\r\n"

    /// - Parameter trickle: the text that the client keeps sending, one piece at a time.
    struct Stall: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        var trickle = ""
    }

    private static let stalls = [
        Stall(testDescription: "in its first line", text: "POST /v1/a"),
        Stall(testDescription: "in its head", text: start),
        Stall(testDescription: "in a header that never ends", text: start + "X-A: ", trickle: "a"),
        Stall(testDescription: "in headers that never end", text: start, trickle: "A: b\r\n"),
        Stall(testDescription: "before its body", text: start + "Content-Length: 9\r\n\r\n"),
        Stall(testDescription: "in its body", text: start + "Content-Length: 9\r\n\r\n{"),
        Stall(testDescription: "in a body that trickles", text: start + "Content-Length: 90000\r\n\r\n{", trickle: " "),
        Stall(testDescription: "in a chunk", text: start + "Transfer-Encoding: chunked\r\n\r\n5\r\n{"),
        Stall(
            testDescription: "in chunks that trickle", text: start + "Transfer-Encoding: chunked\r\n\r\n",
            trickle: "1\r\n \r\n"),
        Stall(testDescription: "between chunks", text: start + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"),
    ]

    private static var limits: GatewayLimits {
        var limits = GatewayLimits()
        limits.headTimeout = .milliseconds(300)
        limits.bodyTimeout = .milliseconds(400)
        limits.bodyPauseMax = .milliseconds(300)
        return limits
    }

    @Test("gets a 408 at its deadline, and changes nothing", arguments: stalls)
    func refused(stall: Stall) async throws {
        try await withGateway(limits: Self.limits) { world in
            let before = try await world.contents()
            let wire = try Wire(port: world.port)
            try await wire.send(stall.text)
            let trickling = Task {
                guard !stall.trickle.isEmpty else { return }
                while !Task.isCancelled {
                    try await wire.send(stall.trickle)
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            let reply = try await wire.reply()
            trickling.cancel()
            #expect(reply.status == 408)
            #expect(reply.header("content-type") == "application/problem+json")
            #expect(reply.header("connection") == "close")
            #expect(try reply.member("code")?.string == "request_timeout")
            #expect(await wire.remaining() == [])
            #expect(try await world.contents() == before)
            try await world.expect(200, "GET", "/v1/apps")
        }
    }

    @Test("gets a 408 at its body's deadline, even after earlier complete bodies")
    func laterBody() async throws {
        try await withGateway(limits: Self.limits) { world in
            // The deadline of this earlier body is the first one that a timer is set for.
            _ = try await world.makeApp()
            let wire = try Wire(port: world.port)
            try await wire.send(Self.start + "Content-Length: 90000\r\n\r\n{")
            let trickling = Task {
                while !Task.isCancelled {
                    try await wire.send(" ")
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            #expect(try await wire.reply().status == 408)
            trickling.cancel()
        }
    }

    @Test("gets a 408 after the answer to the previous request")
    func secondRequest() async throws {
        try await withGateway(limits: Self.limits) { world in
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("GET", "/healthz"))
            #expect(try await wire.reply().status == 200)
            try await wire.send(Self.start)
            #expect(try await wire.reply().status == 408)
            #expect(await wire.remaining() == [])
        }
    }

    @Test("reports, for an import, what was imported and where to resume")
    func stalledImport() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            let wire = try Wire(port: world.port)
            let line = GatewayWorld.registration(1, #", "installation": "one""#)
            try await wire.send(
                GatewayWorld.request("POST", app + "/devices/import", headers: ["Content-Length: 90000"]) + line + "\n{"
            )
            let reply = try await wire.reply()
            #expect(reply.status == 200)
            let last = reply.text.split(separator: "\n").last.map(String.init) ?? ""
            for text in [#""done":false"#, #""resume_after":1"#, #""accepted":1"#, "request_timeout"] {
                #expect(last.contains(text), "\(reply.text)")
            }
            try await world.expect(200, "GET", app + "/devices/one")
        }
    }

    @Test("reports where to resume an import that has a malformed chunk")
    func brokenImport() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let wire = try Wire(port: world.port)
            let line = GatewayWorld.registration(1, #", "installation": "one""#) + "\n"
            let head = GatewayWorld.request("POST", app + "/devices/import", headers: ["Transfer-Encoding: chunked"])
            try await wire.send(head + String(line.utf8.count, radix: 16) + "\r\n" + line + "\r\nZZ\r\n")
            let reply = try await wire.reply()
            #expect(
                reply.text.contains("malformed_request") && reply.text.contains(#""resume_after":1"#), "\(reply.text)")
        }
    }

    @Test("gets no second answer after a refusal")
    func answered() async throws {
        try await withGateway(limits: Self.limits) { world in
            let wire = try Wire(port: world.port)
            try await wire.send(String(GatewayWorld.request("POST", "/v1/apps", "{     }", key: "wrong").dropLast(3)))
            #expect(try await wire.reply().status == 401)
            #expect(await wire.remaining() == [])
        }
    }
}
