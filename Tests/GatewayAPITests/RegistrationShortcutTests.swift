import Calendar
import GatewayAPI
import JSON
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Postgres
import PushModel
import Reactor
import Registry
import Store
import Testing

@Suite("The shortcut of registrations")
struct RegistrationShortcutTests {
    @Test("answers by itself what came whole and is right, new or known")
    func taken() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await withDoor(world) { door in
                try await door.come(ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1)))
                try await door.come(ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1)))
                let events = try await door.events(withAnswers: 2)
                #expect(door.journal.words == ["201", "200"], "nobody else heard of them")
                guard case .answered(_, let headers, let body) = events.first(where: { $0.status == 201 }) else {
                    return
                }
                #expect(headers["location"] == app + "/devices/phone")
                #expect(headers["content-type"] == "application/json")
                #expect(headers["content-length"] == "\(body.utf8.count)")
                let date = try #require(headers["date"])
                #expect(HTTPDate.parse(date, now: Clocks.wallNow()) != nil)
            }
            let device = try await world.expect(200, "GET", app + "/devices/phone")
            #expect(try device.member("provider")?.string == "apns")
        }
    }

    @Test("hands on what asks for more than the usual, as it came", arguments: Unusual.all)
    func handedOn(unusual: Unusual) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await withDoor(world) { door in
                let parts = unusual.parts(app)
                try await door.come(parts)
                #expect(door.journal.all.filter { $0 != .asksToRead } == parts.map(DoorEvent.handedOn))
            }
        }
    }

    @Test("hands on what comes in pieces, whichever they are")
    func pieces() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let whole = ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))
            for cut in 1..<whole.count {
                try await withDoor(world) { door in
                    try await door.come(Array(whole[..<cut]))
                    try await door.come(Array(whole[cut...]))
                    #expect(door.journal.all.filter { $0 != .asksToRead } == whole.map(DoorEvent.handedOn))
                }
            }
        }
    }

    @Test("puts a body together that the parser cut in two")
    func twoBuffers() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await withDoor(world) { door in
                let body = GatewayWorld.registration(1)
                var parts = ShortcutDoor.put(app + "/devices/phone", body)
                parts[1] = .body(ByteBuffer(string: String(body.prefix(10))))
                parts.insert(.body(ByteBuffer(string: String(body.dropFirst(10)))), at: 2)
                try await door.come(parts)
                _ = try await door.events(withAnswers: 1)
                #expect(door.journal.words == ["201"])
            }
        }
    }

    @Test("answers in the order of the requests, whoever answers")
    func order() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let puts = (1...3).map {
                ShortcutDoor.put(app + "/devices/phone\($0)", GatewayWorld.registration($0))
            }
            try await withDoor(world) { door in
                // What stands behind a request that others answer is theirs too.
                try await door.come(puts[0] + puts[1] + ShortcutDoor.get("/healthz") + puts[2])
                try await eventually("all of it to be handed on") { door.journal.words.count == 7 }
                #expect(door.journal.words == ["201", "201", "GET", "end", "PUT", "body", "end"])
            }
        }
    }

    @Test("lets nothing overtake an answer that is on its way: no end of the connection, no fault")
    func endings() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await withDoor(world) { door in
                try await door.come(ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))) {
                    pipeline in
                    pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
                    pipeline.close(mode: .input, promise: nil)
                    pipeline.fireErrorCaught(HTTPParserError.invalidMethod)
                    pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
                }
                try await eventually("all of it") { door.journal.words.count == 5 }
                #expect(door.journal.words == ["201", "quiesce", "ends input", "error", "input ended"])
            }
        }
    }

    @Test("registers also where the client is gone before its answer")
    func gone() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await withDoor(world) { door in
                try await door.come(ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))) {
                    pipeline in
                    pipeline.close(mode: .all, promise: nil)
                }
                #expect(door.journal.words == [])
            }
            try await eventually("the registration") {
                try await world.call("GET", app + "/devices/phone").status == 200
            }
        }
    }

    @Test("reads no more than it can hold behind an answer that is on its way")
    func bounded() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await withDoor(world) { door in
                let crowd = (1...20).flatMap {
                    ShortcutDoor.put(app + "/devices/p\($0)", GatewayWorld.registration($0))
                }
                try await door.come(crowd) { pipeline in pipeline.read() }
                _ = try await door.events(withAnswers: 20)
                let words = door.journal.all.map(\.word).drop { $0 == "read" }
                #expect(words.filter { $0 == "201" }.count == 20)
                // Asked for at once, it is read when few enough are left.
                let answersBefore = words.prefix { $0 != "read" }.count
                #expect(answersBefore > 10 && words.contains("read"))
            }
        }
    }

    @Test("tells as every route does that the database is away")
    func fault() async throws {
        let missing = try await GatewayDatabase.missing()
        try await withGateway { world in
            let app = try await world.makeApp()
            let loop = try ReactorLoop(name: "shortcut-test")
            let away = PostgresPool(missing, pool: .impatient, loop: loop)
            try await withDoor(world, committer: GroupCommitter(registry: Stores(pool: away).registry)) { door in
                try await door.come(ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1)))
                let events = try await door.events(withAnswers: 1)
                guard case .answered(let status, let headers, let body) = events.last else { return }
                #expect(status == 503)
                #expect(headers["content-type"] == "application/problem+json")
                #expect(headers["retry-after"] == "5")
                #expect(body.contains(#""code":"database_unavailable""#))
            }
            await away.close()
            loop.stop()
        }
    }

    @Test("answers as the long way does, byte for byte but for the time")
    func sameAnswers() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let said = [
                GatewayWorld.registration(1, #", "tags": ["a\u00e9"], "locale": "fr", "badge": 4"#),
                GatewayWorld.registration(1, #", "user": "u", "attributes": {"n": 1.50}"#),
                GatewayWorld.registration(2), #"{"provider": "fcm", "token": "a:b"}"#,
                #"{"provider": "apns", "token": "zz"}"#, #"{"provider": "apns"}"#, "[", "{}",
            ]
            for (place, body) in said.enumerated() {
                // Names and tokens of their own, of one length: a token that moves is told so.
                let short = try await register(world, "\(app)/devices/one%20phone", body, isLong: false)
                let other = body.replacing("0000", with: "1111").replacing("a:b", with: "c:d")
                let long = try await register(world, "\(app)/devices/two%20phone", other, isLong: true)
                #expect(short.status == long.status, "\(place)")
                #expect(Set(short.headers.map(\.name)) == Set(long.headers.map(\.name)), "\(place)")
                #expect(neutral(short.text) == neutral(long.text), "\(place)")
                #expect(
                    short.header("location")?.replacing("/one%", with: "/two%") == long.header("location"), "\(place)")
            }
        }
    }

    @Test("keeps the order of a crowd of requests on one connection")
    func pipelined() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let wire = try Wire(port: world.port)
            var said = ""
            var expected: [String] = []
            for number in 1...60 {
                let path = "\(app)/devices/p\(number)"
                switch number % 4 {
                case 0: said += GatewayWorld.request("GET", "/healthz", key: nil)
                case 1: said += GatewayWorld.request("PUT", path, "{", headers: ["X-Number: \(number)"])
                default: said += GatewayWorld.request("PUT", path, GatewayWorld.registration(number))
                }
                expected.append(number % 4 == 0 ? "alive" : number % 4 == 1 ? "malformed_json" : #""p\#(number)""#)
            }
            try await wire.send(said)
            for word in expected {
                let reply = try await wire.reply()
                #expect(reply.text.contains(word), "\(reply.text)")
            }
        }
    }

    /// Over a connection of its own, whose first request brings to hand what the shortcut needs.
    private func register(_ world: GatewayWorld, _ path: String, _ body: String, isLong: Bool) async throws -> WireReply
    {
        let wire = try Wire(port: world.port)
        let app = path.split(separator: "/").prefix(3).joined(separator: "/")
        try await wire.send(GatewayWorld.request("GET", "/" + app))
        #expect(try await wire.reply().status == 200)
        guard isLong else {
            try await wire.send(GatewayWorld.request("PUT", path, body))
            return try await wire.reply()
        }
        // Whoever asks to be asked for the body takes the long way.
        let request = GatewayWorld.request("PUT", path, body, headers: ["Expect: 100-continue"])
        try await wire.send(String(request.dropLast(body.count)))
        #expect(try await wire.head().status == 100)
        try await wire.send(body)
        return try await wire.reply()
    }

    /// Without what differs by name and time.
    private func neutral(_ text: String) -> String {
        text.replacing("one phone", with: "phone").replacing("two phone", with: "phone")
            .replacing(/"[0-9-]+T[0-9:.]+Z"/, with: "")
    }

    /// A connection to this gateway's API, to which its app is at hand, and stays so.
    private func withDoor(
        _ world: GatewayWorld, committer: GroupCommitter? = nil, _ body: (ShortcutDoor) async throws -> Void
    ) async throws {
        let stores = Stores(pool: world.pool, appsFreshFor: .seconds(86_400))
        let registry = RegistryKeeper(
            stores: stores, committer: committer ?? GroupCommitter(registry: stores.registry))
        _ = try await registry.app(slug: "tower")
        let door = try await ShortcutDoor(world.services.with(registry))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(door)) } catch { outcome = .failure(error) }
        await door.close()
        try outcome.get()
    }
}

extension GatewayServices {
    fileprivate func with(_ registry: RegistryKeeper) -> GatewayServices {
        GatewayServices(
            registry: registry, messages: messages, credentials: credentials, keys: keys,
            adminKeySHA256: adminKeySHA256,
            readiness: readiness, clock: clock, entropy: entropy, limits: limits, log: log, steps: steps)
    }
}

/// Requests that are not as registrations mostly are.
struct Unusual: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let parts: @Sendable (_ app: String) -> [HTTPServerRequestPart]

    private init(_ name: String, _ parts: @escaping @Sendable (_ app: String) -> [HTTPServerRequestPart]) {
        testDescription = name
        self.parts = parts
    }

    private static func put(
        _ name: String, _ path: String = "/devices/phone", _ body: String = GatewayWorld.registration(1),
        key: String = GatewayWorld.key, headers: [(String, String)] = []
    ) -> Unusual {
        Unusual(name) { ShortcutDoor.put($0 + path, body, key: key, headers: headers) }
    }

    static let all = [
        Unusual("no body") { app in
            let whole = ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))
            return [whole[0], whole[2]]
        },
        Unusual("another method") { _ in ShortcutDoor.get("/healthz") },
        Unusual("HTTP/1.0") { app in
            var parts = ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))
            if case .head(var head) = parts[0] {
                head.version = .http1_0
                parts[0] = .head(head)
            }
            return parts
        },
        Unusual("two keys") { app in
            var parts = ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))
            if case .head(var head) = parts[0] {
                head.headers.add(name: "authorization", value: "Bearer \(GatewayWorld.key)")
                parts[0] = .head(head)
            }
            return parts
        },
        Unusual("a trailer") { app in
            var parts = ShortcutDoor.put(app + "/devices/phone", GatewayWorld.registration(1))
            parts[2] = .end(HTTPHeaders([("X-Sum", "1")]))
            return parts
        },
        Unusual("an app that nobody asked for") { _ in
            ShortcutDoor.put("/v1/apps/cellar/devices/phone", GatewayWorld.registration(1))
        },
        put("another route", "/devices/phone/badge", #"{"badge": 1}"#),
        put("a path behind it", "/devices/phone/more"), put("no installation", "/devices/"),
        put("a query", "/devices/phone?kind=alert"), put("a path that is not UTF-8", "/devices/%ff"),
        put("a path beyond ASCII", "/devices/\u{e9}"),
        put("a name too long", "/devices/" + String(repeating: "x", count: 999)),
        put("a key that opens nothing", key: "wrong"),
        put("a key that nobody asked for", key: "ck_" + String(repeating: "a", count: 40)),
        put("no JSON", "/devices/phone", "{"), put("a member unknown", "/devices/phone", #"{"what": 1}"#),
        put("too long a body", "/devices/phone", GatewayWorld.registration(1) + String(repeating: " ", count: 16_384)),
        put("an expectation", headers: [("Expect", "100-continue")]),
        put("a last request", headers: [("Connection", "close")]),
        put("another protocol", headers: [("Connection", "upgrade"), ("Upgrade", "h2c")]),
        put("a packed body", headers: [("Content-Encoding", "gzip")]),
        put("an idempotency key", headers: [("Idempotency-Key", "a")]),
        put("an invalid length", headers: [("content-length", "-1")]),
    ]
}
