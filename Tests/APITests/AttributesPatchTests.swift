import Model
import Testing

@Suite("A patch of an installation's attributes")
struct AttributesPatchTests {
    private static func object(_ numbers: Range<Int>, _ value: String) -> String {
        "{" + numbers.map { "\"m\(10_000 + $0)\":\(value)" }.joined(separator: ",") + "}"
    }

    private static func patch(_ attributes: String) -> String { #"{"attributes": \#(attributes)}"# }

    @Test("fails before any database query with 40,000 members, even if all are removals", arguments: ["1", "null"])
    func isRefusedEarly(value: String) async throws {
        try await withGateway(database: try await GatewayDatabase.missing(), pool: .impatient) { world in
            let path = "/v1/apps/tower/devices/phone"
            let body = Self.patch(Self.object(0..<40_000, value))
            let reply = try await world.refuse(.valueTooLong, "PATCH", path, body, pointer: "/attributes")
            #expect(reply.text.contains("40000") && reply.text.contains("1024"))
            let long = Self.patch(#"{"a": "\#(String(repeating: "x", count: 16_384))"}"#)
            try await world.refuse(.valueTooLong, "PATCH", path, long, pointer: "/attributes")
        }
    }

    @Test("changes registrations of all eleven kinds, and removes up to 1,024 attributes at once")
    func elevenKinds() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/phone"
            for (number, kind) in TokenKind.allCases.enumerated() {
                let body = GatewayWorld.registration(number, #", "kind": "\#(kind.name)", "attributes": {"old": 1}"#)
                try await world.expect(201, "PUT", path, body)
            }
            let added = try await world.expect(200, "PATCH", path, Self.patch(Self.object(0..<700, "1"))).json()
            #expect(added["attributes"]?.object?.count == 701)
            try await world.refuse(
                .valueTooLong, "PATCH", path, Self.patch(Self.object(700..<1_024, "1")), pointer: "/attributes")
            let removed = try await world.expect(200, "PATCH", path, Self.patch(Self.object(0..<1_024, "null"))).json()
            let kinds = removed["registrations"]?.array ?? []
            #expect(kinds.count == TokenKind.allCases.count)
            #expect(kinds.allSatisfy { $0.object?["attributes"] == ["old": 1] })
        }
    }
}
