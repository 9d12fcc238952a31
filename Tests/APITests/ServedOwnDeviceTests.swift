import JSON
import Requests
import Testing

@Suite("A user's token")
struct ServedOwnDeviceTests {
    private static let phone = ItemApp.device("phone")
    private static let all = ItemApp.subscriptions()

    @Test("registers the user's installation, and says what became of the token")
    func registers() async throws {
        try await ItemApp.with { world in
            let ann = try ItemApp.token(of: "ann")
            for (token, status, tokenStatus, change) in [
                ("a:1", 201, "first_use", "created"), ("a:1", 200, "unchanged", "unchanged"),
                ("a:2", 200, "changed", "replaced"), ("a:2", 200, "unchanged", "unchanged"),
            ] {
                let reply = try await world.expect(
                    status, as: ann, "PUT", Self.phone, ItemApp.registration(token))
                #expect(try reply.member("token_status")?.string == tokenStatus)
                #expect(try reply.member("change")?.string == change)
                #expect(try reply.member("user") == "ann")
            }
            let byBackend = try await world.expect(200, "PUT", Self.phone, ItemApp.registration("a:2"))
            #expect(try byBackend.member("token_status") == nil)
            try await world.expect(200, as: ann, "PUT", Self.phone + "/badge", #"{"badge": 0}"#)
            try await world.expect(204, as: ann, "DELETE", Self.phone)
            try await world.refuse(.unknownDevice, "GET", Self.phone)
        }
    }

    @Test("gives only what an app knows of its device")
    func members() async throws {
        try await ItemApp.with { world in
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(
                201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1", #", "locale": "fr", "app_version": "2""#))
            for member in [
                #""user": "bob""#, #""tags": []"#, #""attributes": {}"#, #""badge": 1"#, #""kind": "alert""#,
            ] {
                try await world.expect(
                    403, "permission_denied", as: ann, "PUT", Self.phone, ItemApp.registration("a:1", ", " + member))
            }
            try await world.expect(
                403, "permission_denied", as: try ItemApp.token(of: ".."), "PUT", Self.phone,
                ItemApp.registration("a:9"))
            #expect(try await world.expect(200, "GET", Self.phone).member("locale") == "fr")
        }
    }

    @Test("takes no installation and no token of another user, or of a backend that named none")
    func ofOthers() async throws {
        try await ItemApp.with { world in
            let (ann, bob) = (try ItemApp.token(of: "ann"), try ItemApp.token(of: "bob"))
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(201, "PUT", ItemApp.device("till"), ItemApp.registration("a:2"))
            for (installation, token) in [("phone", "a:3"), ("till", "a:3"), ("other", "a:1"), ("other", "a:2")] {
                try await world.expect(
                    403, "permission_denied", as: bob, "PUT", ItemApp.device(installation), ItemApp.registration(token))
            }
            try await world.refuse(.unknownDevice, "GET", ItemApp.device("other"))
            for name in ["phone", "till", "nowhere"] {
                let device = ItemApp.device(name)
                try await world.expect(404, "unknown_device", as: bob, "DELETE", device)
                try await world.expect(404, "unknown_device", as: bob, "PUT", device + "/badge", #"{"badge": 1}"#)
                for method in ["GET", "DELETE"] {
                    try await world.expect(404, "unknown_device", as: bob, method, device + "/subscriptions")
                }
                try await world.expect(
                    404, "unknown_device", as: bob, "POST", device + "/subscriptions", ItemApp.activation())
            }
            // A user's own tokens may move among the user's installations.
            let moved = try await world.expect(201, as: ann, "PUT", ItemApp.device("new"), ItemApp.registration("a:1"))
            #expect(try moved.member("token_status") == "first_use" && moved.member("change") == "moved")
        }
    }

    @Test("removes no installation that has a token of another user, or of a backend that named none")
    func ofOtherKind() async throws {
        try await ItemApp.with { world in
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            for (status, user) in [(201, #""bob""#), (200, "null")] {
                let calls = GatewayWorld.registration(1, #", "kind": "voip", "user": \#(user)"#)
                try await world.expect(status, "PUT", Self.phone, calls)
                try await world.expect(404, "unknown_device", as: ann, "DELETE", Self.phone)
            }
            try await world.expect(204, "DELETE", Self.phone + "?kind=voip")
            try await world.expect(204, as: ann, "DELETE", Self.phone)
        }
    }

    @Test("opens nothing else, and is refused if no key of the app has signed it")
    func limits() async throws {
        try await ItemApp.with { world in
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            for (method, path) in [
                ("GET", Self.phone), ("PATCH", Self.phone), ("GET", ItemApp.path + "/devices"),
                ("GET", Self.phone + "/badge"), ("POST", Self.phone + "/badge/consume"),
                ("POST", ItemApp.path + "/items/a/updates"),
            ] { try await world.expect(401, "unauthorized", as: ann, method, path, method == "GET" ? nil : "{}") }
            for token in ["a.b.c", ann + "x", String(ann.dropFirst())] {
                try await world.expect(401, "unauthorized", as: token, "GET", Self.all)
                try await world.expect(401, "unauthorized", as: token, "PUT", Self.phone, ItemApp.registration("a:1"))
            }
            try await world.makeApp("bridge")
            try await world.expect(
                401, "unauthorized", as: ann, "GET", "/v1/apps/bridge/devices/phone/subscriptions")
            let devices = try await world.key(scope: "devices")
            try await world.expect(200, as: devices, "GET", Self.all)
            try await world.expect(403, "forbidden", as: try await world.key(scope: "nodes"), "GET", Self.all)
        }
    }

    @Test("registers nothing while the app's items are off, but may remove its device")
    func off() async throws {
        try await ItemApp.with { world in
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(200, "PATCH", ItemApp.path, #"{"triggers": {"enabled": false}}"#)
            try await world.expect(403, "disabled", as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(403, "disabled", as: ann, "POST", Self.all, ItemApp.activation())
            try await world.expect(200, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(204, as: ann, "DELETE", Self.phone)
        }
    }

    @Test("registers and subscribes with one call, and then inquires, modifies and deactivates")
    func oneCall() async throws {
        try await ItemApp.with { world in
            let ann = try ItemApp.token(of: "ann")
            let device = #", "coalescing": true, "device": \#(ItemApp.registration("a:1"))"#
            let made = try await world.expect(201, as: ann, "POST", Self.all, ItemApp.activation(device))
            let path = "\(Self.all)/" + (try #require(try made.member("key")?.string))
            #expect(try await world.expect(200, "GET", Self.phone).member("user") == "ann")
            try await world.expect(200, as: ann, "POST", Self.all, ItemApp.activation(device))
            try await world.expect(200, as: ann, "GET", path)
            try await world.expect(200, as: ann, "PATCH", path, #"{"sound": "bell"}"#)
            try await world.expect(200, as: ann, "POST", path + "/reactivate")
            try await world.expect(404, "unknown_device", as: try ItemApp.token(of: "bob"), "GET", path)
            let tagged = #", "device": \#(ItemApp.registration("a:1", #", "tags": ["vip"]"#))"#
            try await world.expect(403, "permission_denied", as: ann, "POST", Self.all, ItemApp.activation(tagged))
            try await world.expect(204, as: ann, "DELETE", path)
            for path in [Self.all, path] { try await world.expect(404, "unknown_device", as: ann, "GET", path) }
            try await world.refuse(.unknownDevice, "GET", Self.phone)
            try await world.expect(201, as: ann, "POST", Self.all, ItemApp.activation(device))
        }
    }

    @Test("loses its subscriptions when its installation gets another user")
    func nextUser() async throws {
        try await ItemApp.with { world in
            let (ann, bob) = (try ItemApp.token(of: "ann"), try ItemApp.token(of: "bob"))
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(201, as: ann, "POST", Self.all, ItemApp.activation())
            try await world.expect(200, "PUT", Self.phone, ItemApp.registration("a:1", #", "user": "bob""#))
            try await world.expect(404, "unknown_device", as: ann, "GET", Self.all)
            #expect(try await world.expect(200, as: bob, "GET", Self.all).member("items")?.array == [])
        }
    }
}

@Suite("A hook")
struct ServedHookTests {
    private static let phone = ItemApp.device("phone")
    private static let all = ItemApp.subscriptions()

    private static func set(_ hooks: String, _ world: GatewayWorld) async throws {
        try await world.expect(200, "PATCH", ItemApp.path, #"{"triggers": {"hooks": {\#(hooks)}}}"#)
    }

    @Test("denies every call of a user while it is missing, and no call of an API key")
    func missing() async throws {
        try await ItemApp.with(ItemApp.anyTrigger) { world in
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(403, "permission_denied", as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.refuse(.unknownDevice, "GET", Self.phone)
            try await world.expect(201, "PUT", Self.phone, ItemApp.registration("a:1", #", "user": "ann""#))
            let key = try #require(
                try await world.expect(201, "POST", Self.all, ItemApp.activation()).member("key")?.string)
            for (method, path, body) in [
                ("GET", Self.all, nil), ("GET", "\(Self.all)/\(key)", nil), ("DELETE", Self.all, nil),
                ("PATCH", "\(Self.all)/\(key)", "{}"), ("POST", "\(Self.all)/\(key)/reactivate", nil),
                ("POST", Self.all, ItemApp.activation()), ("PUT", Self.phone + "/badge", #"{"badge": 0}"#),
                ("DELETE", Self.phone, nil),
            ] as [(String, String, String?)] {
                try await world.expect(403, "permission_denied", as: ann, method, path, body)
            }
            try await Self.set(#""device": true"#, world)
            try await world.expect(200, as: ann, "GET", Self.all)
            try await world.expect(403, "permission_denied", as: ann, "POST", Self.all, ItemApp.activation())
            try await world.expect(403, "permission_denied", as: ann, "PATCH", "\(Self.all)/\(key)", "{}")
            try await world.expect(204, as: ann, "DELETE", Self.all)
        }
    }

    @Test("for devices sees the user, the data tree and the device")
    func device() async throws {
        try await ItemApp.with { world in
            let isPhone = "device.provider == 'fcm' && device.installation == 'phone'"
            try await Self.set(#""device": "root.blocked[auth.sub] != true && \#(isPhone)""#, world)
            try await world.expect(204, "PUT", "/base/tower/blocked/eve.json", "true")
            let (ann, eve) = (try ItemApp.token(of: "ann"), try ItemApp.token(of: "eve"))
            try await world.expect(403, "permission_denied", as: eve, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(
                403, "permission_denied", as: ann, "PUT", ItemApp.device("tablet"), ItemApp.registration("a:1"))
            let apns = #"{"provider": "apns", "token": "00ff"}"#
            try await world.expect(403, "permission_denied", as: ann, "PUT", Self.phone, apns)
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(204, "PUT", "/base/tower/blocked/ann.json", "true")
            try await world.expect(403, "permission_denied", as: ann, "GET", Self.all)
        }
    }

    @Test("for activations must hold for each pair of item and field, and is asked at each change")
    func activation() async throws {
        try await ItemApp.with { world in
            try await Self.set(
                #""activation": "root.readers[item][field][auth.sub] == true && mode == 'MERGE'""#, world)
            try await world.expect(
                204, "PUT", "/base/tower/readers/anduct.json",
                #"{"stock_name": {"ann": true}, "last_price": {"ann": true}}"#)
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            let made = try await world.expect(201, as: ann, "POST", Self.all, ItemApp.activation())
            let path = "\(Self.all)/" + (try #require(try made.member("key")?.string))
            let both = #"["anduct", "ations"]"#
            for (change, other) in [
                (#"{"items": \#(both)}"#, ItemApp.activation().replacing(#"["anduct"]"#, with: both)),
                (#"{"mode": "DISTINCT"}"#, ItemApp.activation(#", "mode": "DISTINCT""#)),
            ] {
                try await world.expect(403, "permission_denied", as: ann, "PATCH", path, change)
                try await world.expect(403, "permission_denied", as: ann, "POST", Self.all, other)
            }
            #expect(try await world.expect(200, as: ann, "GET", path).member("items") == ["anduct"])
            try await world.expect(204, "DELETE", "/base/tower/readers.json")
            try await world.expect(403, "permission_denied", as: ann, "POST", path + "/reactivate")
            try await world.expect(200, "POST", path + "/reactivate")
        }
    }

    @Test("for activations denies one that needs more than a hundred different look-ups")
    func manyLookups() async throws {
        try await ItemApp.with { world in
            try await Self.set(#""activation": "root.closed[item][field] != true""#, world)
            let ann = try ItemApp.token(of: "ann")
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            func activate(_ fields: Int) async throws -> Int {
                let items = (0..<10).map { #""i\#($0)""# }.joined(separator: ",")
                let names = (0..<fields).map { #""f\#($0)""# }.joined(separator: ",")
                let body = #"{"items": [\#(items)], "fields": [\#(names)], "data": {"a": "${f0}"}}"#
                return try await world.call("POST", Self.all, body, key: ann).status
            }
            #expect(try await activate(10) == 201)
            #expect(try await activate(11) == 403)
        }
    }

    @Test("for tokens leaves the former token its subscriptions if it denies the new one")
    func token() async throws {
        try await ItemApp.with { world in
            try await Self.set(#""token": "auth.strong == true""#, world)
            let (ann, strong) = (try ItemApp.token(of: "ann"), try ItemApp.token(of: "ann", #","strong":true"#))
            try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            try await world.expect(201, as: ann, "POST", Self.all, ItemApp.activation())
            let refused = try await world.expect(
                403, "permission_denied", as: ann, "PUT", Self.phone, ItemApp.registration("a:2"))
            #expect(refused.text.contains("DELETE the installation"))
            let same = try await world.expect(200, as: ann, "PUT", Self.phone, ItemApp.registration("a:1"))
            #expect(try same.member("token_status") == "unchanged")
            let changed = try await world.expect(200, as: strong, "PUT", Self.phone, ItemApp.registration("a:2"))
            #expect(try changed.member("token_status") == "changed")
            #expect(try await world.expect(200, as: ann, "GET", Self.all).member("items")?.array?.count == 1)
            try await world.expect(204, as: ann, "DELETE", Self.phone)
            let again = try await world.expect(201, as: ann, "PUT", Self.phone, ItemApp.registration("a:3"))
            #expect(try again.member("token_status") == "first_use")
        }
    }
}
