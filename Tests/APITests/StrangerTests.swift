import API
import Encodings
import JSON
import Listener
import Postgres
import Requests
import Signing
import TestSupport
import Testing

@Suite("Callers without a valid API key", .timeLimit(.minutes(5)))
struct StrangerTests {
    private static let rules = #"{"rules": {".read": true}}"#

    /// A gateway with sixteen places for strangers, of which those of one app may have eight.
    private static func withApp(
        refusalsPerSecond: Int = 1_000, _ body: (GatewayWorld) async throws -> Void
    ) async throws {
        var limits = GatewayLimits()
        (limits.strangersMax, limits.strangersRefusedPerSecond) = (16, refusalsPerSecond)
        try await withGateway(limits: limits) { world in
            try await world.makeApp()
            try await world.expect(200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"enabled": true}}"#)
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", rules)
            try await world.expect(204, "PUT", "/base/tower/a.json", "1")
            try await body(world)
        }
    }

    /// Locks a table for the body.
    private static func locking<Answer: Sendable>(
        _ table: String, _ world: GatewayWorld, _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let outcome = try await world.pool.transaction {
            transaction throws(PostgresError) -> Result<Answer, any Error> in
            _ = try await transaction.run(Query(Statement(unprepared: "LOCK TABLE \(table)")))
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        return try outcome.get()
    }

    /// Requests that wait for the database, each on a connection of its own.
    private static func send(
        _ count: Int, _ world: GatewayWorld, _ request: (Int) -> String
    ) async throws -> [Wire] {
        var wires: [Wire] = []
        for number in 0..<count {
            let wire = try Wire(port: world.port)
            try await wire.send(request(number))
            wires.append(wire)
        }
        return wires
    }

    private static func subscribe(_ device: Int) -> String {
        GatewayWorld.request("PUT", "/base/tower/.wakeup/a?id=device-\(device)", key: nil)
    }

    private static func invented() -> String {
        let random = (0..<32).map { _ in UInt8.random(in: 0...255) }
        let checksum = Hashes.sha256(Array("carillon_".utf8) + random)[..<4]
        return "carillon_" + String(decoding: Base64.urlEncode(random + checksum), as: UTF8.self)
    }

    /// The requests of keys that never wait for strangers.
    private static func useKeys(_ world: GatewayWorld, again: Bool = false) async throws {
        try await world.expect(
            again ? 200 : 201, "PUT", "/v1/apps/tower/devices/phone", GatewayWorld.registration(1))
        try await world.expect(
            202, "POST", "/v1/apps/tower/messages",
            #"{"audience": {"installations": ["phone"]}, "notification": {"body": "x"}}"#)
        for path in ["/v1/apps/tower/devices", "/base/tower/a.json", "/base/tower/.json?shallow=true", "/v1/apps"] {
            try await world.expect(200, "GET", path)
        }
        try await world.expect(204, "PUT", "/base/tower/b.json", "2")
        try await world.expect(200, "GET", "/healthz")
    }

    @Test("have two sessions and some places, and get 429 beyond them while keys get answers")
    func places() async throws {
        try await Self.withApp { world in
            let waiting = try await Self.locking("subscriptions", world) {
                let waiting = try await Self.send(8, world, Self.subscribe)
                try await eventually("the strangers to wait") {
                    let census = await world.pool.census()
                    return census.busy == 3 && census.waiting == 6
                }
                // Each refusal takes a second, and those that wait give up after five.
                async let put = world.call("PUT", "/base/tower/.wakeup/a?id=one-more", key: nil)
                async let delete = world.call("DELETE", "/base/tower/.wakeup?id=one-more", key: nil)
                async let anonymous = world.call("GET", "/base/tower/a.json", key: nil)
                async let invented = world.call("GET", "/base/tower/a.json", key: "a.b.c")
                for refused in [try await put, try await delete] {
                    #expect(refused.status == 429)
                    #expect(String(decoding: refused.body, as: UTF8.self) == #"{"status":"too_many"}"#)
                    #expect(refused.header("retry-after") != nil)
                }
                for refused in [try await anonymous, try await invented] {
                    #expect(refused.status == 429)
                    #expect(try refused.member("code")?.string == ProblemCode.shareUsedUp.rawValue)
                    #expect(refused.header("retry-after") != nil)
                }
                try await Self.useKeys(world)
                // A request's session is returned a moment after its answer.
                try await eventually("the keys' sessions to be free") { await world.pool.census().busy == 3 }
                return waiting
            }
            for wire in waiting { #expect(try await wire.reply().status == 204) }
            #expect(try await world.call("GET", "/base/tower/a.json", key: nil).status == 200)
        }
    }

    @Test("with invented keys delay no valid key, and get 401, or 429 if they are many")
    func inventedKeys() async throws {
        try await Self.withApp(refusalsPerSecond: 1) { world in
            let made = try await world.expect(
                201, "POST", "/v1/apps/tower/keys", #"{"name": "backend", "scopes": ["devices"]}"#)
            let valid = try #require(try made.json()["key"]?.string)
            let (strangers, backend) = try await Self.locking("api_keys", world) {
                let strangers = try await Self.send(20, world) { number in
                    let path = number.isMultiple(of: 2) ? "/v1/apps/tower/devices" : "/base/nosuch/a.json"
                    return GatewayWorld.request("GET", path, key: Self.invented())
                }
                let backend = try await Self.send(1, world) { _ in
                    GatewayWorld.request("GET", "/v1/apps/tower/devices", key: valid)
                }
                try await Self.useKeys(world)
                try await eventually("all to wait for one query") {
                    let census = await world.pool.census()
                    return census.busy == 2 && census.waiting == 0
                }
                return (strangers, backend)
            }
            #expect(try await backend[0].reply().status == 200)
            var statuses: [Int: Int] = [:]
            for wire in strangers {
                let reply = try await wire.reply()
                statuses[reply.status, default: 0] += 1
                #expect((reply.header("retry-after") != nil) == (reply.status == 429))
            }
            #expect(Set(statuses.keys) == [401, 429])
            try await Self.useKeys(world, again: true)
        }
    }
}

extension StrangerTests {
    @Test("wait for refusals of unknown paths, while callers with a key get theirs at once")
    func unknownPaths() async throws {
        try await Self.withApp(refusalsPerSecond: 1) { world in
            for _ in 0..<3 {
                try await world.refuse(.notFound, "GET", "/v1/nosuch")
                try await world.refuse(.methodNotAllowed, "POST", "/v1/apps/tower/rules")
            }
            let strangers = try await Self.send(3, world) { _ in GatewayWorld.request("GET", "/v1/nosuch", key: nil) }
            var statuses: [Int] = []
            for wire in strangers { statuses.append(try await wire.reply().status) }
            #expect(statuses.contains(429))
        }
    }

    @Test("with invented tokens wait for refusals, while callers with a key use the same devices")
    func inventedTokens() async throws {
        try await Self.withApp(refusalsPerSecond: 1) { world in
            try await Self.useKeys(world)
            let subscriptions = "/v1/apps/tower/devices/phone/subscriptions"
            let strangers = try await Self.send(4, world) { number in
                number.isMultiple(of: 2)
                    ? GatewayWorld.request("GET", subscriptions, key: "a.b.c")
                    : GatewayWorld.request("PUT", "/v1/apps/tower/devices/phone", "{}", key: "a.b.c")
            }
            try await world.expect(200, "GET", subscriptions)
            var statuses: Set<Int> = []
            for wire in strangers { statuses.insert(try await wire.reply().status) }
            #expect(statuses.isSubset(of: [401, 429]) && statuses.contains(429))
            try await Self.useKeys(world, again: true)
        }
    }

    @Test("close no connection of a caller with a key, however many of them connect")
    func connections() async throws {
        var limits = GatewayLimits()
        (limits.connectionsMax, limits.connectionsSpare) = (24, 12)
        try await withGateway(limits: limits) { world in
            try await world.makeApp()
            // The second request takes the shortcut.
            let requests = [
                GatewayWorld.request("GET", "/v1/apps"),
                GatewayWorld.request("PUT", "/v1/apps/tower/devices/phone", GatewayWorld.registration(1)),
            ]
            var backends: [Wire] = []
            for request in requests {
                let backend = try Wire(port: world.port)
                try await backend.send(request)
                #expect([200, 201].contains(try await backend.reply().status))
                backends.append(backend)
            }
            let strangers = try (0..<20).map { _ in try Wire(port: world.port) }
            #expect(await strangers[0].isEnded())
            for (backend, request) in zip(backends, requests) {
                try await backend.send(request)
                #expect(try await backend.reply().status == 200)
            }
            withExtendedLifetime(strangers) {}
        }
    }
}

@Suite("The admission of strangers", .timeLimit(.minutes(2)))
struct StrangerAdmissionTests {
    private func strangers(places: Int, underWay: Int) -> StrangerAdmission {
        var limits = GatewayLimits()
        (limits.strangersMax, limits.strangersUnderWayMax) = (places, underWay)
        return StrangerAdmission(limits)
    }

    /// A request that was admitted, refused or waits.
    private final class Asking: Sendable {
        private let answer = Changing<Bool?>(nil)

        /// Returns once the request is answered or waits.
        init(_ app: String?, _ strangers: StrangerAdmission) async {
            let before = strangers.waiting
            Task { answer.value = await strangers.enter(app) }
            while reply == nil, strangers.waiting == before { await Task.yield() }
        }

        /// nil while the request waits.
        var reply: Bool? { answer.value }
    }

    @Test("lets few requests be under way, and serves the apps in turn")
    func turns() async throws {
        let strangers = strangers(places: 100, underWay: 1)
        #expect(await Asking("a", strangers).reply == true)
        var waiting: [(app: String?, asking: Asking)] = []
        for app in ["a", "a", "b", nil] { waiting.append((app, await Asking(app, strangers))) }
        #expect(waiting.allSatisfy { $0.asking.reply == nil })
        var last: String? = "a"
        for (served, left) in [(0, 3), (2, 2), (3, 1), (1, 0)] {
            strangers.leave(last)
            #expect(strangers.waiting == left)
            try await eventually("the next one") { waiting[served].asking.reply == true }
            last = waiting[served].app
        }
    }

    @Test("gives an app as many places as it leaves free, and as many under way")
    func shares() async {
        let strangers = strangers(places: 12, underWay: 4)
        var replies: [Bool?] = []
        for _ in 0..<8 { replies.append(await Asking("a", strangers).reply) }
        #expect(replies == [true, true, nil, nil, nil, nil, false, false])
        var others: [Bool?] = []
        for _ in 0..<5 { others.append(await Asking("b", strangers).reply) }
        #expect(others == [true, nil, nil, false, false])
        #expect(await Asking(nil, strangers).reply == true)
    }
}
