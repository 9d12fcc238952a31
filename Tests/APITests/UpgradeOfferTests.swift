import API
import Testing

@Suite("A client that offers another protocol")
struct UpgradeOfferTests {
    private static let offer = [
        "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
    ]

    @Test("gets every answer on the same connection, as if it offered nothing")
    func ignored() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            let make = #"{"slug": "tower", "name": "Tower"}"#
            // The last request is sent with the one before it.
            let requests = [
                GatewayWorld.request("GET", "/v1/apps", headers: Self.offer),
                GatewayWorld.request("POST", "/v1/apps", make, headers: Self.offer),
                GatewayWorld.request("GET", "/v1/apps", headers: ["upgrade: websocket", "Connection: UPGRADE"])
                    + GatewayWorld.request("GET", "/v1/apps/tower", headers: Self.offer),
            ]
            for request in requests { try await wire.send(request) }
            for status in [200, 201, 200, 200] {
                let reply = try await wire.reply()
                #expect(reply.status == status, "\(reply.text)")
                #expect(reply.header("connection") != "close")
            }
        }
    }

    @Test("gets its answers although its bytes come one by one")
    func cut() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            for _ in 1...2 {
                for byte in GatewayWorld.request("GET", "/healthz", headers: Self.offer).utf8 {
                    try await wire.send([byte])
                }
                #expect(try await wire.reply().status == 200)
            }
        }
    }

    @Test("finds its body unchanged, even where a chunk begins like an offer")
    func chunk() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            let chunks = [#"{"slug": ""#, #"upgrade", "name": "Bell"}"#, ""].map {
                "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n"
            }
            try await wire.send(
                GatewayWorld.request("POST", "/v1/apps", headers: Self.offer + ["Transfer-Encoding: chunked"])
                    + chunks.joined())
            let reply = try await wire.reply()
            #expect(reply.status == 201, "\(reply.text)")
            #expect(try reply.member("slug") == "upgrade")
        }
    }
}
