import Postgres
import Testing

@Suite("Bad input at a running gateway")
struct BadInputTests {
    private static let fixed: [(String, [BadInput])] = [
        ("first lines", BadInput.firstLines), ("header fields", BadInput.headerFields), ("lengths", BadInput.lengths),
        ("malformed paths", BadInput.malformedPaths), ("strange paths", BadInput.strangePaths),
        ("unknown things", BadInput.unknown), ("planned routes", BadInput.planned), ("methods", BadInput.methods),
        ("headers", BadInput.headers),
        ("Idempotency-Keys", BadInput.idempotencyKeys), ("cursors", BadInput.cursors),
        ("queries", BadInput.queries), ("JSON", BadInput.json), ("encodings", BadInput.encodings),
        ("apps", BadInput.apps), ("devices", BadInput.devices),
        ("messages", BadInput.messages), ("secrets", BadInput.secrets),
    ]

    @Test("gets one answer with a stable code and a helpful sentence, and changes nothing")
    func table() async throws {
        try await withGateway { world in
            let keys = try await Self.fill(world)
            let others = BadInput.others(ofBelfry: keys.belfry, devicesOnly: keys.phones, revoked: keys.revoked)
            let before = try await world.contents()
            var count = 0
            for (_, rows) in Self.fixed + [("other keys", others)] {
                for row in rows { try await row.check(port: world.port) }
                count += rows.count
            }
            #expect(count > 300, "the table has \(count) rows")
            #expect(try await world.contents() == before, "refused input changes nothing")
            try await world.expect(200, "GET", "/v1/apps")
            // The comparison works: it notices one changed member of one row.
            let changed = GatewayWorld.registration(1, #", "locale": "fr-CA""#)
            try await world.expect(200, "PUT", "/v1/apps/tower/devices/phone", changed)
            #expect(try await world.contents() != before, "the comparison notices one changed member")
        }
    }

    @Test("appears in the test table under a unique name")
    func names() {
        let names = Self.fixed.flatMap(\.1).map(\.name)
        #expect(Set(names).count == names.count, "\(Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys)")
    }

    private static func fill(_ world: GatewayWorld) async throws -> (belfry: String, phones: String, revoked: String) {
        let (tower, belfry) = (try await world.makeApp(), try await world.makeApp("belfry"))
        try await world.expect(201, "PUT", tower + "/devices/phone", GatewayWorld.registration(1))
        func key(_ app: String, _ name: String, _ scopes: String) async throws -> (id: String, text: String) {
            let made = try await world.expect(
                201, "POST", app + "/keys", #"{"name": "\#(name)", "scopes": [\#(scopes)]}"#)
            return (try #require(try made.member("id")?.string), try #require(try made.member("key")?.string))
        }
        let revoked = try await key(tower, "gone", #""devices""#)
        try await world.expect(204, "DELETE", tower + "/keys/\(revoked.id)")
        return (
            try await key(belfry, "ringer", #""admin""#).text, try await key(tower, "phones", #""devices""#).text,
            revoked.text
        )
    }
}

extension GatewayWorld {
    /// Every row of every table as text, except the time of a key's last use, which each request changes.
    func contents() async throws -> [String] {
        let tables = try await pool.read(
            Query(Statement(unprepared: "SELECT relname::text FROM pg_stat_user_tables ORDER BY relname")))
        var contents: [String] = []
        for table in try tables.map(String.init) {
            let rows = try await pool.read(
                Query(
                    Statement(
                        unprepared:
                            "SELECT coalesce(string_agg(r, E'\\n' ORDER BY r), '') FROM (SELECT (to_jsonb(t) - 'last_used_at')::text AS r FROM \(table) t) s"
                    )))
            contents.append("\(table): \(try rows.one(String.init))")
        }
        return contents
    }
}
