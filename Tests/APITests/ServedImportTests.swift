import JSON
import Listener
import Postgres
import TestSupport
import Testing

@Suite("The import API")
struct ServedImportTests {
    private static func line(_ number: Int, installation: String? = nil) -> String {
        let name = installation ?? "i\(number)"
        return #"{"installation": "\#(name)", "provider": "apns", "token": "\#(GatewayWorld.token(number))"}"#
    }

    private static func answers(_ bytes: [UInt8]) throws -> [JSONObject] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            try #require(try JSONReader.read(Array(line)).object)
        }
    }

    private static func count(_ world: GatewayWorld) async throws -> Int {
        try await world.pool.number("SELECT count(*) FROM registrations")
    }

    @Test("registers the valid lines, and reports the invalid ones by number")
    func mixed() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let body = [
                Self.line(1), "", "not json", Self.line(2) + "\r", #"{"installation": "x", "provider": "apns"}"#,
                Self.line(3, installation: "i2"), #"{"installation": "", "provider": "apns", "token": "00"}"#,
                String(repeating: "x", count: 70_000), Self.line(4),
            ].joined(separator: "\n")
            let reply = try await world.expect(200, "POST", app + "/devices/import", body)
            #expect(reply.header("content-type") == "application/x-ndjson")
            let answers = try Self.answers(reply.body)
            let refused = answers.filter { $0["line"] != nil }
            #expect(refused.compactMap { $0["line"]?.integer } == [3, 5, 7, 8])
            #expect(
                refused.compactMap { $0["code"]?.string } == [
                    "malformed_json", "missing_member", "invalid_value", "line_too_long",
                ])
            #expect(refused.compactMap { $0["pointer"]?.string } == ["/token", "/installation"])
            let end = try #require(answers.last)
            #expect(end["done"] == true)
            #expect(end["resume_after"] == 9)
            #expect(end["accepted"] == 4)
            #expect(end["refused"] == 4)
            #expect(end["created"] == 3)
            #expect(end["replaced"] == 1)
            #expect(try await Self.count(world) == 3)
            let read = try await world.expect(200, "GET", app + "/devices/i2")
            #expect(try read.member("token") == "…0003")
        }
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static let otherForms: [(body: [UInt8], sentences: [String])] = [
        (bytes("[\n" + line(1) + ",\n" + line(2) + "\n]"), ["This is a JSON array.", part, part]),
        (bytes("[" + line(1) + "]"), ["This is a JSON array."]),
        (bytes("{\n  \"installation\": \"x\",\n  \"provider\" : \"apns\"\n}"), [part, part, part, part]),
        (bytes("installation,provider,token\ni1,apns,00ff\n"), ["This looks like CSV.", "This looks like CSV."]),
        (
            bytes("\u{feff}\"installation\";\"token\"\r\n\"i1\";\"00ff\"\r\n"),
            ["This looks like CSV.", "This looks like CSV."]
        ),
        (Array(line(1).utf16.flatMap { [UInt8(truncatingIfNeeded: $0), 0] }), ["This is UTF-16."]),
        ([0xfe, 0xff] + line(1).utf16.flatMap { [0, UInt8(truncatingIfNeeded: $0)] }, ["This is UTF-16."]),
        ([0x1f, 0x8b, 8, 0, 0, 0, 0, 0], ["This is compressed (gzip)."]),
        (bytes("PK\u{3}\u{4}"), ["This is compressed (zip)."]),
        (bytes("hello"), ["This is not a JSON object."]), (bytes("null"), ["This is not a JSON object."]),
        (bytes(String(repeating: "x", count: 70_000)), ["A line may have at most 65536 bytes."]),
    ]
    private static let part = "This line has only a part of a JSON object."

    @Test("says what a body in another form is, and what to send", arguments: 0..<otherForms.count)
    func otherForm(place: Int) async throws {
        let (body, sentences) = Self.otherForms[place]
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", path, headers: ["Content-Length: \(body.count)"]))
            try await wire.send(body)
            let refused = try Self.answers(try await wire.reply().body).compactMap { $0["detail"]?.string }
            #expect(refused.count >= sentences.count)
            for (detail, sentence) in zip(refused, sentences) {
                #expect(detail.hasPrefix(sentence) && detail.contains("An import is NDJSON"), "\(detail)")
            }
        }
    }

    @Test("refuses lines with one topic too many for the app, and imports the others")
    func tooManyTopics() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.pool.script(
                """
                INSERT INTO routes (app_id, provider, environment, topic, number)
                SELECT apps.id, 1, 1, 't' || n, n FROM apps, generate_series(1, 1000) AS n
                """)
            let lines = ["t1", "t1001", "t1000"].enumerated().map { number, topic in
                #"{"installation": "i\#(number)", "provider": "apns", "topic": "\#(topic)", "token": "\#(GatewayWorld.token(number))"}"#
            }
            let reply = try await world.expect(200, "POST", app + "/devices/import", lines.joined(separator: "\n"))
            let answers = try Self.answers(reply.body)
            let refused = answers.filter { $0["line"] != nil }
            #expect(refused.compactMap { $0["line"]?.integer } == [2])
            #expect(refused.compactMap { $0["code"]?.string } == ["too_many_topics"])
            #expect(refused.compactMap { $0["pointer"]?.string } == ["/topic"])
            #expect(answers.last?["accepted"] == 2)
            let one = #"{"provider": "apns", "topic": "t1001", "token": "\#(GatewayWorld.token(9))"}"#
            try await world.refuse(.tooManyTopics, "PUT", app + "/devices/i9", one, pointer: "/topic")
        }
    }

    @Test("answers each part while the body is still being sent")
    func streams() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", path, headers: ["Transfer-Encoding: chunked"]))
            #expect(try await wire.head().status == 200)
            for number in 1...3 {
                let text = Self.line(number) + "\n{}\n"
                try await wire.send(String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
                var answers: [JSONObject] = []
                while answers.last?["resume_after"] == nil {
                    answers += try Self.answers(try #require(try await wire.chunk()))
                }
                #expect(answers.first?["line"] == .number(.whole(Int64(number * 2))))
                #expect(answers.last?["resume_after"] == .number(.whole(Int64(number * 2))))
                #expect(answers.last?["accepted"] == .number(.whole(Int64(number))))
                #expect(try await Self.count(world) == Int(number), "each part is committed before it is answered")
            }
            try await wire.send("0\r\n\r\n")
            let end = try Self.answers(try #require(try await wire.chunk()))
            #expect(end.last?["done"] == true)
            #expect(try await wire.chunk() == nil)
        }
    }

    @Test("imports thousands of lines, and changes nothing when they are repeated")
    func large() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        limits.batchLinesMax = 100
        try await withGateway(limits: limits) { world in
            let path = try await world.makeApp() + "/devices/import"
            let body = (1...5_000).map { Self.line($0) }.joined(separator: "\n") + "\n"
            let first = try Self.answers(try await world.expect(200, "POST", path, body).body)
            #expect(first.last?["created"] == 5_000)
            let points = first.compactMap { $0["resume_after"]?.integer }
            #expect(points == points.sorted())
            #expect(points.count > 50)
            let second = try Self.answers(try await world.expect(200, "POST", path, body).body)
            #expect(second.last?["unchanged"] == 5_000)
            #expect(try await Self.count(world) == 5_000)
        }
    }

    @Test("resumes a cut-off import at the last resume point, with the result of a whole import")
    func resumed() async throws {
        var limits = GatewayLimits()
        limits.batchLinesMax = 50
        try await withGateway(limits: limits) { world in
            // Duplicates, moved tokens and refused lines occur on both sides of the cut.
            let lines = (1...1_000).map { number in
                number % 97 == 0 ? "not json" : Self.line(number % 300, installation: "i\(number % 400)")
            }
            let cut = try await world.makeApp("cut")
            let wire = try Wire(port: world.port)
            try await wire.send(
                GatewayWorld.request("POST", cut + "/devices/import", headers: ["Transfer-Encoding: chunked"]))
            _ = try await wire.head()
            // The cut is in the middle of a line and of a chunk.
            let first = lines[..<600].joined(separator: "\n") + "\n" + lines[600].prefix(20)
            try await wire.send(String(first.utf8.count + 1_000, radix: 16) + "\r\n" + first)
            var resumeAfter = 0
            while resumeAfter < 500 {
                let answers = try Self.answers(try #require(try await wire.chunk()))
                resumeAfter = answers.compactMap { $0["resume_after"]?.integer }.last.map { Int($0) } ?? resumeAfter
            }
            await wire.endSending()
            _ = await wire.isEnded()
            let remaining = lines[resumeAfter...].joined(separator: "\n")
            let second = try await world.expect(200, "POST", cut + "/devices/import", remaining)
            #expect(try Self.answers(second.body).last?["resume_after"] == .number(.whole(Int64(1_000 - resumeAfter))))

            let whole = try await world.makeApp("whole")
            try await world.expect(200, "POST", whole + "/devices/import", lines.joined(separator: "\n"))
            let all = try await world.pool.number("SELECT count(*) FROM registrations")
            let distinct = try await world.pool.number(
                "SELECT count(DISTINCT (installation, token, state)) FROM registrations")
            #expect(all == 2 * distinct)
            #expect(distinct > 350)
        }
    }

    @Test("limits the body bytes of imports, and leaves memory to other requests and apps")
    func budget() async throws {
        var limits = GatewayLimits()
        limits.importBytes = 1_000
        limits.bodyBytesMax = 1_000
        limits.bodiesInFlightBytesMax = 8_000
        limits.importsInFlightBytesMax = 4_000
        try await withGateway(limits: limits) { world in
            let path = try await world.makeApp() + "/devices/import"
            var running: [Wire] = []
            for _ in 0..<2 {
                let wire = try Wire(port: world.port)
                try await wire.send(GatewayWorld.request("POST", path, headers: ["Transfer-Encoding: chunked"]))
                #expect(try await wire.head().status == 200)
                running.append(wire)
            }
            let refused = try await world.refuse(.shareUsedUp, "POST", path, Self.line(1))
            #expect(refused.header("retry-after") == "1")
            let other = try await world.makeApp("belfry") + "/devices/import"
            try await world.expect(200, "POST", other, Self.line(1))
            let padding = String(repeating: " ", count: 900)
            try await world.expect(201, "POST", "/v1/apps", #"{"slug": "next", "name": "Next"}"# + padding)
            // One import ends well and one breaks off: both return the bytes that they held.
            try await running[0].send("0\r\n\r\n")
            while try await running[0].chunk() != nil {}
            try await Self.runs(2, at: path, world, others: 1)
            await running[1].endSending()
            _ = await running[1].isEnded()
            try await Self.runs(2, at: path, world, others: 0)
        }
    }

    @Test("counts an import's bytes against the budget of all bodies")
    func countsAmongBodies() async throws {
        var limits = GatewayLimits()
        limits.importBytes = 1_000
        limits.bodyBytesMax = 1_000
        limits.bodiesInFlightBytesMax = 1_500
        try await withGateway(limits: limits) { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", path, headers: ["Transfer-Encoding: chunked"]))
            #expect(try await wire.head().status == 200)
            let next = #"{"slug": "next", "name": "Next"}"# + String(repeating: " ", count: 900)
            try await world.refuse(.overloaded, "POST", "/v1/apps", next)
            try await world.refuse(.overloaded, "POST", path, Self.line(1))
        }
    }

    /// Waits until so many imports can run at once.
    private static func runs(_ count: Int, at path: String, _ world: GatewayWorld, others: Int) async throws {
        try await eventually("a share to be returned") {
            var running: [Wire] = []
            for _ in others..<count {
                let wire = try Wire(port: world.port)
                try await wire.send(GatewayWorld.request("POST", path, headers: ["Transfer-Encoding: chunked"]))
                guard try await wire.head().status == 200 else { return false }
                running.append(wire)
            }
            for wire in running {
                try await wire.send("0\r\n\r\n")
                while try await wire.chunk() != nil {}
            }
            return true
        }
    }

    @Test("stops when the app is deleted, and reports how far it came", arguments: [false, true])
    func appGone(byOwner: Bool) async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", path, headers: ["Transfer-Encoding: chunked"]))
            func send(_ lines: [String]) async throws {
                let text = lines.joined(separator: "\n") + "\n"
                try await wire.send(String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
            }
            _ = try await wire.head()
            try await send([Self.line(1), Self.line(2)])
            #expect(try Self.answers(try #require(try await wire.chunk())).last?["resume_after"] == 2)
            if byOwner {
                try await world.expect(202, "DELETE", "/v1/apps/tower")
            } else {
                _ = try await world.pool.run(Query(Statement(unprepared: "DELETE FROM apps")))
            }
            try await send(["{}", Self.line(3)])
            let answers = try Self.answers(try #require(try await wire.chunk()))
            #expect(answers.compactMap { $0["line"]?.integer } == [3])
            #expect(answers.last?["done"] == false)
            #expect(answers.last?["resume_after"] == 3)
            #expect(answers.last?["code"] == "unknown_app")
            #expect(try await wire.chunk() == nil)
        }
    }

    @Test("stops when the client falls silent, and says what was imported and where to resume")
    func fallsSilent() async throws {
        var limits = GatewayLimits()
        limits.bodyPauseMax = .milliseconds(500)
        try await withGateway(limits: limits) { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", path, headers: ["Transfer-Encoding: chunked"]))
            _ = try await wire.head()
            let text = Self.line(1) + "\n"
            try await wire.send(String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
            #expect(try Self.answers(try #require(try await wire.chunk())).last?["resume_after"] == 1)
            let end = try #require(try await wire.chunk())
            let last = try #require(try Self.answers(end).last)
            #expect(last["done"] == false)
            #expect(last["code"] == "request_timeout")
            #expect(last["resume_after"] == 1)
            let detail = try #require(last["detail"]?.string)
            #expect(detail.hasSuffix("The lines up to `resume_after` are imported; continue after that line."))
            #expect(!detail.lowercased().contains("nothing was changed"))
            #expect(try await Self.count(world) == 1)
        }
    }

    @Test("stops when the key is revoked, and reports how far it came")
    func keyRevoked() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let made = try await world.expect(201, "POST", app + "/keys", #"{"name": "i", "scopes": ["devices"]}"#)
            let (id, key) = (try made.member("id")?.string, try made.member("key")?.string)
            let wire = try Wire(port: world.port)
            try await wire.send(
                GatewayWorld.request(
                    "POST", app + "/devices/import", key: key, headers: ["Transfer-Encoding: chunked"]))
            func send(_ text: String) async throws -> [JSONObject] {
                try await wire.send(String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
                return try Self.answers(try #require(try await wire.chunk()))
            }
            _ = try await wire.head()
            #expect(try await send(Self.line(1) + "\n").last?["resume_after"] == 1)
            try await world.expect(204, "DELETE", app + "/keys/" + (try #require(id)))
            let answers = try await send(Self.line(2) + "\n" + Self.line(3) + "\n")
            #expect(answers.last?["done"] == false)
            #expect(answers.last?["resume_after"] == 1)
            #expect(answers.last?["code"] == "unauthorized")
            #expect(try await wire.chunk() == nil)
            #expect(try await Self.count(world) == 1)
        }
    }

    @Test("refuses an unknown app or a missing key as a whole, and accepts an empty body")
    func edges() async throws {
        try await withGateway { world in
            try await world.refuse(.unknownApp, "POST", "/v1/apps/none/devices/import", Self.line(1))
            #expect(try await world.call("POST", "/v1/apps/none/devices/import", "{}", key: nil).status == 401)
            let path = try await world.makeApp() + "/devices/import"
            let empty = try Self.answers(try await world.expect(200, "POST", path, "").body)
            #expect(empty.count == 1)
            #expect(empty.last?["done"] == true)
            #expect(empty.last?["resume_after"] == 0)
        }
    }

    @Test("keeps the complete lines of a body that breaks off")
    func brokenOff() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/import"
            let wire = try Wire(port: world.port)
            let body = [Self.line(1), Self.line(2), Self.line(3)].joined(separator: "\n")
            let request = GatewayWorld.request("POST", path, body)
            try await wire.send(String(request.dropLast(10)))
            await wire.endSending()
            _ = await wire.isEnded()
            try await eventually("the complete lines to be registered") { try await Self.count(world) == 2 }
            #expect(try await world.call("GET", "/healthz", key: nil).status == 200)
        }
    }
}
