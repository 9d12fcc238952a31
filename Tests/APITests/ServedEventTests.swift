import JSON
import Listener
import Reactor
import TestSupport
import Testing

/// A client that follows a message over the wire.
private struct Follower {
    let wire: Wire

    init(_ world: GatewayWorld, _ path: String, key: String = GatewayWorld.key) async throws {
        wire = try Wire(port: world.port)
        try await wire.send(GatewayWorld.request("GET", path + "/events", key: key))
    }

    /// The head of a stream that has begun.
    func head() async throws -> WireReply {
        let head = try await wire.head()
        try #require(head.status == 200)
        return head
    }

    struct Event {
        let id: Int64?
        let name: String
        let data: JSONObject
    }

    /// The next event, heartbeats skipped; nil if the stream has ended.
    func next() async throws -> Event? {
        while let chunk = try await wire.chunk() {
            // Heartbeats continue as long as nothing happens.
            try Task.checkCancellation()
            let lines = String(decoding: chunk, as: UTF8.self).split(separator: "\n")
            func field(_ name: String) -> String? {
                lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
            }
            guard let name = field("event"), let data = field("data") else { continue }
            let body = try #require(try JSONReader.read(Array(data.utf8), limits: .trusted).object)
            return Event(id: field("id").flatMap { Int64($0) }, name: name, data: body)
        }
        return nil
    }

    /// Whether the next chunk is a heartbeat.
    func heartbeatsNext() async throws -> Bool {
        try await wire.chunk().map { String(decoding: $0, as: UTF8.self) } == ": \n\n"
    }

    func isBeating() async throws -> Bool {
        while let chunk = try await wire.chunk() {
            try Task.checkCancellation()
            if String(decoding: chunk, as: UTF8.self) == ": \n\n" { return true }
        }
        return false
    }
}

@Suite("The event stream of a message", .timeLimit(.minutes(3)))
struct ServedEventTests {
    private static let hello = #"{"audience": {"all": true}, "notification": {"body": "Noon"}}"#

    private static var limits: GatewayLimits {
        var limits = GatewayLimits()
        limits.eventPause = .milliseconds(8)
        limits.heartbeatEvery = .milliseconds(40)
        limits.eventKeyCheck = .zero
        return limits
    }

    private static func send(_ world: GatewayWorld, _ app: String, _ message: String = hello) async throws -> String {
        let id = try await world.expect(202, "POST", app + "/messages", message).member("id")?.string
        return try #require(id)
    }

    private static func plan(_ world: GatewayWorld) async throws {
        while try await world.stores.messages.plan(
            atMost: 1, idsMax: 20_000, parcelMembersMax: 5_000, knownFormats: [1, 2]) != .nothing
        {}
    }

    @Test("sends the current state at once, then each change, and ends with the message")
    func toTheEnd() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let follower = try await Follower(world, path)
            let head = try await follower.head()
            #expect(head.header("content-type") == "text/event-stream")
            #expect(head.header("cache-control") == "no-store")
            let first = try #require(try await follower.next())
            #expect(first.name == "progress" && first.data["state"] == "accepted")
            #expect(first.data["progress"]?.object?["providers"]?.object?.isEmpty == true)
            try await world.expect(200, "POST", path + "/pause")
            let paused = try #require(try await follower.next())
            #expect(paused.data["state"] == "paused")
            #expect(try #require(paused.id) > first.id ?? .max)
            try await world.expect(200, "POST", path + "/resume")
            var last = try #require(try await follower.next())
            #expect(last.data["state"] == "accepted")
            try await Self.plan(world)
            while last.name == "progress" { last = try #require(try await follower.next()) }
            #expect(last.name == "finished" && last.data["state"] == "finished")
            #expect(try await follower.next() == nil)
            // The last event equals the message as it is read, except for the time of the query.
            let read = try await world.expect(200, "GET", path).json()
            #expect(read["audience"] == last.data["audience"] && read["finished_at"] == last.data["finished_at"])
            let late = try await Follower(world, path)
            _ = try await late.head()
            #expect(try await late.next()?.name == "finished")
            #expect(try await late.next() == nil)
        }
    }

    @Test("sends heartbeats while nothing changes, and repeats no event")
    func heartbeats() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let follower = try await Follower(world, path)
            _ = try await follower.head()
            _ = try await follower.next()
            for _ in 1...3 { #expect(try await follower.isBeating()) }
            try await world.expect(200, "POST", path + "/pause")
            #expect(try await follower.next()?.data["state"] == "paused")
        }
    }

    @Test("ends with a problem when the key is revoked")
    func revoked() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            let made = try await world.expect(201, "POST", app + "/keys", #"{"name":"reader","scopes":["messages"]}"#)
            let key = try #require(try made.member("key")?.string)
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let follower = try await Follower(world, path, key: key)
            _ = try await follower.head()
            _ = try await follower.next()
            try await world.expect(204, "DELETE", "\(app)/keys/" + (try #require(try made.member("id")?.string)))
            let end = try #require(try await follower.next())
            #expect(end.name == "problem" && end.data["code"] == "unauthorized")
            #expect(try await follower.next() == nil)
        }
    }

    @Test("ends with a problem when the app is deleted")
    func deletedApp() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let follower = try await Follower(world, path)
            _ = try await follower.head()
            _ = try await follower.next()
            try await world.expect(202, "DELETE", app)
            let end = try #require(try await follower.next())
            #expect(end.name == "problem" && end.data["code"] == "unknown_app")
        }
    }

    @Test("ends with a problem when the message is deleted")
    func deletedMessage() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let follower = try await Follower(world, path)
            _ = try await follower.head()
            _ = try await follower.next()
            try await world.pool.script("DELETE FROM messages")
            let end = try #require(try await follower.next())
            #expect(end.name == "problem" && end.data["code"] == "unknown_message")
        }
    }

    @Test("refuses unknown messages and keys without the scope, as other endpoints do")
    func refused() async throws {
        try await withGateway(limits: Self.limits) { world in
            let app = try await world.makeApp()
            try await world.refuse(.unknownMessage, "GET", app + "/messages/17/events")
            try await world.refuse(
                .unknownMessage, "GET", app + "/messages/01920000-0000-7000-8000-000000000000/events")
            let id = try await Self.send(world, app)
            try await world.makeApp("other")
            try await world.refuse(.unknownMessage, "GET", "/v1/apps/other/messages/\(id)/events")
            let made = try await world.expect(201, "POST", app + "/keys", #"{"name":"phone","scopes":["devices"]}"#)
            let key = try #require(try made.member("key")?.string)
            #expect(try await world.call("GET", "\(app)/messages/\(id)/events", key: key).status == 403)
            let head = try await world.call("HEAD", "\(app)/messages/\(id)/events")
            #expect(head.status == 200 && head.header("content-type") == "text/event-stream")
        }
    }

    @Test("limits the streams per app and per process, and frees the place of a client that leaves")
    func seats() async throws {
        var limits = Self.limits
        limits.streamsMax = 3
        limits.streamsPerAppMax = 2
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            let other = try await world.makeApp("other")
            let third = try await world.makeApp("third")
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            var followers = [try await Follower(world, path), try await Follower(world, path)]
            for follower in followers { _ = try await follower.head() }
            let tooMany = try await world.refuse(.shareUsedUp, "GET", path + "/events")
            #expect(tooMany.header("retry-after") != nil)
            let elsewhere = try await Follower(world, "\(other)/messages/" + (try await Self.send(world, other)))
            _ = try await elsewhere.head()
            let thirdPath = "\(third)/messages/" + (try await Self.send(world, third))
            try await world.refuse(.overloaded, "GET", thirdPath + "/events")
            // A HEAD request takes no place and frees none.
            #expect(try await world.call("HEAD", path + "/events").status == 200)
            followers = []
            try await eventually("a client that left to return its place") {
                let wire = try Wire(port: world.port)
                try await wire.send(GatewayWorld.request("GET", thirdPath + "/events"))
                return try await wire.head().status == 200
            }
        }
    }

    @Test("queries the progress once for all clients that follow a message")
    func oneLook() async throws {
        var limits = Self.limits
        limits.eventPause = .milliseconds(400)
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            var followers: [Follower] = []
            for _ in 1...20 {
                let follower = try await Follower(world, path)
                _ = try await follower.head()
                _ = try await follower.next()
                followers.append(follower)
            }
            // This heartbeat belongs to a query that began after all clients had connected.
            for follower in followers { #expect(try await follower.isBeating()) }
            try await world.expect(200, "POST", path + "/pause")
            var ids: Set<Int64> = []
            for follower in followers { ids.insert(try #require(try await follower.next()?.id)) }
            #expect(ids.count == 1, "every follower received the same event")
        }
    }

    @Test("never sends an older state after a failed query")
    func failedLook() async throws {
        var limits = Self.limits
        limits.eventPause = .milliseconds(700)
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let first = try await Follower(world, path)
            _ = try await first.head()
            _ = try await first.next()
            // Queries are rare by now, so the next steps happen between two of them.
            for _ in 1...3 { #expect(try await first.isBeating()) }
            try await world.expect(200, "POST", path + "/pause")
            let second = try await Follower(world, path)
            _ = try await second.head()
            #expect(try await second.next()?.data["state"] == "paused")
            try await world.pool.script("ALTER TABLE message_reasons RENAME TO reasons_elsewhere")
            #expect(try await second.heartbeatsNext(), "the previous query predates the pause")
            try await world.pool.script("ALTER TABLE reasons_elsewhere RENAME TO message_reasons")
            try await world.expect(200, "POST", path + "/cancel")
            #expect(try await second.next()?.data["state"] == "cancelled")
        }
    }

    @Test("reports changes although the database's clock stepped back")
    func clockStep() async throws {
        let database = try await GatewayDatabase.make()
        try await withPool(database) { pool in
            try await pool.script(
                """
                CREATE TABLE clock_steps (step interval);
                INSERT INTO clock_steps VALUES ('0');
                CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
                    AS 'SELECT transaction_timestamp() + step FROM public.clock_steps';
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
                END $$
                """)
        }
        try await withGateway(limits: Self.limits, database: database) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            let follower = try await Follower(world, path)
            _ = try await follower.head()
            let first = try #require(try await follower.next())
            try await world.pool.script("UPDATE clock_steps SET step = '-1 hour'")
            try await world.expect(200, "POST", path + "/pause")
            let paused = try #require(try await follower.next())
            #expect(paused.data["state"] == "paused")
            #expect(try #require(paused.id) > first.id ?? .max, "event ids rise")
        }
    }

    @Test("disconnects a client that reads nothing, and frees its place")
    func unread() async throws {
        var limits = Self.limits
        limits.bodyPauseMax = .milliseconds(300)
        limits.streamsMax = 1
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            let path = "\(app)/messages/" + (try await Self.send(world, app))
            // The events are so large that no socket holds them all.
            try await world.pool.script(
                """
                INSERT INTO message_reasons SELECT id, 2, repeat('x', 2000) || n, 1
                FROM messages, generate_series(1, 2000) AS n
                """)
            let deaf = try await Follower(world, path)
            _ = try await deaf.head()
            let events = Task {
                while !Task.isCancelled {
                    for control in ["pause", "resume"] { try await world.expect(200, "POST", "\(path)/\(control)") }
                }
            }
            try await eventually("a client that does not read to be disconnected") {
                let wire = try Wire(port: world.port)
                try await wire.send(GatewayWorld.request("GET", path + "/events"))
                return try await wire.head().status == 200
            }
            events.cancel()
            _ = try? await events.value
            _ = deaf
        }
    }
}
