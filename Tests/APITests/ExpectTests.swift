import Testing

@Suite("A client that sends Expect: 100-continue")
struct ExpectTests {
    private static let body = #"{"slug": "tower", "name": "Tower"}"#

    private static func head(
        _ path: String = "/v1/apps", key: String = GatewayWorld.key, adding headers: [String] = [],
        length: Int = body.utf8.count
    ) -> String {
        GatewayWorld.request(
            "POST", path, key: key, headers: ["Expect: 100-continue", "Content-Length: \(length)"] + headers)
    }

    @Test("receives one 100 and then the answer, request after request on the same connection")
    func asked() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            for status in [201, 200] {
                try await wire.send(Self.head())
                #expect(try await wire.head().status == 100)
                try await wire.send(Self.body)
                #expect(try await wire.reply().status == status)
            }
            try await wire.send(GatewayWorld.request("GET", "/v1/apps/tower"))
            #expect(try await wire.reply().status == 200)
        }
    }

    @Test("receives no 100 if it sends the body at once")
    func unasked() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            try await wire.send(Self.head() + Self.body)
            #expect(try await wire.reply().status == 201)
        }
    }

    @Test("receives no 100 over HTTP/1.0")
    func oldProtocol() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            try await wire.send(Self.head().replacing("HTTP/1.1", with: "HTTP/1.0"))
            try await wire.send(Self.body)
            #expect(try await wire.reply().status == 201)
        }
    }

    @Test("receives 100 before the answer to an import begins")
    func importing() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            let line = #"{"installation": "one", "provider": "apns", "token": "\#(GatewayWorld.token(1))"}"#
            try await wire.send(Self.head(path, length: line.utf8.count))
            #expect(try await wire.head().status == 100)
            try await wire.send(line)
            #expect(try await wire.reply().text.contains(#""created":1"#))
        }
    }

    @Test("receives the refusal of a request's head at once, and the connection closes")
    func refused() async throws {
        try await withGateway { world in
            let refusals: [(String, Int)] = [
                (Self.head(key: "wrong"), 401), (Self.head(length: 1 << 21), 413), (Self.head("/nowhere"), 404),
                (Self.head(adding: ["Content-Encoding: gzip"]), 415), (Self.head(adding: ["Expect: magic"]), 417),
                (Self.head("/v1/apps/tower/devices/import"), 404),
            ]
            for (head, status) in refusals {
                let wire = try Wire(port: world.port)
                try await wire.send(head)
                let reply = try await wire.reply()
                #expect(reply.status == status, "\(reply.text)")
                #expect(reply.header("connection") == "close")
                await wire.endSending()
                #expect(await wire.remaining() == [])
            }
        }
    }
}
