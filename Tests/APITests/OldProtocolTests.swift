import API
import JSON
import Testing

@Suite("A client of HTTP/1.0")
struct OldProtocolTests {
    private static func request(_ method: String, _ path: String, _ body: String? = nil, isKept: Bool) -> String {
        GatewayWorld.request(method, path, body, headers: isKept ? ["Connection: keep-alive"] : [])
            .replacing("HTTP/1.1", with: "HTTP/1.0")
    }

    @Test("loses the connection after an answer, unless it asks to keep it")
    func persistence() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            let request = "GET /healthz HTTP/1.0\r\n\r\n"
            try await wire.send(request + request)
            let only = try await wire.reply()
            #expect(only.status == 200 && only.header("connection") == "close")
            #expect(await wire.remaining() == [], "the second request gets no answer")
            let kept = try Wire(port: world.port)
            // A refusal ends the connection no more than another answer does.
            for path in ["/healthz", "/v1/apps/nobody", "/healthz"] {
                try await kept.send(Self.request("GET", path, isKept: true))
                #expect(try await kept.reply().header("connection") == "keep-alive")
            }
        }
    }

    @Test("gets the answer to an import without chunks, up to the connection's end", arguments: [false, true])
    func importing(isKept: Bool) async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/import"
            let line = #"{"installation": "phone", "provider": "apns", "token": "\#(GatewayWorld.token(1))"}"#
            let wire = try Wire(port: world.port)
            try await wire.send(Self.request("POST", path, line, isKept: isKept))
            let head = try await wire.head()
            #expect(head.status == 200 && head.header("connection") == "close")
            #expect(head.header("transfer-encoding") == nil && head.header("content-length") == nil)
            let lines = await wire.remaining().split(separator: UInt8(ascii: "\n"))
            #expect(lines.count == 2)
            #expect(try JSONReader.read(Array(try #require(lines.last))).object?["done"] == true)
        }
    }

    @Test("gets the events of a message without chunks", arguments: [false, true])
    func events(isKept: Bool) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let sent = try await world.expect(
                202, "POST", app + "/messages", #"{"audience": {"all": true}, "badge": 1}"#)
            let id = try #require(try sent.member("id")?.string)
            let wire = try Wire(port: world.port)
            try await wire.send(Self.request("GET", app + "/messages/\(id)/events", isKept: isKept))
            let head = try await wire.head()
            #expect(head.header("transfer-encoding") == nil && head.header("connection") == "close")
            #expect(try await wire.line() == "retry: 2000")
            #expect(try await wire.line().isEmpty)
            #expect(try await wire.line().hasPrefix("id: "))
            #expect(try await wire.line() == "event: progress")
        }
    }
}
