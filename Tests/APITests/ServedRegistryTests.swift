import JSON
import Listener
import Postgres
import Requests
import TestSupport
import Testing

private let fcmToken = "dXk2bN9fQ0m:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx_sD7"

@Suite("The device registry API")
struct ServedRegistryTests {
    private static func fcm(_ token: String = fcmToken, _ members: String = "") -> String {
        #"{"provider": "fcm", "token": "\#(token)"\#(members)}"#
    }

    private static func names(_ reply: WireReply) throws -> [String] {
        try reply.member("items")?.array?.compactMap { $0.object?["installation"]?.string } ?? []
    }

    @Test("stores an FCM token unchanged, shows it masked, and refuses kinds other than alert")
    func fcm() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/a1"
            let made = try await world.expect(201, "PUT", path, Self.fcm())
            #expect(try made.member("provider") == "fcm" && made.member("environment") == "production")
            #expect(try made.member("token") == "…_sD7")
            #expect(!made.text.contains(fcmToken))
            let token = try await world.pool.read(Query(Statement(unprepared: "SELECT token FROM registrations")))
                .one { row throws(PostgresError) in try row.bytes() }
            #expect(token == Array(fcmToken.utf8))
            try await world.refuse(
                .kindNotAllowed, "PUT", path, Self.fcm(fcmToken, #", "kind": "voip""#), pointer: "/kind")
        }
    }

    @Test("derives a stable installation from a token, or finds the one that holds it")
    func byToken() async throws {
        try await withGateway { world in
            let devices = try await world.makeApp() + "/devices"
            let made = try await world.expect(201, "POST", devices, Self.fcm())
            let name = try #require(try made.member("installation")?.string)
            #expect(made.header("location") == "\(devices)/\(name)")
            #expect(name.hasPrefix("token-") && !fcmToken.contains(name.dropFirst(6)))
            let again = try await world.expect(200, "POST", devices, Self.fcm(fcmToken, #", "user": "ann""#))
            #expect(try again.member("installation") == .string(name) && again.member("change") == "refreshed")
            try await world.expect(201, "PUT", devices + "/phone", GatewayWorld.registration(1))
            let held = try await world.expect(200, "POST", devices, GatewayWorld.registration(1))
            #expect(try held.member("installation") == "phone" && held.member("change") == "unchanged")
            try await world.expect(204, "DELETE", made.header("location") ?? "")
            #expect(try await world.expect(201, "POST", devices, Self.fcm()).member("installation") == .string(name))
            try await world.refuse(
                .unknownMember, "POST", devices, Self.fcm(fcmToken, #", "installation": "x""#), pointer: "/installation"
            )
        }
    }

    @Test("patches the named members, of one kind or of all kinds")
    func patch() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.refuse(.unknownDevice, "PATCH", path, "{}")
            let input = #", "user": "ann", "tags": ["a", "b"], "attributes": {"x": 1, "y": 2}"#
            try await world.expect(201, "PUT", path, GatewayWorld.registration(1, input))
            try await world.expect(201, "PUT", path, GatewayWorld.registration(2, #", "kind": "voip""#))
            let body = #"{"user": null, "tags_add": ["c"], "tags_remove": ["a"], "attributes": {"x": null, "z": [3]}}"#
            let patched = try await world.expect(200, "PATCH", path, body).json()
            #expect(patched["user"] == .null && patched["tags"] == ["b", "c"])
            #expect(patched["attributes"]?.object?.members.map(\.name) == ["y", "z"])
            #expect(patched["registrations"]?.array?.last?.object?["tags"] == ["c"])
            let voip = try await world.expect(200, "PATCH", path + "?kind=voip", #"{"locale": "fr"}"#)
            #expect(try voip.member("kind") == "voip" && voip.member("locale") == "fr")
            #expect(try await world.expect(200, "GET", path).member("locale") == .null)
            try await world.refuse(.unknownMember, "PATCH", path, #"{"token": "00"}"#, pointer: "/token")
            try await world.refuse(.invalidValue, "PATCH", path, #"{"locale": "d e"}"#, pointer: "/locale")
            try await world.refuse(.invalidValue, "PATCH", path, #"{"time_zone": "Berlin"}"#, pointer: "/time_zone")
            try await world.refuse(.nulCharacter, "PATCH", path, #"{"tags_add": ["a\u0000"]}"#)
            let many = (1...64).map { "\"t\($0)\"" }.joined(separator: ",")
            try await world.refuse(.valueTooLong, "PATCH", path, #"{"tags_add": [\#(many)]}"#, pointer: "/tags_add")
            let long = String(repeating: "x", count: 8_190)
            try await world.refuse(
                .valueTooLong, "PATCH", path, #"{"attributes": {"l": "\#(long)"}}"#, pointer: "/attributes")
            try await world.refuse(.invalidQuery, "PATCH", path + "?kind=banner", "{}")
        }
    }

    @Test("lists devices by their properties and by a filter, page by page")
    func lists() async throws {
        try await withGateway { world in
            let devices = try await world.makeApp() + "/devices"
            for number in 1...5 {
                let input = #", "user": "u\#(number % 2)", "tags": ["t\#(number % 3)"]"#
                try await world.expect(201, "PUT", "\(devices)/i\(number)", GatewayWorld.registration(number, input))
            }
            try await world.expect(201, "PUT", devices + "/a1", Self.fcm())
            var names: [String] = []
            var cursor = ""
            repeat {
                let page = try await world.expect(200, "GET", devices + "?limit=4&cursor=\(cursor)")
                names += try Self.names(page)
                cursor = try page.member("next")?.string ?? ""
            } while !cursor.isEmpty
            #expect(names == ["a1", "i1", "i2", "i3", "i4", "i5"])
            #expect(try Self.names(try await world.expect(200, "GET", devices + "?user=u1")) == ["i1", "i3", "i5"])
            #expect(try Self.names(try await world.expect(200, "GET", devices + "?tag=t2&user=u0")) == ["i2"])
            #expect(try Self.names(try await world.expect(200, "GET", devices + "?provider=fcm")) == ["a1"])
            #expect(try Self.names(try await world.expect(200, "GET", devices + "?state=retired")) == [])
            #expect(try Self.names(try await world.expect(200, "GET", devices + "?stale=true")) == [])
            let filter = "tags%20has%20%27t2%27%20or%20provider%20%3D%3D%20%22fcm%22"
            #expect(
                try Self.names(try await world.expect(200, "GET", devices + "?filter=" + filter)) == ["a1", "i2", "i5"])
            let both = devices + "?user=u0&filter=" + filter
            #expect(try Self.names(try await world.expect(200, "GET", both)) == ["i2"])
            try await world.refuse(.invalidFilter, "GET", devices + "?filter=")
            try await world.refuse(.invalidFilter, "GET", devices + "?filter=tags%20has%20t2")
            let first = try await world.expect(200, "GET", devices + "?user=u1&limit=1").member("next")?.string ?? ""
            try await world.refuse(.invalidCursor, "GET", devices + "?cursor=\(first)")
            try await world.refuse(.invalidCursor, "GET", devices + "?cursor=zz")
            for query in ["state=dead", "provider=gcm", "kind=x", "stale=yes", "limit=0", "limit=1001", "user=%00"] {
                try await world.refuse(.invalidQuery, "GET", devices + "?" + query)
            }
        }
    }

    @Test("limits one app's simultaneous lists, and leaves room for other apps", .timeLimit(.minutes(2)))
    func listsInTurn() async throws {
        var limits = GatewayLimits()
        limits.costlyReadsWaitingPerAppMax = 0
        try await withGateway(limits: limits) { world in
            let devices = try await world.makeApp() + "/devices?tag=new"
            let others = try await world.makeApp("other") + "/devices"
            let waiting = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'
                """
            let (locked, isLocked) = AsyncStream<Void>.makeStream()
            let (free, isFree) = AsyncStream<Void>.makeStream()
            defer { isFree.finish() }
            let holder = Task {
                try await world.pool.transaction { transaction throws(PostgresError) in
                    let lock = Statement(unprepared: "LOCK TABLE registrations IN ACCESS EXCLUSIVE MODE")
                    _ = try await transaction.run([Query(lock)])
                    isLocked.finish()
                    for await _ in free {}
                }
            }
            for await _ in locked {}
            func wait(for count: Int) async throws {
                while try await world.pool.number(waiting) < count { try Task.checkCancellation() }
            }
            async let first = world.expect(200, "GET", devices)
            async let second = world.expect(200, "GET", devices)
            try await wait(for: 2)
            let refused = try await world.refuse(.shareUsedUp, "GET", devices)
            #expect(refused.header("retry-after") == "1")
            let messages = devices.replacing("/devices?tag=new", with: "/messages")
            for path in [messages, messages + "/0192f0c1-7a3e-7d41-9c55-0a1b2c3d4e5f"] {
                for remaining in path == messages ? [""] : ["", "/events", "/failures", "/devices/i1"] {
                    try await world.refuse(.shareUsedUp, "GET", path + remaining)
                }
            }
            let lookup = devices.replacing("?tag=new", with: "/lookup")
            try await world.refuse(.shareUsedUp, "POST", lookup, #"{"token": "\#(GatewayWorld.token(1))"}"#)
            async let other = world.expect(200, "GET", others)
            try await wait(for: 3)
            isFree.finish()
            _ = try await (first, second, other)
            try await holder.value
            try await world.expect(200, "GET", devices)
        }
    }

    @Test("lists a device as stale once it is silent for longer than the app allows")
    func stale() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            #expect(
                try await world.expect(200, "GET", app).member("settings")
                    == [
                        "stale_after_days": ["apns": .null, "fcm": 270], "time_zone": "UTC", "quiet_hours": .null,
                        "daily_cap": .null,
                    ])
            try await world.expect(201, "PUT", app + "/devices/i1", GatewayWorld.registration(1))
            try await world.expect(201, "PUT", app + "/devices/a1", Self.fcm())
            try await world.pool.script(
                "UPDATE registration_pulse SET registered_at = registered_at - interval '271 days'")
            #expect(try Self.names(try await world.expect(200, "GET", app + "/devices?stale=true")) == ["a1"])
            let change = #"{"name": "Bell", "settings": {"stale_after_days": {"fcm": 272, "apns": 200}}}"#
            #expect(try await world.expect(200, "PATCH", app, change).member("name") == "Bell")
            #expect(try Self.names(try await world.expect(200, "GET", app + "/devices?stale=true")) == ["i1"])
            #expect(try Self.names(try await world.expect(200, "GET", app + "/devices?stale=false")).count == 2)
            let never = #"{"settings": {"stale_after_days": {"apns": null}}}"#
            #expect(try await world.expect(200, "PATCH", app, never).member("name") == "Bell")
            #expect(try Self.names(try await world.expect(200, "GET", app + "/devices?stale=true")) == [])
            func refuse(_ code: ProblemCode, _ days: String, _ pointer: String) async throws {
                let body = #"{"settings": {"stale_after_days": \#(days)}}"#
                try await world.refuse(code, "PATCH", app, body, pointer: "/settings/stale_after_days" + pointer)
            }
            try await refuse(.invalidValue, #"{"fcm": 0}"#, "/fcm")
            try await refuse(.wrongType, #"{"fcm": "9"}"#, "/fcm")
            try await refuse(.notSupported, #"{"hms": 9}"#, "/hms")
            try await refuse(.unknownMember, #"{"gcm": 9}"#, "/gcm")
            try await world.refuse(.unknownMember, "PATCH", app, #"{"slug": "x"}"#, pointer: "/slug")
        }
    }

    @Test("keeps an app's time zone, and accepts only zones that the database knows")
    func timeZone() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            func zone(_ change: String?) async throws -> JSONValue? {
                let answer = try await world.expect(200, change == nil ? "GET" : "PATCH", app, change)
                return try answer.member("settings")?.object?["time_zone"]
            }
            #expect(try await zone(#"{"settings": {"time_zone": "Pacific/Kiritimati"}}"#) == "Pacific/Kiritimati")
            #expect(try await zone(#"{"name": "Bell", "settings": {"time_zone": null}}"#) == "Pacific/Kiritimati")
            #expect(try await zone(#"{"settings": {"stale_after_days": {"apns": 9}}}"#) == "Pacific/Kiritimati")
            #expect(try await zone(nil) == "Pacific/Kiritimati")
            #expect(try await zone(#"{"settings": {"time_zone": "UTC+5:30"}}"#) == "GMT+05:30")
            #expect(try await zone(#"{"settings": {"time_zone": "Pacific/Kiritimati"}}"#) == "Pacific/Kiritimati")
            for unknown in ["Mars/Olympus_Mons", "IST", "GMT+15", "Etc/GMT+99"] {
                try await world.refuse(
                    .invalidValue, "PATCH", app, #"{"settings": {"time_zone": "\#(unknown)"}}"#,
                    pointer: "/settings/time_zone")
            }
            #expect(try await zone(nil) == "Pacific/Kiritimati")
        }
    }

    @Test("keeps an app's quiet hours and daily cap until they are removed")
    func limits() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            func settings(_ change: String?) async throws -> [JSONValue?] {
                let body = change.map { #"{"settings": \#($0)}"# }
                let answer = try await world.expect(200, body == nil ? "GET" : "PATCH", app, body)
                let settings = try answer.member("settings")?.object
                return [settings?["quiet_hours"], settings?["daily_cap"]]
            }
            let night: JSONValue = ["from": "22:00", "to": "07:30"]
            #expect(try await settings(#"{"quiet_hours": {"from": "22:00", "to": "07:30"}}"#) == [night, .null])
            #expect(try await settings(#"{"daily_cap": 3}"#) == [night, 3])
            #expect(try await settings(#"{"time_zone": "Europe/Paris"}"#) == [night, 3])
            #expect(try await settings(#"{"quiet_hours": null}"#) == [.null, 3])
            #expect(try await settings(#"{"daily_cap": null}"#) == [.null, .null])
            #expect(try await settings(nil) == [.null, .null])
        }
    }

    @Test("looks tokens up in the form that their providers use")
    func lookup() async throws {
        try await withGateway { world in
            let devices = try await world.makeApp() + "/devices"
            try await world.expect(201, "PUT", devices + "/i1", GatewayWorld.registration(1))
            try await world.expect(201, "PUT", devices + "/a1", Self.fcm())
            let apns = GatewayWorld.token(1).uppercased()
            let body = #"{"tokens": ["\#(GatewayWorld.token(2))", "\#(fcmToken)", "\#(apns)"]}"#
            let found = try await world.expect(200, "POST", devices + "/lookup", body)
            #expect(try Self.names(found) == ["a1", "i1"])
            #expect(try found.member("items")?.array?.compactMap { $0.object?["index"]?.integer } == [1, 2])
            #expect(try found.member("unknown") == [0])
            #expect(!found.text.contains(fcmToken) && !found.text.contains(GatewayWorld.token(1)))
            let one = try await world.expect(200, "POST", devices + "/lookup", #"{"token": "\#(apns)"}"#)
            #expect(try Self.names(one) == ["i1"])
            let other = #"{"token": "\#(apns)", "provider": "fcm"}"#
            #expect(try await world.expect(200, "POST", devices + "/lookup", other).member("unknown") == [0])
            let lookup = devices + "/lookup"
            try await world.refuse(.missingMember, "POST", lookup, "{}", pointer: "/token")
            try await world.refuse(
                .invalidValue, "POST", lookup, #"{"token": "a", "tokens": []}"#, pointer: "/tokens")
            try await world.refuse(.invalidToken, "POST", lookup, #"{"tokens": ["a", "b c"]}"#, pointer: "/tokens/1")
            try await world.refuse(.wrongType, "POST", lookup, #"{"token": 1}"#, pointer: "/token")
            let many = Array(repeating: "\"a\"", count: 1_001).joined(separator: ",")
            try await world.refuse(.valueTooLong, "POST", lookup, #"{"tokens": [\#(many)]}"#, pointer: "/tokens")
        }
    }

    @Test("sets and consumes a badge by token, separately for each kind")
    func badges() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", app + "/devices/i1", GatewayWorld.registration(1))
            try await world.expect(201, "PUT", app + "/devices/i1", GatewayWorld.registration(2, #", "kind": "voip""#))
            let token = #""token": "\#(GatewayWorld.token(2).uppercased())""#
            let set = try await world.expect(200, "POST", app + "/badges", #"{\#(token), "badge": 5}"#)
            #expect(set.text == #"{"installation":"i1","kind":"voip","badge":5}"#)
            let key = ["Idempotency-Key: k1"]
            for replayed in [nil, "true"] {
                let taken = try await world.expect(
                    200, "POST", app + "/badges", #"{\#(token), "consume": 2}"#, headers: key)
                #expect(try taken.member("badge") == 3)
                #expect(taken.header("idempotency-replayed") == replayed)
            }
            try await world.refuse(
                .idempotencyMismatch, "POST", app + "/badges", #"{\#(token), "consume": 3}"#, headers: key)
            #expect(try await world.expect(200, "GET", app + "/devices/i1/badge").member("badge") == 0)
            let badge = app + "/devices/i1/badge?kind=voip"
            #expect(try await world.expect(200, "GET", badge).text == #"{"installation":"i1","kind":"voip","badge":3}"#)
            #expect(try await world.expect(200, "PUT", badge, #"{"badge": 8}"#).member("badge") == 8)
            let consume = app + "/devices/i1/badge/consume"
            let ofVoIP = try await world.expect(
                200, "POST", consume + "?kind=voip", #"{"count": 1}"#, headers: ["Idempotency-Key: k2"])
            #expect(try ofVoIP.member("badge") == 7)
            try await world.refuse(
                .idempotencyMismatch, "POST", consume, #"{"count": 1}"#, headers: ["Idempotency-Key: k2"])
            try await world.refuse(.unknownDevice, "GET", app + "/devices/i1/badge?kind=widget")
            try await world.refuse(.unknownToken, "POST", app + "/badges", #"{"token": "00ff", "badge": 5}"#)
            try await world.refuse(.unknownToken, "POST", app + "/badges", #"{"token": "x", "consume": 5}"#)
            try await world.refuse(.missingMember, "POST", app + "/badges", "{\(token)}", pointer: "/badge")
            try await world.refuse(
                .invalidValue, "POST", app + "/badges", #"{\#(token), "badge": 1, "consume": 1}"#, pointer: "/consume")
        }
    }

    @Test("restores a retired token, or says why it cannot be restored")
    func undo() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            for number in 1...3 {
                try await world.expect(201, "PUT", app + "/devices/i\(number)", GatewayWorld.registration(number))
            }
            try await world.pool.script(
                """
                UPDATE registrations SET state = 3;
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason)
                SELECT app_id, id, generation, installation, kind, provider, 1, 'Unregistered' FROM registrations
                ORDER BY id
                """)
            try await world.expect(200, "PUT", app + "/devices/i2", GatewayWorld.registration(12))
            try await world.expect(201, "PUT", app + "/devices/j3", GatewayWorld.registration(3))
            func ids() async throws -> [String] {
                let items = try await world.expect(200, "GET", app + "/feedback").member("items")?.array ?? []
                return items.compactMap { $0.object?["id"]?.string }
            }
            let entries = try await ids()
            for _ in 1...2 {
                let undone = try await world.expect(200, "POST", app + "/feedback/\(entries[0])/undo")
                #expect(try undone.member("installation") == "i1" && undone.member("state") == "active")
            }
            try await world.refuse(.tokenReplaced, "POST", app + "/feedback/\(entries[1])/undo")
            try await world.refuse(.tokenMoved, "POST", app + "/feedback/\(entries[2])/undo")
            try await world.refuse(.notARetirement, "POST", app + "/feedback/\(entries[3])/undo")
            try await world.refuse(.unknownFeedback, "POST", app + "/feedback/99999/undo")
            try await world.refuse(.unknownFeedback, "POST", app + "/feedback/first/undo")
            let last = try await world.expect(200, "GET", app + "/feedback").member("items")?.array?.last?.object
            #expect(last?["verdict"] == "undone" && last?["reason"] == "undone")
            try await world.expect(204, "DELETE", app + "/devices/i1")
            try await world.refuse(.unknownDevice, "POST", app + "/feedback/\(entries[0])/undo")
        }
    }

    @Test("erases a user's data, and deletes an app")
    func erased() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(
                201, "PUT", app + "/devices/i1", GatewayWorld.registration(1, #", "user": "ann/b""#))
            try await world.expect(200, "PUT", app + "/devices/i1", GatewayWorld.registration(2))
            let gone = try await world.expect(200, "DELETE", app + "/users/ann%2Fb")
            #expect(gone.text == #"{"registrations":1,"feedback":1}"#)
            #expect(try await world.expect(200, "DELETE", app + "/users/ann%2Fb").member("registrations") == 0)
            try await world.refuse(.unknownDevice, "GET", app + "/devices/i1")
            let feed = try await world.expect(200, "GET", app + "/feedback")
            #expect(feed.text.contains("erased-") && !feed.text.contains("i1"))
            let long = String(repeating: "x", count: 257)
            try await world.refuse(.valueTooLong, "DELETE", app + "/users/" + long)

            #expect(try await world.expect(202, "DELETE", app).text == #"{"slug":"tower","state":"deleting"}"#)
            try await world.refuse(.unknownApp, "GET", app)
            try await world.refuse(.unknownApp, "DELETE", app)
            try await world.refuse(.unknownApp, "PUT", app + "/devices/i1", GatewayWorld.registration(1))
            #expect(try await world.expect(200, "GET", "/v1/apps").text == #"{"items":[],"next":null}"#)
            // A new app with the same slug has no data of the deleted one.
            try await world.makeApp()
            #expect(try Self.names(try await world.expect(200, "GET", app + "/devices")) == [])
        }
    }
}
