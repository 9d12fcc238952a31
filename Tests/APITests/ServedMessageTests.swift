import Basis
import Calendar
import Model
import Postgres
import Reactor
import Testing

@Suite("The messages API")
struct ServedMessageTests {
    private static let hello = #"{"audience": {"all": true}, "notification": {"body": "Noon"}, "badge": "increment"}"#

    @Test("accepts a message, and returns it by its id")
    func accepted() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let reply = try await world.expect(202, "POST", path, Self.hello)
            let id = try #require(try reply.member("id")?.string)
            #expect(reply.header("location") == "\(path)/\(id)")
            #expect(try reply.member("state") == "accepted")
            #expect(try reply.member("audience") == .null)
            #expect(try reply.member("pending") == 0)
            let read = try await world.expect(200, "GET", "\(path)/\(id)").json()
            #expect(read["id"]?.string == id)
            #expect(read["outcomes"]?.object?.count == 7)
            try await world.refuse(.unknownMessage, "GET", "\(path)/01920000-0000-7000-8000-000000000000")
            try await world.refuse(.unknownMessage, "GET", "\(path)/17")
            try await world.makeApp("other")
            try await world.refuse(.unknownMessage, "GET", "/v1/apps/other/messages/\(id)")
        }
    }

    @Test("sums up the requested audience, shows no token, and filters by state")
    func asked() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let audiences = [
                #"{"users":["ann","bob"]}"#, #"{"tags":{"any":["news"]},"providers":["apns"]}"#,
                #"{"tokens":[{"provider":"apns","topic":"com.example.app","token":"00ff"}],"kind":"alert"}"#,
            ]
            let asked = [
                #"{"users":2}"#, #"{"tags":{"any":["news"]},"providers":["apns"]}"#, #"{"tokens":1,"kind":"alert"}"#,
            ]
            let hour = RFC3339.format(Clocks.wallNow() + .seconds(3_600))
            for (audience, expected) in zip(audiences, asked) {
                let sent = try await world.expect(
                    202, "POST", path,
                    #"{"audience": \#(audience), "notification": {"body": "Noon"}, "options": {"send_at": "\#(hour)"}}"#
                )
                let id = try #require(try sent.member("id")?.string)
                let reply = try await world.expect(200, "GET", "\(path)/\(id)")
                #expect(reply.text.contains(#""push_type":"alert","dry_run":false,"asked":\#(expected)"#))
                #expect(!reply.text.contains("00ff"))
            }
            let open = try await world.expect(200, "GET", path + "?state=scheduled&limit=2")
            #expect(try open.member("items")?.array?.count == 2)
            let next = try #require(try open.member("next")?.string)
            let remaining = try await world.expect(200, "GET", path + "?state=scheduled&limit=2&cursor=\(next)")
            #expect(try remaining.member("items")?.array?.count == 1)
            #expect(try await world.expect(200, "GET", path + "?state=finished").member("items")?.array?.count == 0)
            try await world.refuse(.invalidQuery, "GET", path + "?state=done")
        }
    }

    @Test("pauses, resumes and cancels a message any number of times, until it has ended")
    func lifecycle() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let id = try #require(try await world.expect(202, "POST", path, Self.hello).member("id")?.string)
            for (control, state) in [
                ("pause", "paused"), ("pause", "paused"), ("resume", "accepted"), ("resume", "accepted"),
                ("cancel", "cancelled"), ("cancel", "cancelled"),
            ] {
                let reply = try await world.expect(200, "POST", "\(path)/\(id)/\(control)")
                #expect(try reply.member("state")?.string == state && reply.member("id")?.string == id)
            }
            #expect(try await world.expect(200, "GET", path + "?state=cancelled").member("items")?.array?.count == 1)
            try await world.refuse(.messageOver, "POST", "\(path)/\(id)/resume")
            try await world.refuse(.unknownMessage, "POST", "\(path)/17/cancel")
            try await world.makeApp("other")
            try await world.refuse(.unknownMessage, "POST", "/v1/apps/other/messages/\(id)/cancel")
        }
    }

    @Test("sets, changes and removes the rate of a message until it has ended")
    func rates() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let fast = #"{"audience": {"all": true}, "badge": 1, "options": {"rate_per_second": 20000}}"#
            let id = try #require(try await world.expect(202, "POST", path, fast).member("id")?.string)
            #expect(try await world.expect(200, "GET", "\(path)/\(id)").member("rate_per_second") == 20_000)
            let slow = #"{"rate_per_second": 1}"#
            #expect(try await world.expect(200, "PATCH", "\(path)/\(id)", slow).member("rate_per_second") == 1)
            _ = try await world.expect(200, "POST", "\(path)/\(id)/pause")
            let none = try await world.expect(200, "PATCH", "\(path)/\(id)", #"{"rate_per_second": null}"#)
            #expect(try none.member("rate_per_second") == nil && none.member("state") == "paused")
            let pointer = "/rate_per_second"
            try await world.refuse(.unknownMember, "PATCH", "\(path)/\(id)", #"{"rate": 5}"#, pointer: "/rate")
            try await world.refuse(.missingMember, "PATCH", "\(path)/\(id)", "{}", pointer: "")
            for value in ["0", "1000001", "1.5"] {
                let body = #"{"rate_per_second": \#(value)}"#
                try await world.refuse(.invalidValue, "PATCH", "\(path)/\(id)", body, pointer: pointer)
            }
            let more = #"{"rate_per_second": 1, "x": 1}"#
            try await world.refuse(.unknownMember, "PATCH", "\(path)/\(id)", more, pointer: "/x")
            _ = try await world.expect(200, "POST", "\(path)/\(id)/cancel")
            try await world.refuse(.messageOver, "PATCH", "\(path)/\(id)", slow)
            try await world.refuse(.unknownMessage, "PATCH", path + "/17", slow)
        }
    }

    @Test("schedules a message for send_at, within limits, and repeats the answer to its key")
    func hours() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            func message(_ hour: WallInstant) -> String {
                #"{"audience": {"all": true}, "badge": 1, "options": {"send_at": "\#(RFC3339.format(hour))"}}"#
            }
            let now = Clocks.wallNow()
            let tomorrow = message(now + .seconds(86_400))
            let key = ["Idempotency-Key: tomorrow"]
            let sent = try await world.expect(202, "POST", path, tomorrow, headers: key)
            #expect(try sent.member("state") == "scheduled")
            let id = try #require(try sent.member("id")?.string)
            let read = try await world.expect(200, "GET", "\(path)/\(id)")
            #expect(try read.member("state") == "scheduled" && read.member("send_at")?.string != nil)
            #expect(try await world.expect(202, "POST", path, tomorrow, headers: key).member("id")?.string == id)
            #expect(
                try await world.expect(202, "POST", path, message(now + .seconds(-60))).member("state") == "accepted")
            try await world.refuse(
                .invalidValue, "POST", path, message(now + .seconds(-86_400)), pointer: "/options/send_at")
            try await world.refuse(
                .invalidValue, "POST", path, message(now + .seconds(400 * 86_400)), pointer: "/options/send_at")
            #expect(try await world.expect(200, "POST", "\(path)/\(id)/cancel").member("audience") == 0)
        }
    }

    @Test("schedules a message for a local time of each device, and shows that time")
    func localHours() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            func message(_ hour: WallInstant) -> String {
                #"""
                {"audience": {"all": true}, "badge": 1,
                 "options": {"send_at": "\#(RFC3339.formatLocal(hour))", "device_local_time": true}}
                """#
            }
            let now = WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970)
            let tomorrow = now + .seconds(86_400)
            let key = ["Idempotency-Key: tomorrow"]
            let sent = try await world.expect(202, "POST", path, message(tomorrow), headers: key)
            #expect(try sent.member("state") == "scheduled")
            let id = try #require(try sent.member("id")?.string)
            #expect(
                try await world.expect(202, "POST", path, message(tomorrow), headers: key).member("id")?.string == id)
            let read = try await world.expect(200, "GET", "\(path)/\(id)")
            #expect(try read.member("send_at")?.string == RFC3339.formatLocal(tomorrow))
            #expect(try read.member("device_local_time") == true)
            let last = tomorrow + LocalHour.behindMax + .seconds(86_400)
            #expect(try read.member("expires_at")?.string == RFC3339.format(last))
            // Somewhere on earth that local time has already begun.
            #expect(try await world.expect(202, "POST", path, message(now)).member("state") == "accepted")
            try await world.refuse(
                .invalidValue, "POST", path, message(now + .seconds(-13 * 3_600)), pointer: "/options/send_at")
            #expect(try await world.expect(200, "POST", "\(path)/\(id)/cancel").member("audience") == 0)
        }
    }

    private static let apple = #"{"provider": "apns", "token": "00ff", "topic": "com.example.app"}"#
    private static let google = #"{"provider": "fcm", "token": "cY3b:APA91bH"}"#

    /// A message with these members, to this audience.
    private static func message(_ members: String, _ audience: String = #""all": true"#) -> String {
        #"{"audience": {\#(audience)}, "notification": {"body": "Noon"}, \#(members)}"#
    }

    @Test(
        "accepts members that only FCM refuses, if the app has no FCM devices",
        arguments: ["from", "message_type", "notification", "google.a", "gcm.notification.x"])
    func reservedNames(name: String) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = app + "/messages"
            let members = #""data": {"\#(name)": "x"}"#
            let message = Self.message(members)
            // The app has no devices yet, so a device of any provider may come.
            try await world.refuse(.reservedKey, "POST", path, message, pointer: "/data/\(name)")
            try await world.expect(201, "PUT", app + "/devices/phone", Self.apple)
            let key = ["Idempotency-Key: before-fcm"]
            let first = try await world.expect(202, "POST", path, message, headers: key)
            try await world.expect(201, "PUT", app + "/devices/other", Self.google)
            try await world.refuse(.reservedKey, "POST", path, message, pointer: "/data/\(name)")
            try await world.expect(202, "POST", path, Self.message(members, #""all": true, "providers": ["apns"]"#))
            let again = try await world.expect(202, "POST", path, message, headers: key)
            #expect(again.body == first.body)
        }
    }

    @Test("validates a provider's own object even if the app has no devices there")
    func ownObject() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = app + "/messages"
            try await world.expect(201, "PUT", app + "/devices/phone", Self.apple)
            try await world.refuse(
                .reservedKey, "POST", path, Self.message(#""fcm": {"token": "x"}"#), pointer: "/fcm/token")
            try await world.expect(202, "POST", path, #"{"audience": {"all": true}, "fcm": {"data": {"a": "b"}}}"#)
        }
    }

    @Test("validates a message to tokens for the tokens' providers only")
    func tokensNameTheirProviders() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = app + "/messages"
            try await world.expect(201, "PUT", app + "/devices/phone", Self.google)
            let data = #""data": {"from": "x"}"#
            try await world.expect(202, "POST", path, Self.message(data, #""tokens": [\#(Self.apple)]"#))
            try await world.refuse(
                .reservedKey, "POST", path, Self.message(data, #""tokens": [\#(Self.google)]"#),
                pointer: "/data/from")
        }
    }

    @Test("measures the payload by the providers that the app reaches")
    func sizes() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let path = app + "/messages"
            try await world.expect(201, "PUT", app + "/devices/phone", Self.apple)
            // FCM counts the message's id, too.
            let message = Self.message(#""data": {"k": "\#(String(repeating: "x", count: 4_048))"}"#)
            try await world.expect(202, "POST", path, message)
            try await world.expect(201, "PUT", app + "/devices/other", Self.google)
            try await world.refuse(.payloadTooLarge, "POST", path, message, pointer: "")
        }
    }

    @Test("refuses inline tokens that name one topic too many")
    func tooManyTopics() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let crowd = Statement(
                unprepared: """
                    INSERT INTO routes (app_id, provider, environment, topic, number)
                    SELECT id, 1, 1, 't' || n, n FROM apps, generate_series(1, 1000) AS n
                    """)
            _ = try await world.pool.run(Query(crowd))
            try await world.refuse(
                .tooManyTopics, "POST", path,
                #"{"audience": {"tokens": [{"provider": "apns", "topic": "new", "token": "00"}]}, "sound": "x"}"#,
                pointer: "/audience/tokens")
        }
    }

    @Test("reports the answered step only for an accepted message")
    func answeredStep() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            try await world.refuse(.missingMember, "POST", path, "{}", pointer: "/audience")
            #expect(world.steps.all.isEmpty)
            try await world.expect(202, "POST", path, Self.hello)
            try await world.steps.reach([.messageAnswered])
        }
    }

    @Test("repeats the first answer to the same Idempotency-Key, without a second message")
    func once() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let key = ["Idempotency-Key: 7f0c1e9a-2b1d"]
            let first = try await world.expect(202, "POST", path, Self.hello, headers: key)
            let second = try await world.expect(202, "POST", path, Self.hello, headers: key)
            #expect(second.body == first.body)
            #expect(second.header("location") == first.header("location"))
            #expect(first.header("idempotency-replayed") == nil)
            #expect(second.header("idempotency-replayed") == "true")
            try await world.refuse(.idempotencyMismatch, "POST", path, Self.hello + " ", headers: key)
            let list = try await world.expect(200, "GET", path).member("items")?.array
            #expect(list?.count == 1)
            try await world.makeApp("other")
            let other = try await world.expect(202, "POST", "/v1/apps/other/messages", Self.hello, headers: key)
            #expect(try other.member("id") != first.member("id"))
        }
    }

    @Test("takes simultaneous requests with one Idempotency-Key as one message")
    func duplicates() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            let replies = try await withThrowingTaskGroup(of: WireReply.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await world.expect(202, "POST", path, Self.hello, headers: ["Idempotency-Key: twin"])
                    }
                }
                return try await group.reduce(into: [WireReply]()) { $0.append($1) }
            }
            #expect(Set(replies.map(\.text)).count == 1)
            #expect(replies.filter { $0.header("idempotency-replayed") == nil }.count == 1)
        }
    }

    @Test("lists messages, the last accepted first, page by page")
    func pages() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            var sent: [String] = []
            for _ in 0..<5 {
                sent.append(try #require(try await world.expect(202, "POST", path, Self.hello).member("id")?.string))
            }
            var listed: [String] = []
            // Without their Z, times are sorted as texts.
            var times: [Substring] = []
            var cursor = ""
            repeat {
                let page = try await world.expect(200, "GET", "\(path)?limit=2&cursor=\(cursor)").json()
                listed += page["items"]?.array?.compactMap { $0.object?["id"]?.string } ?? []
                times += page["items"]?.array?.compactMap { $0.object?["accepted_at"]?.string?.dropLast() } ?? []
                cursor = page["next"]?.string ?? ""
            } while !cursor.isEmpty
            #expect(listed.sorted() == sent.sorted())
            #expect(times.count == 5 && times == times.sorted(by: >))
            try await world.refuse(.invalidCursor, "GET", path + "?cursor=1")
        }
    }

    @Test("refuses a message that APNs would refuse")
    func content() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/messages"
            func message(_ members: String) -> String { #"{"audience": {"all": true}, \#(members)}"# }
            let long = String(repeating: "x", count: 5_000)
            let reply = try await world.refuse(
                .payloadTooLarge, "POST", path, message(#""notification": {"body": "\#(long)"}"#), pointer: "")
            #expect(reply.text.contains("4096"))
            #expect(!reply.text.contains("xxx"))
            try await world.refuse(.nothingToShow, "POST", path, message(#""data": {"a": "b"}"#), pointer: "")
            try await world.refuse(
                .notForPushType, "POST", path, message(#""sound": "x", "options": {"push_type": "widgets"}"#),
                pointer: "/sound")
            try await world.refuse(
                .notForBackground, "POST", path, message(#""sound": "x", "options": {"push_type": "background"}"#),
                pointer: "/sound")
            try await world.refuse(
                .priorityNotAllowed, "POST", path,
                message(#""options": {"push_type": "background", "priority": "high"}"#),
                pointer: "/options/priority")
            try await world.refuse(
                .invalidCollapseID, "POST", path,
                message(#""sound": "x", "options": {"collapse_id": "\#(String(repeating: "c", count: 65))"}"#),
                pointer: "/options/collapse_id")
            try await world.refuse(
                .badgeTwice, "POST", path, message(#""badge": 1, "apns": {"aps": {"badge": 2}}"#),
                pointer: "/apns/aps/badge")
            try await world.refuse(
                .invalidValue, "POST", path, message(#""sound": "x", "apns": {"aps": {"interruption-level": "loud"}}"#),
                pointer: "/apns/aps/interruption-level")
            #expect(try await world.expect(200, "GET", path).text == #"{"items":[],"next":null}"#)
        }
    }

    @Test("refuses a message of an unknown app")
    func unknownApp() async throws {
        try await withGateway { world in
            try await world.refuse(.unknownApp, "POST", "/v1/apps/none/messages", Self.hello)
        }
    }
}
