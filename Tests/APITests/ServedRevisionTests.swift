import Basis
import Calendar
import JSON
import Model
import Reactor
import Requests
import Store
import Testing

extension GatewayWorld {
    /// Sends a message, and returns its path.
    fileprivate func send(_ app: String, _ members: String, key: String = GatewayWorld.key) async throws -> String {
        let reply = try await call("POST", app + "/messages", "{\(members)}", key: key)
        try #require(reply.status == 202, "\(reply.text)")
        return try #require(reply.header("location"))
    }

    /// Cuts the audiences of the messages that are due.
    fileprivate func plan() async throws {
        _ = try await stores.messages.fallDue()
        while try await stores.messages.plan(idsMax: 1_000, parcelMembersMax: 100, knownFormats: [1]) != .nothing {}
    }

    fileprivate func key(_ app: String, _ scopes: String, name: String) async throws -> String {
        let made = try await expect(201, "POST", app + "/keys", #"{"name": "\#(name)", "scopes": [\#(scopes)]}"#)
        return try #require(try made.member("key")?.string)
    }
}

private let everybody = #""audience": {"all": true}"#
private let texts = #""notification": {"title": "Sale", "body": "Today", "localizations": {"fr": {"body": "Vite"}}}"#
private var tomorrow: String { RFC3339.format(Clocks.wallNow() + .seconds(86_400)) }
private var scheduled: String { #""options": {"send_at": "\#(tomorrow)"}"# }

@Suite("The label of a message")
struct ServedLabelTests {
    @Test("stands in every answer: its name, texts, audience in words and author")
    func everywhere() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await world.key(app, #""broadcast""#, name: "shop")
            let members = #""name": " Autumn sale ", \#(everybody), \#(texts), \#(scheduled)"#
            let sent = try await world.call("POST", app + "/messages", "{\(members)}", key: key)
            let path = try #require(sent.header("location"))
            func check(_ answer: JSONObject, _ texts: JSONValue) {
                #expect(answer["name"] == "Autumn sale" && answer["author"] == "shop")
                #expect(answer["audience_text"] == "everybody" && answer["texts"] == texts)
            }
            let common: JSONValue = ["language": .null, "title": "Sale", "body": "Today"]
            let french: JSONValue = ["language": "fr", "title": .null, "body": "Vite"]
            check(try sent.json(), [common])
            let page = try await world.expect(200, "GET", app + "/messages")
            check(try #require(try page.member("items")?.array?.first?.object), [common])
            check(try await world.expect(200, "GET", path).json(), [common, french])
            for control in ["pause", "resume", "cancel"] {
                check(try await world.expect(200, "POST", "\(path)/\(control)").json(), [common, french])
            }
        }
    }

    @Test("names the operator's key, and has no name or text for a message without them")
    func least() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = try await world.send(app, #""audience": {"users": ["frida"]}, "badge": 1"#)
            for answer in [path, app + "/messages"] {
                let read = try await world.expect(200, "GET", answer).json()
                let message = read["items"]?.array?.first?.object ?? read
                #expect(message["name"] == .null && message["author"] == "admin key" && message["texts"] == [])
                #expect(message["audience_text"] == "the user frida")
            }
        }
    }

    @Test("loses texts and names of receivers with the content, and keeps the rest")
    func swept() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = try await world.send(app, #""name": "Hello", "audience": {"users": ["frida"]}, \#(texts)"#)
            try await world.pool.script("DELETE FROM message_contents")
            let read = try await world.expect(200, "GET", path).json()
            #expect(read["texts"] == .null && read["request"] == .null && read["audience_text"] == "1 user")
            #expect(read["name"] == "Hello" && read["author"] == "admin key")
            try await world.refuse(.contentSwept, "POST", path + "/duplicate")
        }
    }

    @Test(
        "refuses a name that is empty, too long, or has control characters",
        arguments: [
            ("", ProblemCode.invalidValue), ("  ", .invalidValue), (String(repeating: "x", count: 121), .valueTooLong),
            (#"a\nb"#, .invalidValue), (#"a\u0085b"#, .invalidValue),
        ])
    func badName(name: String, code: ProblemCode) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let body = #"{"name": "\#(name)", \#(everybody), "badge": 1}"#
            try await world.refuse(code, "POST", app + "/messages", body, pointer: "/name")
            let path = try await world.send(app, #"\#(everybody), "badge": 1"#)
            try await world.refuse(code, "PATCH", path, #"{"name": "\#(name)"}"#, pointer: "/name")
        }
    }
}

@Suite("A message that is read back")
struct ReadRequestTests {
    @Test("has the request in a form that makes the same message again")
    func again() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let hour = RFC3339.formatLocal(WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970 + 86_400))
            for members in [
                #"\#(everybody), \#(texts)"#,
                #"""
                "name": "All of it", "audience": {"tags": {"any": ["a"], "none": ["b"]}, "providers": ["apns"],
                "kind": "alert"}, \#(texts), "badge": "increment", "sound": "bell.caf", "data": {"article": {"id": 1}},
                "options": {"priority": "normal", "ttl_seconds": 60, "collapse_id": "c", "send_at": "\#(hour)",
                    "device_local_time": true, "local_time_passed": "send", "rate_per_second": 5, "dry_run": true,
                    "ignore_quiet_hours": true, "ignore_daily_cap": true},
                "apns": {"aps": {"interruption-level": "passive"}}, "fcm": {"android": {"direct_boot_ok": true}}
                """#,
                #""audience": {"users": ["ann", "bob"]}, "badge": 3, \#(scheduled)"#,
                #""audience": {"filter": "user == 'ann'"}, "badge": 3"#, #""audience": {"stale": true}, "badge": 3"#,
            ] {
                let path = try await world.send(app, members)
                let first = try #require(try await world.expect(200, "GET", path).member("request"))
                let body = String(decoding: first.bytes, as: UTF8.self)
                let again = try await world.expect(202, "POST", app + "/messages", body)
                let second = try await world.expect(200, "GET", try #require(again.header("location")))
                #expect(try second.member("request") == first)
            }
        }
    }

    @Test("shows the tokens of its audience to a key that may see tokens, and to no other")
    func tokens() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let token = GatewayWorld.token(7)
            let target = #"{"provider": "apns", "topic": "com.example.app", "token": "\#(token)"}"#
            let path = try await world.send(app, #""audience": {"tokens": [\#(target)]}, "badge": 1, \#(scheduled)"#)
            let seeing = try await world.key(app, #""messages", "tokens""#, name: "seeing")
            #expect(try await world.call("GET", path, key: seeing).text.contains(token))
            let other = try await world.expect(200, "GET", path)
            #expect(!other.text.contains(token))
            let audience = try other.member("request")?.object?["audience"]?.object
            #expect(audience?["tokens"]?.array?.first?.object?["topic"] == "com.example.app")
            #expect(try other.member("audience_text") == "1 token")
        }
    }
}

@Suite("A change of a message")
struct ServedRevisionTests {
    @Test("replaces its name, texts, audience and time before it starts")
    func each() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = try await world.send(app, #"\#(everybody), \#(texts), \#(scheduled)"#)
            let named = try await world.expect(200, "PATCH", path, #"{"name": "Sale"}"#)
            #expect(try named.member("name") == "Sale")
            let text = try await world.expect(200, "PATCH", path, #"{"notification": {"body": "Tomorrow"}}"#)
            #expect(try text.member("texts") == [["language": .null, "title": .null, "body": "Tomorrow"]])
            let audience = #"{"audience": {"users": ["frida"]}}"#
            let narrowed = try await world.expect(200, "PATCH", path, audience)
            #expect(try narrowed.member("audience_text") == "the user frida")
            let hour = RFC3339.format(WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970 + 7_200))
            let redated = try await world.expect(200, "PATCH", path, #"{"send_at": "\#(hour)", "rate_per_second": 5}"#)
            #expect(try redated.member("send_at")?.string == hour && redated.member("rate_per_second") == 5)
            let options = try redated.member("request")?.object?["options"]?.object
            #expect(options?["send_at"]?.string == hour)
            #expect(try await world.expect(200, "PATCH", path, #"{"name": null}"#).member("name") == .null)
            let now = try await world.expect(200, "PATCH", path, #"{"send_at": null}"#)
            #expect(try now.member("state") == "scheduled")
            try await world.plan()
            let read = try await world.expect(200, "GET", path)
            #expect(try read.member("audience") == 1 && read.member("state") == "finished", "frida is unknown")
        }
    }

    @Test("fails with message_started once it has started, but for its rate")
    func started() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", app + "/devices/phone", GatewayWorld.registration(1))
            let path = try await world.send(app, #"\#(everybody), \#(texts)"#)
            try await world.plan()
            for state in ["sending", "paused"] {
                #expect(try await world.expect(200, "GET", path).member("state")?.string == state)
                for change in [#""send_at": null"#, texts, everybody, #""name": "New""#] {
                    try await world.refuse(.messageStarted, "PATCH", path, "{\(change)}")
                }
                try await world.expect(200, "POST", path + "/pause")
            }
            let changed = try await world.expect(200, "PATCH", path, #"{"rate_per_second": 1}"#)
            #expect(try changed.member("name") == .null && changed.member("rate_per_second") == 1)
            try await world.expect(200, "POST", path + "/cancel")
            try await world.refuse(.messageStarted, "PATCH", path, "{\(texts)}")
            try await world.refuse(.messageOver, "PATCH", path, #"{"rate_per_second": 2}"#)
        }
    }

    @Test("undergoes the checks of a new message, and changes nothing if it is refused")
    func checked() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = try await world.send(app, #"\#(everybody), \#(texts), \#(scheduled)"#)
            let before = try await world.expect(200, "GET", path).member("request")
            let long = String(repeating: "x", count: 5_000)
            let refusals: [(String, ProblemCode, String?)] = [
                (#"{"notification": {"body": "\#(long)"}}"#, .payloadTooLarge, ""),
                (#"{"notification": null}"#, .nothingToShow, ""),
                (#"{"notification": {"title": " "}}"#, .nothingToShow, "/notification"),
                (#"{"notification": {"body": "{{name"}}"#, .invalidTemplate, "/notification/body"),
                (#"{"notification": {"localizations": {"?": {}}}}"#, .invalidValue, "/notification/localizations"),
                (#"{"audience": {}}"#, .invalidValue, "/audience"),
                (#"{"audience": null}"#, .missingMember, "/audience"),
                (#"{"audience": {"all": true, "kind": "voip"}}"#, .notForPushType, "/audience/kind"),
                (#"{"send_at": "tomorrow"}"#, .invalidValue, "/send_at"),
                (#"{"send_at": "2020-01-01T00:00:00Z"}"#, .invalidValue, "/send_at"),
                (#"{"send_at": "2026-12-01T12:00:00"}"#, .invalidValue, "/send_at"),
                (#"{"badge": 1}"#, .unknownMember, "/badge"), ("{}", .missingMember, ""),
            ]
            for (body, code, pointer) in refusals {
                let reply = try await world.call("PATCH", path, body)
                #expect(try reply.member("code")?.string == code.rawValue, "\(body.prefix(60)): \(reply.text)")
                if let pointer, !pointer.isEmpty { #expect(try reply.member("pointer")?.string == pointer) }
            }
            #expect(try await world.expect(200, "GET", path).member("request") == before)
        }
    }

    @Test("takes a local time for a message that has one")
    func localTime() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let now = WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970)
            func hour(_ days: Int64) -> String { RFC3339.formatLocal(now + .seconds(days * 86_400)) }
            let options = #""options": {"send_at": "\#(hour(2))", "device_local_time": true}"#
            let path = try await world.send(app, #"\#(everybody), "badge": 1, \#(options)"#)
            let changed = try await world.expect(200, "PATCH", path, #"{"send_at": "\#(hour(3))"}"#)
            #expect(try changed.member("send_at")?.string == hour(3) && changed.member("device_local_time") == true)
            try await world.refuse(.invalidValue, "PATCH", path, #"{"send_at": "\#(tomorrow)"}"#, pointer: "/send_at")
        }
    }

    @Test("needs the scopes of the old audience and of the new one")
    func scopes() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let direct = try await world.key(app, #""messages""#, name: "direct")
            let members = #""audience": {"users": ["ann"]}, \#(texts), \#(scheduled)"#
            let path = try await world.send(app, members, key: direct)
            func status(_ body: String) async throws -> Int {
                try await world.call("PATCH", path, body, key: direct).status
            }
            #expect(try await status("{\(texts)}") == 200)
            #expect(try await status("{\(everybody)}") == 403)
            #expect(try await world.call("PATCH", path, "{\(everybody)}").status == 200)
            #expect(try await status("{\(texts)}") == 403)
            #expect(try await status(#"{"audience": {"users": ["ann"]}, \#(texts)}"#) == 403)
            #expect(try await world.call("POST", path + "/duplicate", key: direct).status == 403)
        }
    }

    @Test("stores no topic for a change that is refused")
    func topics() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = try await world.send(app, #""audience": {"users": ["ann"]}, \#(texts), \#(scheduled)"#)
            let broadcaster = try await world.key(app, #""broadcast""#, name: "broadcaster")
            let tokens =
                #"{"audience": {"tokens": [{"provider": "apns", "token": "a001", "topic": "com.example.invented"}]}}"#
            let unknown = app + "/messages/01980000-0000-7000-8000-000000000000"
            #expect(try await world.call("PATCH", path, tokens, key: broadcaster).status == 403)
            #expect(try await world.call("PATCH", unknown, tokens, key: broadcaster).status == 404)
            #expect(try await world.pool.number("SELECT count(*) FROM routes") == 0)
        }
    }
}

@Suite("A duplicate of a message")
struct ServedDuplicateTests {
    @Test("repeats the message under a name of its own, and goes out only once it is resumed")
    func held() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", app + "/devices/phone", GatewayWorld.registration(1))
            let path = try await world.send(app, #""name": "Sale", \#(everybody), \#(texts)"#)
            let author = try await world.key(app, #""broadcast""#, name: "shop")
            let made = try await world.call("POST", path + "/duplicate", key: author)
            #expect(made.status == 201)
            #expect(try made.member("state") == "paused" && made.member("name") == "Sale (copy)")
            #expect(try made.member("author") == "shop")
            let copy = try #require(made.header("location"))
            #expect(copy != path)
            try await world.plan()
            let waiting = try await world.expect(200, "GET", copy)
            #expect(try waiting.member("state") == "paused" && waiting.member("audience") == .null)
            let original = try #require(try await world.expect(200, "GET", path).member("request")?.object)
            let request = try #require(try waiting.member("request")?.object)
            for name in ["audience", "notification", "options"] { #expect(request[name] == original[name]) }
            try await world.expect(200, "PATCH", copy, #"{"notification": {"body": "Last day"}}"#)
            #expect(try await world.expect(200, "POST", copy + "/resume").member("state") == "scheduled")
            try await world.plan()
            let sent = try await world.expect(200, "GET", copy)
            #expect(try sent.member("state") == "sending" && sent.member("audience") == 1)
        }
    }

    @Test("keeps a time that is ahead, and waits for it after it is resumed")
    func scheduledCopy() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = try await world.send(app, #"\#(everybody), "badge": 1, \#(scheduled)"#)
            let made = try await world.expect(201, "POST", path + "/duplicate")
            #expect(try made.member("name") == .null)
            let copy = try #require(made.header("location"))
            let time = try await world.expect(200, "GET", path).member("send_at")
            #expect(try await world.expect(200, "GET", copy).member("send_at") == time)
            #expect(try await world.expect(200, "POST", copy + "/resume").member("state") == "scheduled")
            try await world.plan()
            #expect(try await world.expect(200, "GET", copy).member("state") == "scheduled")
        }
    }

    @Test("returns the first answer to a repeated request, and makes another message for another one")
    func idempotent() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let first = try await world.send(app, #"\#(everybody), "badge": 1"#)
            let second = try await world.send(app, #"\#(everybody), "badge": 2"#)
            let key = ["Idempotency-Key: once"]
            let made = try await world.expect(201, "POST", first + "/duplicate", headers: key)
            let again = try await world.expect(201, "POST", first + "/duplicate", headers: key)
            #expect(again.body == made.body && again.header("idempotency-replayed") == "true")
            try await world.refuse(.idempotencyMismatch, "POST", second + "/duplicate", headers: key)
            try await world.pool.script("DELETE FROM message_contents")
            let last = try await world.expect(201, "POST", first + "/duplicate", headers: key)
            #expect(last.body == made.body)
            try await world.refuse(.unknownMessage, "POST", app + "/messages/17/duplicate")
        }
    }

    @Test("has a name of at most 120 characters")
    func longName() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let name = String(repeating: "x", count: 120)
            let path = try await world.send(app, #""name": "\#(name)", \#(everybody), "badge": 1"#)
            let copied = try await world.expect(201, "POST", path + "/duplicate").member("name")?.string
            #expect(copied == String(repeating: "x", count: 113) + " (copy)")
        }
    }

    @Test("can't be made of a push to a Live Activity, which carries the time of its message")
    func activity() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let members = #"""
                \#(everybody), "options": {"push_type": "liveactivity", "send_at": "\#(tomorrow)"},
                "apns": {"aps": {"event": "update", "content-state": {"goals": 1}}}
                """#
            let path = try await world.send(app, members)
            try await world.refuse(.notForPushType, "POST", path + "/duplicate")
            try await world.refuse(.notForPushType, "PATCH", path, #"{"send_at": null}"#, pointer: "/send_at")
        }
    }
}
