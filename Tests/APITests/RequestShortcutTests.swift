import API
import Basis
import Calendar
import Listener
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Postgres
import Reactor
import Registry
import Store
import TestSupport
import Testing

@Suite("The shortcut for small requests")
struct RequestShortcutTests {
    @Test("answers a complete, ordinary registration itself, new or known")
    func taken() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1)))
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1)))
                let events = try await fixture.events(withAnswers: 2)
                #expect(fixture.journal.text == ["201", "200"], "no other handler received the requests")
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

    @Test("answers messages and their refusals itself, a repetition with the first answer")
    func messages() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", app + "/devices/phone", GatewayWorld.registration(1))
            try await ShortcutFixture.within(world) { fixture in
                let message = #"{"audience": {"installations": ["phone"]}, "notification": {"body": "Noon"}}"#
                let keyed = [("Idempotency-Key", "noon")]
                for body in [message, message, #"{"audience": {"everyone": true}}"#] {
                    try await fixture.come(ShortcutFixture.post(app + "/messages", body, headers: keyed))
                }
                let events = try await fixture.events(withAnswers: 3)
                #expect(fixture.journal.text == ["202", "202", "422"])
                guard case .answered(_, let first, let accepted) = events[0],
                    case .answered(_, let second, let replayed) = events[1],
                    case .answered(_, let third, _) = events[2]
                else { return }
                #expect(first["idempotency-replayed"] == nil && second["idempotency-replayed"] != nil)
                #expect(accepted == replayed && first["location"] == second["location"])
                #expect(third["content-type"] == "application/problem+json")
            }
        }
    }

    @Test("passes an unusual request on, exactly as it arrived", arguments: UnusualRegistration.all)
    func passedOn(unusual: UnusualRegistration) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                let parts = unusual.parts(app)
                try await fixture.come(parts)
                #expect(fixture.journal.all == parts.map(ShortcutEvent.passedOn))
            }
        }
    }

    @Test("passes on a request that arrives in pieces, wherever it was cut")
    func pieces() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let whole = ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))
            for cut in 1..<whole.count {
                try await ShortcutFixture.within(world) { fixture in
                    try await fixture.come(Array(whole[..<cut]))
                    try await fixture.come(Array(whole[cut...]))
                    #expect(fixture.journal.all == whole.map(ShortcutEvent.passedOn))
                }
            }
        }
    }

    @Test("joins a body that the parser split in two")
    func twoBuffers() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                let body = GatewayWorld.registration(1)
                var parts = ShortcutFixture.put(app + "/devices/phone", body)
                parts[1] = .body(ByteBuffer(string: String(body.prefix(10))))
                parts.insert(.body(ByteBuffer(string: String(body.dropFirst(10)))), at: 2)
                try await fixture.come(parts)
                _ = try await fixture.events(withAnswers: 1)
                #expect(fixture.journal.text == ["201"])
            }
        }
    }

    @Test("answers in the order of the requests, even beside requests that it passed on")
    func order() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let puts = (1...3).map {
                ShortcutFixture.put(app + "/devices/phone\($0)", GatewayWorld.registration($0))
            }
            try await ShortcutFixture.within(world) { fixture in
                // A request behind one that was passed on is passed on too.
                try await fixture.come(puts[0] + puts[1] + ShortcutFixture.get("/healthz") + puts[2])
                try await eventually("all requests to be passed on") { fixture.journal.text.count == 7 }
                #expect(fixture.journal.text == ["201", "201", "GET", "end", "PUT", "body", "end"])
            }
        }
    }

    @Test("takes the next registration again once a passed-on request is answered")
    func afterOthers() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                try await fixture.come(ShortcutFixture.get("/healthz"))
                try await fixture.answer()
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1)))
                _ = try await fixture.events(withAnswers: 2)
                #expect(fixture.journal.text == ["GET", "end", "200", "201"])
            }
        }
    }

    @Test("passes on everything from a client that reads no answers")
    func unread() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                try await fixture.channel.testingEventLoop.executeInContext { fixture.channel.isWritable = false }
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1)))
                #expect(fixture.journal.text == ["PUT", "body", "end"])
            }
        }
    }

    @Test("passes on a request begun before the connection's quiesce event, and then the event")
    func begunBeforeTheEnd() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let next = ShortcutFixture.put(app + "/devices/other", GatewayWorld.registration(2))
            try await ShortcutFixture.within(world) { fixture in
                let whole = ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))
                try await fixture.come(whole + next[..<2]) { pipeline in
                    pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
                }
                try await eventually("all events") { fixture.journal.text.count == 4 }
                #expect(fixture.journal.text == ["201", "PUT", "body", "quiesce"])
            }
        }
    }

    @Test("returns memory to the body budget, whatever became of the request")
    func budget() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 300
        limits.bodiesInFlightBytesMax = 300
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                for number in 1...8 {
                    try await fixture.come(ShortcutFixture.put(app + "/devices/p", GatewayWorld.registration(number)))
                    _ = try await fixture.events(withAnswers: number)
                }
                #expect(fixture.journal.text == ["201"] + Array(repeating: "200", count: 7))
                let long = ShortcutFixture.put(
                    app + "/devices/p", GatewayWorld.registration(1) + String(repeating: " ", count: 300))
                try await fixture.come(long)
                #expect(
                    fixture.journal.text.suffix(3) == ["PUT", "body", "end"],
                    "the body is longer than the configured limit")
            }
        }
    }

    @Test("answers only for a remembered key that may register in the app")
    func keys() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.makeApp("cellar")
            let right = try await key(world, app, "devices")
            let others = [
                try await key(world, app, "messages"), try await key(world, "/v1/apps/cellar", "devices"),
                try await key(world, app, "devices", isRevoked: true),
            ]
            let now = Changing(Clocks.wallNow())
            let authenticator = APIKeyAuthenticator(
                operatorSHA256: world.services.adminKeySHA256, store: world.stores.keys, clock: { now.value })
            func text(_ key: String) async throws -> [String] {
                var text: [String] = []
                try await ShortcutFixture.within(world, authenticator: authenticator) { fixture in
                    let path = app + "/devices/phone"
                    try await fixture.come(ShortcutFixture.put(path, GatewayWorld.registration(1), key: key))
                    try await eventually("an event") { !fixture.journal.text.isEmpty }
                    text = fixture.journal.text
                }
                return text
            }
            let passedOn = ["PUT", "body", "end"]
            #expect(try await text(right) == passedOn, "the key has not been used before")
            for key in [right] + others { _ = try? await authenticator.caller(authorization: ["Bearer " + key]) }
            #expect(try await text(right) == ["201"])
            for other in others { #expect(try await text(other) == passedOn) }
            now.value = now.value + APIKeyAuthenticator.rememberedFor
            #expect(try await text(right) == passedOn, "the remembered key is too old")
            // A new app now has that name.
            _ = try? await authenticator.caller(authorization: ["Bearer " + right])
            #expect(try await text(right) == ["200"])
            try await world.expect(202, "DELETE", app)
            try await world.makeApp()
            #expect(try await text(right) == passedOn)
        }
    }

    private func key(
        _ world: GatewayWorld, _ app: String, _ scope: String, isRevoked: Bool = false
    ) async throws -> String {
        let name = isRevoked ? "revoked" : scope
        let made = try await world.expect(
            201, "POST", app + "/keys", #"{"name": "\#(name)", "scopes": ["\#(scope)"]}"#)
        if isRevoked {
            let id = try #require(try made.member("id")?.string)
            try await world.expect(204, "DELETE", app + "/keys/" + id)
        }
        return try #require(try made.member("key")?.string)
    }

    @Test("stands in the pipeline of every server connection")
    func placed() async throws {
        try await withGateway { world in
            let (services, channel) = (world.services, NIOAsyncTestingChannel())
            let shortcut = GatewayResponder(services).shortcut
            try await channel.testingEventLoop.executeInContext {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.configureHTTPServerPipeline(withErrorHandling: false)
                try pipeline.addHandler(
                    ConnectionHandlerInstaller(
                        limits: services.limits, log: services.context.log,
                        places: ConnectionPlaces(services.limits, log: services.context.log), shortcut: shortcut))
                let watch = try pipeline.context(handlerType: RequestStallHandler.self)
                let handler = try pipeline.context(handlerType: RequestShortcutHandler.self)
                #expect(watch.name != handler.name)
            }
            _ = try? await channel.finish(acceptAlreadyClosed: true)
        }
    }

    @Test("lets no end of input and no error overtake an answer on its way")
    func terminalCounts() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))) {
                    pipeline in
                    pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
                    pipeline.close(mode: .input, promise: nil)
                    pipeline.fireErrorCaught(HTTPParserError.invalidMethod)
                    pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
                }
                try await eventually("all events") { fixture.journal.text.count == 5 }
                #expect(fixture.journal.text == ["201", "quiesce", "ends input", "error", "input ended"])
            }
        }
    }

    @Test("registers the device even if the client disconnects before the answer")
    func gone() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await ShortcutFixture.within(world) { fixture in
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))) {
                    pipeline in
                    pipeline.close(mode: .all, promise: nil)
                }
                #expect(fixture.journal.text == [])
            }
            try await eventually("the registration") {
                try await world.call("GET", app + "/devices/phone").status == 200
            }
        }
    }

    @Test("reports an unreachable database as every endpoint reports it")
    func fault() async throws {
        let missing = try await GatewayDatabase.missing()
        try await withGateway { world in
            let app = try await world.makeApp()
            let loop = try ReactorLoop(name: "shortcut-test")
            let crossEnvironment = PostgresPool(missing, pool: .impatient, loop: loop)
            try await ShortcutFixture.within(
                world, committer: RegistrationCommitter(registry: Stores(pool: crossEnvironment).registry)
            ) {
                fixture in
                try await fixture.come(ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1)))
                let events = try await fixture.events(withAnswers: 1)
                guard case .answered(let status, let headers, let body) = events.last else { return }
                #expect(status == 503)
                #expect(headers["content-type"] == "application/problem+json")
                #expect(headers["retry-after"] == "5")
                #expect(body.contains(#""code":"database_unavailable""#))
            }
            await crossEnvironment.close()
            loop.stop()
        }
    }

    @Test("answers exactly as the ordinary path does, except for times")
    func sameAnswers() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let input = [
                GatewayWorld.registration(1, #", "tags": ["a\u00e9"], "locale": "fr", "badge": 4"#),
                GatewayWorld.registration(1, #", "user": "u", "attributes": {"n": 1.50}"#),
                GatewayWorld.registration(2), #"{"provider": "fcm", "token": "a:b"}"#,
                #"{"provider": "apns", "token": "zz"}"#, #"{"provider": "apns"}"#, "[", "{}",
            ]
            for (place, body) in input.enumerated() {
                // Each path has a name and tokens of its own, equally long: the same token would be reported as moved.
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

    @Test("answers a crowd of pipelined requests in their order")
    func pipelined() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let wire = try Wire(port: world.port)
            var input = ""
            var expected: [String] = []
            for number in 1...60 {
                let path = "\(app)/devices/p\(number)"
                switch number % 4 {
                case 0: input += GatewayWorld.request("GET", "/healthz", key: nil)
                case 1: input += GatewayWorld.request("PUT", path, "{", headers: ["X-Number: \(number)"])
                default: input += GatewayWorld.request("PUT", path, GatewayWorld.registration(number))
                }
                expected.append(number % 4 == 0 ? "alive" : number % 4 == 1 ? "malformed_json" : #""p\#(number)""#)
            }
            try await wire.send(input)
            for name in expected {
                let reply = try await wire.reply()
                #expect(reply.text.contains(name), "\(reply.text)")
            }
        }
    }

    /// Registers over a connection of its own. The first request there caches what the shortcut needs.
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
        // A request with Expect: 100-continue takes the ordinary path.
        let request = GatewayWorld.request("PUT", path, body, headers: ["Expect: 100-continue"])
        try await wire.send(String(request.dropLast(body.count)))
        #expect(try await wire.head().status == 100)
        try await wire.send(body)
        return try await wire.reply()
    }

    /// Removes names and times, which differ.
    private func neutral(_ text: String) -> String {
        text.replacing("one phone", with: "phone").replacing("two phone", with: "phone")
            .replacing(/"[0-9-]+T[0-9:.]+Z"/, with: "")
    }
}
