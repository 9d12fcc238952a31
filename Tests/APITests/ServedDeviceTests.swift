import Basis
import JSON
import Listener
import Model
import Postgres
import QueueRules
import RegistryRules
import Store
import TestSupport
import Testing

@Suite("The apps and devices API")
struct ServedDeviceTests {
    @Test("creates an app once, and returns it again for the same request")
    func apps() async throws {
        try await withGateway { world in
            let made = try await world.expect(201, "POST", "/v1/apps", #"{"slug": "tower", "name": "Tower ⏰"}"#)
            #expect(made.header("location") == "/v1/apps/tower")
            #expect(made.header("content-type") == "application/json")
            let again = try await world.expect(200, "POST", "/v1/apps", #"{"slug": "tower", "name": "Tower ⏰"}"#)
            #expect(again.body == made.body)
            #expect(try await world.expect(200, "GET", "/v1/apps/tower").body == made.body)
            try await world.refuse(
                .slugTaken, "POST", "/v1/apps", #"{"slug": "tower", "name": "Other"}"#, pointer: "/slug")
        }
    }

    @Test("lists apps page by page, each once")
    func appPages() async throws {
        try await withGateway { world in
            for slug in ["a", "b", "c", "d", "e"] { try await world.makeApp(slug) }
            var slugs: [String] = []
            var cursor = ""
            repeat {
                let page = try await world.expect(200, "GET", "/v1/apps?limit=2&cursor=\(cursor)").json()
                slugs += page["items"]?.array?.compactMap { $0.object?["slug"]?.string } ?? []
                cursor = page["next"]?.string ?? ""
            } while !cursor.isEmpty
            #expect(slugs == ["a", "b", "c", "d", "e"])
        }
    }

    @Test("creates, keeps, changes and removes a registration")
    func device() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.refuse(.unknownDevice, "GET", path)
            let body = GatewayWorld.registration(1, #", "user": "ann", "tags": ["news"], "badge": 3"#)
            let made = try await world.expect(201, "PUT", path, body)
            #expect(made.header("location") == path)
            #expect(try made.member("change") == "created")
            #expect(try made.member("badge") == 3)
            #expect(try await world.expect(200, "PUT", path, body).member("change") == "unchanged")
            let replaced = try await world.expect(200, "PUT", path, GatewayWorld.registration(2)).json()
            #expect(replaced["change"] == "replaced")
            #expect(replaced["user"] == "ann")
            #expect(replaced["tags"] == ["news"])
            #expect(replaced["badge"] == 3)
            let read = try await world.expect(200, "GET", path)
            #expect(try read.member("state") == "active")
            #expect(try read.member("token") == "…0002")
            #expect(!read.text.contains(GatewayWorld.token(2)))
            #expect(try await world.expect(204, "DELETE", path).body.isEmpty)
            try await world.refuse(.unknownDevice, "DELETE", path)
        }
    }

    @Test("removes one kind of an installation, and nothing if the kind is unknown or empty")
    func oneKind() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.expect(201, "PUT", path, GatewayWorld.registration(1))
            try await world.expect(201, "PUT", path, GatewayWorld.registration(2, #", "kind": "voip""#))
            for query in ["?kind=banner", "?kind=", "?kind"] {
                try await world.refuse(.invalidQuery, "DELETE", path + query)
            }
            try await world.refuse(.unknownDevice, "DELETE", path + "?kind=widget")
            try await world.expect(204, "DELETE", path + "?kind=voip")
            try await world.refuse(.unknownDevice, "DELETE", path + "?kind=voip")
            let left = try await world.expect(200, "GET", path).member("registrations")?.array ?? []
            #expect(left.compactMap { $0.object?["kind"] } == ["alert"])
            try await world.expect(204, "DELETE", path + "?kind=alert")
            try await world.refuse(.unknownDevice, "GET", path)
        }
    }

    @Test("sets the badge of all of a user's devices, for one kind of token")
    func badgesOfUser() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            for number in 1...2 {
                try await world.expect(
                    201, "PUT", app + "/devices/i\(number)", GatewayWorld.registration(number, #", "user": "ann/b""#))
            }
            try await world.expect(
                201, "PUT", app + "/devices/i1", GatewayWorld.registration(3, #", "kind": "voip", "user": "ann/b""#))
            let badge = app + "/users/ann%2Fb/badge"
            for _ in 1...2 {
                #expect(try await world.expect(200, "PUT", badge, #"{"badge": 4}"#).text == #"{"devices":2}"#)
            }
            for (device, number) in ["i1/badge": 4, "i2/badge": 4, "i1/badge?kind=voip": 0] as [String: JSONValue] {
                #expect(try await world.expect(200, "GET", app + "/devices/\(device)").member("badge") == number)
            }
            let voip = try await world.expect(200, "PUT", badge + "?kind=voip", #"{"badge": 1}"#)
            #expect(try voip.member("devices") == 1)
            let nobody = try await world.expect(200, "PUT", app + "/users/nobody/badge", #"{"badge": 1}"#)
            #expect(try nobody.member("devices") == 0)
            try await world.refuse(.missingMember, "PUT", badge, "{}", pointer: "/badge")
            try await world.refuse(.invalidValue, "PUT", badge, #"{"badge": -1}"#, pointer: "/badge")
            try await world.refuse(.invalidQuery, "PUT", badge + "?kind=banner", #"{"badge": 1}"#)
            let long = String(repeating: "x", count: 257)
            try await world.refuse(.valueTooLong, "PUT", app + "/users/\(long)/badge", #"{"badge": 1}"#)
            try await world.refuse(.unknownApp, "PUT", "/v1/apps/none/users/ann/badge", #"{"badge": 1}"#)
        }
    }

    @Test("creates a new installation, even if its token was registered elsewhere before")
    func movedHere() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", "\(app)/devices/i1", GatewayWorld.registration(1))
            let made = try await world.expect(201, "PUT", "\(app)/devices/i2", GatewayWorld.registration(1))
            #expect(try made.member("change") == "moved")
            #expect(made.header("location") == "\(app)/devices/i2")
            let back = try await world.expect(200, "PUT", "\(app)/devices/i1", GatewayWorld.registration(1))
            #expect(try back.member("change") == "moved")
        }
    }

    @Test("shows the environment that a device was found in, until its token changes")
    func otherEnvironment() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            let body = GatewayWorld.registration(1)
            #expect(try await world.expect(201, "PUT", path, body).member("environment") == "production")
            let routes = try await world.pool.read(
                Query(Statement(unprepared: "SELECT id FROM routes ORDER BY environment"))
            ).map(Int64.init).map(RouteID.init)
            let verdict = GuardedVerdict(
                registration: RegistrationID(1), generation: TokenGeneration(1), route: routes[0],
                verdict: .found(on: routes[1]), asOf: WallInstant(secondsSince1970: 0))
            let rule = SuspicionRule(window: .seconds(600), shareMax: 0.2, sampleMin: 50)
            _ = try await world.stores.parcels.applyVerdicts([verdict], under: rule)
            #expect(try await world.expect(200, "GET", path).member("environment") == "sandbox")
            let again = try await world.expect(200, "PUT", path, body).json()
            #expect(again["change"] == "unchanged" && again["environment"] == "sandbox")
            let replaced = try await world.expect(200, "PUT", path, GatewayWorld.registration(2)).json()
            #expect(replaced["change"] == "replaced" && replaced["environment"] == "production")
        }
    }

    @Test("shows every kind of token of an installation, alert first")
    func kinds() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.expect(201, "PUT", path, GatewayWorld.registration(1, #", "kind": "voip""#))
            try await world.expect(201, "PUT", path, GatewayWorld.registration(2))
            let read = try await world.expect(200, "GET", path).json()
            #expect(read["kind"] == "alert")
            #expect(read["registrations"]?.array?.compactMap { $0.object?["kind"]?.string } == ["alert", "voip"])
            #expect(try await world.expect(200, "GET", path + "?kind=voip").member("token") == "…0001")
            try await world.refuse(.unknownDevice, "GET", path + "?kind=widget")
            try await world.refuse(.invalidQuery, "GET", path + "?kind=banner")
        }
    }

    @Test(
        "decodes an installation's name once, and accepts any text",
        arguments: [
            ("a%2Fb", "a/b"), ("%252F", "%2F"), ("a%20b+c", "a b+c"), ("%F0%9F%94%94", "🔔"), ("import", "import"),
            ("'%22%3B--", "'\";--"), ("%0A", "\n"), ("...", "..."), ("e%CC%81", "e\u{301}"),
        ])
    func names(encoded: String, name: String) async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/" + encoded
            let made = try await world.expect(201, "PUT", path, GatewayWorld.registration(1))
            #expect(try made.member("installation") == .string(name))
            #expect(made.header("location") == path)
            #expect(try await world.expect(200, "GET", path).member("installation") == .string(name))
            try await world.expect(204, "DELETE", path)
        }
    }

    @Test("refuses an installation's name that is not percent-encoded")
    func rawName() async throws {
        try await withGateway { world in
            let devices = try await world.makeApp() + "/devices/"
            let refused = try await world.call("PUT", devices + "gl\u{f6}ckchen", GatewayWorld.registration(1))
            #expect(refused.status == 400)
            try await world.refuse(.unknownDevice, "GET", devices + "gl%C3%B6ckchen")
        }
    }

    @Test("limits an installation's name to 256 bytes")
    func longName() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/"
            let longest = String(repeating: "%C3%A9", count: 128)
            try await world.expect(201, "PUT", path + longest, GatewayWorld.registration(1))
            try await world.refuse(.valueTooLong, "PUT", path + longest + "a", GatewayWorld.registration(1))
        }
    }

    @Test("refuses an invalid registration with a pointer to the wrong member")
    func refusedRegistration() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.refuse(
                .invalidToken, "PUT", path, #"{"provider": "apns", "token": "xyz"}"#, pointer: "/token")
            try await world.refuse(.malformedJSON, "PUT", path, "")
            try await world.refuse(.unknownApp, "PUT", "/v1/apps/other/devices/i1", GatewayWorld.registration(1))
        }
    }

    @Test("keeps attributes with numbers of extreme size")
    func attributes() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            let numbers = #"{"big": 1.5e308, "small": 1e-300, "long": 0.1234567890123456789012345678901234567890}"#
            try await world.expect(
                201, "PUT", path, GatewayWorld.registration(1, #", "attributes": \#(numbers)"#))
            let read = try await world.expect(200, "GET", path).member("attributes")?.object
            #expect(read?.count == 3)
            #expect(read?["big"]?.number?.double == 1.5e308)
        }
    }

    @Test("sets, reads and consumes a badge, never below zero")
    func badge() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.refuse(.unknownDevice, "GET", path + "/badge")
            try await world.refuse(.unknownDevice, "PUT", path + "/badge", #"{"badge": 1}"#)
            try await world.refuse(.unknownDevice, "POST", path + "/badge/consume", #"{"count": 1}"#)
            try await world.expect(201, "PUT", path, GatewayWorld.registration(1))
            let set = try await world.expect(200, "PUT", path + "/badge", #"{"badge": 5}"#)
            #expect(set.text == #"{"installation":"i1","kind":"alert","badge":5}"#)
            #expect(try await world.expect(200, "GET", path + "/badge").body == set.body)
            let consumed = try await world.expect(200, "POST", path + "/badge/consume", #"{"count": 2}"#)
            #expect(try consumed.member("badge") == 3)
            let empty = try await world.expect(200, "POST", path + "/badge/consume", #"{"count": 9}"#)
            #expect(try empty.member("badge") == 0)
        }
    }

    @Test("consumes a badge once per Idempotency-Key")
    func consumeOnce() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/devices/i1"
            try await world.expect(201, "PUT", path, GatewayWorld.registration(1, #", "badge": 10"#))
            let key = ["Idempotency-Key: read-17"]
            let consume = path + "/badge/consume"
            let first = try await world.expect(200, "POST", consume, #"{"count": 3}"#, headers: key)
            #expect(first.header("idempotency-replayed") == nil)
            let second = try await world.expect(200, "POST", consume, #"{"count": 3}"#, headers: key)
            #expect(second.body == first.body)
            #expect(second.header("idempotency-replayed") == "true")
            #expect(try await world.expect(200, "GET", path + "/badge").member("badge") == 7)
            try await world.refuse(.idempotencyMismatch, "POST", consume, #"{"count": 4}"#, headers: key)
            let other = path.dropLast(2) + "i2/badge/consume"
            try await world.refuse(.idempotencyMismatch, "POST", String(other), #"{"count": 3}"#, headers: key)
            try await world.refuse(
                .invalidIdempotencyKey, "POST", consume, #"{"count": 3}"#, headers: ["Idempotency-Key: a b"])
        }
    }

    @Test("repeats unknown_device under the same Idempotency-Key")
    func consumeUnknown() async throws {
        try await withGateway { world in
            let consume = try await world.makeApp() + "/devices/i1/badge/consume"
            let key = ["Idempotency-Key: read-17"]
            try await world.refuse(.unknownDevice, "POST", consume, #"{"count": 3}"#, headers: key)
            let again = try await world.refuse(.unknownDevice, "POST", consume, #"{"count": 3}"#, headers: key)
            #expect(again.header("idempotency-replayed") == "true")
        }
    }

    @Test("holds large lists and lookups that nobody reads within the app's budget", arguments: [true, false])
    func unreadAnswers(isLookup: Bool) async throws {
        var limits = GatewayLimits()
        limits.answersInFlightBytesMax = 2 << 20
        limits.answerBytesUsual = 1 << 20
        try await withGateway(limits: limits) { world in
            let devices = try await world.makeApp() + "/devices"
            let attributes = #", "attributes": {"note": "\#(String(repeating: "x", count: 8_000))"}"#
            for number in 1...110 {
                let body = GatewayWorld.registration(number, attributes)
                try await world.expect(201, "PUT", devices + "/i\(number)", body)
            }
            let tokens = (1...110).map { #""\#(GatewayWorld.token($0))""# }.joined(separator: ",")
            let (method, path) = isLookup ? ("POST", devices + "/lookup") : ("GET", devices + "?limit=200")
            let body = isLookup ? #"{"tokens": [\#(tokens)]}"# : nil
            let stuck = try Wire(port: world.port)
            try await stuck.send(GatewayWorld.request(method, path, body))
            let head = try await stuck.head()
            #expect(head.status == 200)
            try await world.refuse(.shareUsedUp, method, path, body)
            try await world.expect(200, "GET", devices + "?limit=1")
            #expect(try await stuck.reply(after: head).body.count > 880_000)
            try await eventually("room for another answer") { try await world.call(method, path, body).status == 200 }
        }
    }

    @Test("lists token feedback page by page, and continues from the last cursor")
    func feedback() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let nothing = try await world.expect(200, "GET", app + "/feedback")
            #expect(nothing.text == #"{"items":[],"next":null}"#)
            for number in 1...3 {
                let path = "\(app)/devices/i\(number)"
                try await world.expect(201, "PUT", path, GatewayWorld.registration(number))
                try await world.expect(200, "PUT", path, GatewayWorld.registration(number + 100))
            }
            var items: [JSONValue] = []
            var cursor: String?
            try await eventually("the feedback to show the three entries") {
                let query = "?limit=2" + (cursor.map { "&after=\($0)" } ?? "")
                let page = try await world.expect(200, "GET", app + "/feedback" + query).json()
                items += page["items"]?.array ?? []
                cursor = page["next"]?.string ?? cursor
                return items.count >= 3
            }
            #expect(items.compactMap { $0.object?["installation"]?.string } == ["i1", "i2", "i3"])
            #expect(items.allSatisfy { $0.object?["verdict"] == "replaced" })
            let end = try #require(cursor)
            let later = try await world.expect(200, "GET", app + "/feedback?after=\(end)")
            #expect(later.text == #"{"items":[],"next":"\#(end)"}"#)
            try await world.refuse(.invalidCursor, "GET", app + "/feedback?after=nonsense")
            try await world.pool.script(
                """
                INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason,
                    from_environment, to_environment)
                SELECT app_id, id, generation, installation, kind, provider, 7, 'accepted', 1, 2 FROM registrations
                WHERE installation = 'i1'
                """)
            let found = try await world.expect(200, "GET", app + "/feedback?after=\(end)").member("items")?.array
            #expect(found?.first?.object?["verdict"] == "environment_changed")
            #expect(found?.first?.object?["from"] == "production" && found?.first?.object?["to"] == "sandbox")
        }
    }

    @Test("refuses a feedback cursor older than the retention, and serves the feed from the start")
    func sweptFeedback() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            func replace(_ number: Int) async throws {
                let path = "\(app)/devices/i\(number)"
                try await world.expect(201, "PUT", path, GatewayWorld.registration(number))
                try await world.expect(200, "PUT", path, GatewayWorld.registration(number + 100))
            }
            try await replace(1)
            let read = try await world.expect(200, "GET", app + "/feedback").member("next")?.string
            try await replace(2)
            try await world.pool.script("UPDATE feedback SET at = at - interval '2 days'")
            try await replace(3)
            let retention = Retention(historyDays: 30, contentDays: 30, feedbackDays: 1)
            #expect(try await Stores(pool: world.pool).sweeper.sweep(retention) == 2)
            let cursor = try #require(read)
            try await world.refuse(.feedbackSwept, "GET", app + "/feedback?after=\(cursor)")
            let anew = try await world.expect(200, "GET", app + "/feedback")
            #expect(try anew.member("items")?.array?.compactMap { $0.object?["installation"]?.string } == ["i3"])
            let next = try #require(try anew.member("next")?.string)
            try await world.expect(200, "GET", app + "/feedback?after=\(next)")
        }
    }
}
