import API
import Basis
import Calendar
import JSON
import Model
import Postgres
import Reactor
import Testing

/// A gateway with an app, and the time at which its test began.
private struct LocalHourWorld {
    let gateway: GatewayWorld
    let app: String
    let now = WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970)

    /// Registers a device whose clock is so many hours ahead of UTC's.
    func register(_ name: String, hoursAhead: Int, token: Int) async throws {
        let zone = "GMT\(hoursAhead < 0 ? "-" : "+")\(abs(hoursAhead))"
        try await register(name, zone: zone, token: token)
    }

    func register(_ name: String, zone: String, token: Int) async throws {
        let body = GatewayWorld.registration(token, #", "time_zone": "\#(zone)""#)
        try await gateway.expect(201, "PUT", "\(app)/devices/\(name)", body)
    }

    /// Sends a message for the local hour that UTC's clock shows in so many hours.
    func send(inHours hours: Int64, to audience: String = #""all": true"#, _ more: String = "") async throws
        -> JSONObject
    {
        let options = #""send_at": "\#(local(hours))", "device_local_time": true\#(more)"#
        let body = #"{"audience": {\#(audience)}, "badge": 1, "options": {\#(options)}}"#
        return try await gateway.expect(202, "POST", app + "/messages", body).json()
    }

    func local(_ hours: Int64) -> String { RFC3339.formatLocal(now + .seconds(3_600 * hours)) }

    /// The API's text of ten minutes before the instant that comes in so many hours.
    func lead(beforeHours hours: Int64) -> JSONValue {
        .string(RFC3339.format(now + .seconds(3_600 * hours - 600)))
    }

    func path(of message: JSONObject) throws -> String {
        "\(app)/messages/\(try #require(message["id"]?.string))"
    }
}

private func withLocalHours(_ body: @escaping @Sendable (LocalHourWorld) async throws -> Void) async throws {
    try await withGateway { try await body(LocalHourWorld(gateway: $0, app: try await $0.makeApp())) }
}

@Suite("A message at a local hour, until its first device is due")
struct ServedLocalHourTests {
    @Test("stays scheduled and editable until ten minutes before the first device of its audience")
    func editable() async throws {
        try await withLocalHours { world in
            try await world.register("west", hoursAhead: -5, token: 1)
            try await world.register("far-west", hoursAhead: -8, token: 2)
            let sent = try await world.send(inHours: 2)
            #expect(sent["state"] == "scheduled" && sent["editable_until"] == world.lead(beforeHours: 7))
            let path = try world.path(of: sent)
            // A device that comes later does not bring the start forward.
            try await world.register("east", hoursAhead: 1, token: 3)
            let edited = try await world.gateway.expect(200, "PATCH", path, #"{"name": "Spring"}"#).json()
            #expect(edited["editable_until"] == world.lead(beforeHours: 7))
            let list = try await world.gateway.expect(200, "GET", world.app + "/messages?state=scheduled")
            let listed = try list.member("items")?.array?.first?.object
            #expect(listed?["editable_until"] == world.lead(beforeHours: 7))
        }
    }

    @Test("moves its start with a new hour, a new audience and a resumed copy")
    func moved() async throws {
        try await withLocalHours { world in
            try await world.register("west", hoursAhead: -5, token: 1)
            try await world.register("east", hoursAhead: 1, token: 2)
            let sent = try await world.send(inHours: 4, to: #""installations": ["west"]"#)
            #expect(sent["editable_until"] == world.lead(beforeHours: 9))
            let path = try world.path(of: sent)
            func change(_ body: String) async throws -> JSONValue? {
                try await world.gateway.expect(200, "PATCH", path, body).member("editable_until")
            }
            #expect(try await change(#"{"send_at": "\#(world.local(6))"}"#) == world.lead(beforeHours: 11))
            #expect(try await change(#"{"audience": {"all": true}}"#) == world.lead(beforeHours: 5))
            #expect(try await change(#"{"notification": {"body": "Spring"}}"#) == world.lead(beforeHours: 5))
            let copy = try await world.gateway.expect(201, "POST", path + "/duplicate").json()
            #expect(copy["state"] == "paused" && copy["editable_until"] == .null)
            let resumed = try await world.gateway.expect(200, "POST", try world.path(of: copy) + "/resume").json()
            #expect(resumed["state"] == "scheduled" && resumed["editable_until"] == world.lead(beforeHours: 5))
        }
    }

    @Test("starts at once if its first device is due within ten minutes, or gets it late")
    func atOnce() async throws {
        try await withLocalHours { world in
            // Five minutes before the hour that UTC's clock shows in three hours.
            try await world.register("soon", zone: "GMT+2:55", token: 1)
            try await world.register("west", hoursAhead: -5, token: 2)
            let due = try await world.send(inHours: 3)
            #expect(due["state"] == "accepted" && due["editable_until"] == .null)
            let late = #", "local_time_passed": "send""#
            #expect(try await world.send(inHours: 2, late)["state"] == "accepted")
            // Its clock is past that hour, and the other one's is not.
            #expect(try await world.send(inHours: 2)["editable_until"] == world.lead(beforeHours: 7))
        }
    }

    @Test("reads the audience again if somebody else changed the hour meanwhile")
    func twoEditors() async throws {
        try await withLocalHours { world in
            try await world.register("west", hoursAhead: -5, token: 1)
            try await world.register("east", hoursAhead: 1, token: 2)
            let sent = try await world.send(inHours: 4, to: #""installations": ["east"]"#)
            let path = try world.path(of: sent)
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let pool = world.gateway.pool
            let edit = try await pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query("UPDATE messages SET local_hour = local_hour + interval '2 hours'"))
                let edit = Task {
                    try await world.gateway.expect(
                        200, "PATCH", path, #"{"audience": {"installations": ["west"]}}"#)
                }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                _ = try await transaction.runAndCommit([query("SELECT 1")])
                return edit
            }
            let changed = try await edit.value.json()
            #expect(changed["send_at"]?.string == world.local(6))
            #expect(changed["editable_until"] == world.lead(beforeHours: 11))
        }
    }
}

private func query(_ sql: String) -> Query { Query(Statement(unprepared: sql)) }
