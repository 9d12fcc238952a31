import JSON
import Postgres
import Requests
import Testing

@Suite("Updates of items")
struct ServedUpdateTests {
    private static let anduct = ItemApp.path + "/items/anduct/updates"
    private static let stream = ItemApp.path + "/updates?producer=ticker"

    /// The fields of an item, as `name=text`, with `-` for one that was removed.
    private static func fields(_ world: GatewayWorld, of item: String = "anduct") async throws -> String {
        let sql = """
            SELECT coalesce(string_agg(f.name || '=' || coalesce(f.text, '-'), ' ' ORDER BY f.name), '')
            FROM items, unnest(field_names, field_texts) AS f (name, text) WHERE items.name = '\(item)'
            """
        return try await world.pool.read(Query(Statement(unprepared: sql))).one(String.init)
    }

    private static func line(_ number: Int, _ fields: String, item: String = "anduct") -> String {
        #"{"line": \#(number), "item": "\#(item)", "fields": \#(fields)}"#
    }

    private static func answers(_ reply: WireReply) throws -> [JSONObject] { try answers(reply.body) }

    private static func answers(_ bytes: [UInt8]) throws -> [JSONObject] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            try #require(try JSONReader.read(Array(line)).object)
        }
    }

    private static func through(_ answers: [JSONObject]) -> Int64? { answers.last?["through"]?.integer }

    @Test("keep strings, numbers and booleans as their text, and remove fields with null")
    func texts() async throws {
        try await ItemApp.with { world in
            try await world.expect(204, "POST", Self.anduct, #"{"price": 2.90, "name": "Anduct", "halted": false}"#)
            #expect(try await Self.fields(world) == "halted=false name=Anduct price=2.90")
            try await world.expect(204, "POST", Self.anduct, #"{"price": "2.84", "halted": null}"#)
            #expect(try await Self.fields(world) == "halted=- name=Anduct price=2.84")
            try await world.expect(204, "POST", ItemApp.path + "/items/%C3%BCber%20%25/updates", #"{"a": 1}"#)
            #expect(try await Self.fields(world, of: "über %") == "a=1")
        }
    }

    private static let refusals: [(item: String, body: String, code: ProblemCode, pointer: String?)] = [
        ("a%2Fb", "{}", .invalidValue, nil), ("a%7Bb", "{}", .invalidValue, nil), ("a%01", "{}", .invalidValue, nil),
        (String(repeating: "n", count: 769), "{}", .valueTooLong, nil), ("a", "[]", .wrongType, ""),
        ("a", "", .malformedJSON, nil), ("a", #"{"a": 1, "a": 2}"#, .duplicateMember, nil),
        ("a", #"{"b": []}"#, .wrongType, "/b"), ("a", #"{"b/c": 1}"#, .invalidValue, "/b~1c"),
        ("a", #"{"": 1}"#, .invalidValue, "/"), ("a", #"{"b": "\u0000"}"#, .nulCharacter, nil),
        ("a", #"{"b": "\#(String(repeating: "x", count: 16_384))"}"#, .tooMany, ""),
    ]

    @Test("refuse malformed names and values, and change nothing")
    func malformed() async throws {
        try await ItemApp.with { world in
            for (item, body, code, pointer) in Self.refusals {
                try await world.refuse(code, "POST", "\(ItemApp.path)/items/\(item)/updates", body, pointer: pointer)
            }
            #expect(try await world.pool.number("SELECT count(*) FROM items WHERE seq > 0") == 0)
        }
    }

    @Test("take effect once for each idempotency key, which belongs to one item")
    func idempotent() async throws {
        try await ItemApp.with { world in
            let once = ["Idempotency-Key: one"]
            let first = try await world.expect(204, "POST", Self.anduct, #"{"a": 1}"#, headers: once)
            #expect(first.header("idempotency-replayed") == nil)
            let again = try await world.expect(204, "POST", Self.anduct, #"{"a": 1}"#, headers: once)
            #expect(again.header("idempotency-replayed") == "true")
            #expect(try await world.pool.number("SELECT seq FROM items") == 1)
            try await world.refuse(.idempotencyMismatch, "POST", Self.anduct, #"{"a": 2}"#, headers: once)
            try await world.refuse(
                .idempotencyMismatch, "POST", ItemApp.path + "/items/other/updates", #"{"a": 1}"#, headers: once)
        }
    }

    @Test("need the scope nodes, and an app whose items are on")
    func permission() async throws {
        try await ItemApp.with { world in
            let (nodes, devices) = (try await world.key(scope: "nodes"), try await world.key(scope: "devices"))
            for (path, body) in [(Self.anduct, #"{"a": 1}"#), (Self.stream, Self.line(1, #"{"a": 1}"#))] {
                try await world.expect(403, "forbidden", as: devices, "POST", path, body)
                try await world.expect(401, "unauthorized", as: try ItemApp.token(of: "ann"), "POST", path, body)
                #expect(try await world.call("POST", path, body, key: nodes).status < 300)
            }
            try await world.expect(200, "PATCH", ItemApp.path, #"{"triggers": {"enabled": false}}"#)
            try await world.refuse(.disabled, "POST", Self.anduct, #"{"a": 1}"#)
            try await world.refuse(.disabled, "POST", Self.stream, Self.line(2, #"{"a": 1}"#))
        }
    }
}

// The streams of producers.
extension ServedUpdateTests {
    @Test("in a stream are taken in order, and refused lines are reported and count as taken")
    func stream() async throws {
        try await ItemApp.with { world in
            let body = [
                Self.line(3, #"{"a": 1}"#), "", Self.line(4, "[]"), Self.line(4, #"{"a": 2}"#), "not json",
                #"{"line": 0}"#, Self.line(9, #"{"a": 3}"#) + "\r", Self.line(10, #"{"a": 4}"#, item: "a/b"),
            ].joined(separator: "\n")
            let reply = try await world.expect(200, "POST", Self.stream, body)
            #expect(reply.header("content-type") == "application/x-ndjson")
            let answers = try Self.answers(reply)
            #expect(Self.through(answers) == 10)
            let refused = answers.filter { $0["code"] != nil }
            #expect(
                refused.map { "\($0["code"]?.string ?? "") \($0["line"]?.integer ?? 0)" }.sorted() == [
                    "invalid_value 0", "invalid_value 10", "line_not_rising 4", "malformed_json 0", "wrong_type 4",
                ])
            #expect(refused.allSatisfy { $0["detail"]?.string?.hasSuffix(".") == true })
            #expect(try await Self.fields(world) == "a=3")
            #expect(try await world.pool.number("SELECT seq FROM items WHERE name = 'anduct'") == 2)
        }
    }

    @Test("in a stream that is repeated, from any line on, are lost nowhere and repeated nowhere")
    func repeated() async throws {
        try await ItemApp.with { world in
            let lines = (1...40).map { Self.line($0, $0 == 7 ? "[]" : #"{"a": \#($0)}"#) }
            let first = try Self.answers(
                try await world.expect(200, "POST", Self.stream, lines[..<20].joined(separator: "\n")))
            #expect(Self.through(first) == 20 && first.contains { $0["line"] == 7 })
            let second = try Self.answers(
                try await world.expect(200, "POST", Self.stream, lines.joined(separator: "\n")))
            #expect(Self.through(second) == 40)
            #expect(!second.contains { $0["line"] != nil }, "lines that were taken are skipped silently")
            #expect(try await world.pool.number("SELECT seq FROM items") == 39)
            let earlier = try Self.answers(try await world.expect(200, "POST", Self.stream, lines[3]))
            #expect(Self.through(earlier) == 40 && earlier.count == 1)
            let other = ItemApp.path + "/updates?producer=other"
            #expect(Self.through(try Self.answers(try await world.expect(200, "POST", other, lines[3]))) == 4)
            #expect(try await world.pool.number("SELECT seq FROM items") == 40)
        }
    }

    @Test("in a stream without lines answer how far the producer came")
    func empty() async throws {
        try await ItemApp.with { world in
            func ask(_ body: String) async throws -> [JSONObject] {
                try Self.answers(try await world.expect(200, "POST", Self.stream, body))
            }
            #expect(try await ask("").map { $0["through"]?.integer } == [0])
            #expect(Self.through(try await ask(Self.line(12, #"{"a": 1}"#))) == 12)
            #expect(try await ask("\n \n").map { $0["through"]?.integer } == [12])
            for query in ["", "?producer=", "?producer=%01", "?producer=" + String(repeating: "p", count: 257)] {
                try await world.refuse(.invalidQuery, "POST", ItemApp.path + "/updates" + query, "")
            }
        }
    }

    @Test("in a stream are answered after their commit, and end when the items are switched off")
    func parts() async throws {
        try await ItemApp.with { world in
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", Self.stream, headers: ["Transfer-Encoding: chunked"]))
            func send(_ line: String) async throws -> [JSONObject] {
                let text = line + "\n"
                try await wire.send(String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
                return try Self.answers(try #require(try await wire.chunk()))
            }
            #expect(try await wire.head().status == 200)
            for number in 1...3 {
                #expect(Self.through(try await send(Self.line(number, #"{"a": \#(number)}"#))) == Int64(number))
                #expect(try await Self.fields(world) == "a=\(number)")
            }
            try await world.expect(200, "PATCH", ItemApp.path, #"{"triggers": {"enabled": false}}"#)
            let end = try await send(Self.line(4, #"{"a": 4}"#))
            #expect(Self.through(end) == 3 && end.last?["code"] == "disabled")
            #expect(try await wire.chunk() == nil)
            #expect(try await Self.fields(world) == "a=3")
        }
    }

    @Test("in a stream longer than a batch are all taken, and a line that is too long is refused")
    func long() async throws {
        try await ItemApp.with { world in
            let long = #"{"line": 2501, "item": "a", "fields": {"a": "\#(String(repeating: "x", count: 70_000))"}}"#
            let lines = (1...2_500).map { Self.line($0, #"{"a": \#($0)}"#, item: "i\($0 % 7)") } + [long]
            let answers = try Self.answers(
                try await world.expect(200, "POST", Self.stream, lines.joined(separator: "\n")))
            #expect(Self.through(answers) == 2_500)
            #expect(answers.compactMap { $0["code"]?.string } == ["line_too_long"])
            #expect(try await world.pool.number("SELECT sum(seq)::bigint FROM items") == 2_500)
        }
    }
}
