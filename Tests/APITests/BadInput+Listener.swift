// Requests that fail before their body is read: paths, methods, keys, queries, the Idempotency-Key.
extension BadInput {
    static let malformedPaths = reading(
        [
            "/v1/apps/../apps", "/v1/apps/./tower", "/v1/apps/tower/..", "/v1/apps/%2e%2e/apps", "/v1/apps/%2E%2E",
            "/v1/apps/.%2e", "/v1/apps/%2e", "/v1/%", "/v1/%4", "/v1/%zz", "/v1/apps/%00", "/v1/apps/a%00b",
            "/v1/apps/%ff",
            "/v1/apps/%c3", "/v1/apps/%c0%af", "/v1/apps/%ed%a0%80", "/v1/apps/%f8%88%80%80%80", "/v1/apps#x",
        ], .malformedPath)

    static let strangePaths = reading(
        [
            "//", "/v1", "/v1/apps/", "//v1/apps", "/v1//apps", "/V1/apps", "/v1/Apps", "/v1%2Fapps", "/v2/apps",
            "/v1\\apps", "/v1/apps/tower/", "/v1/apps/tower/devices/phone/badge/", "/v1/apps/tower%2fdevices/phone",
            "/healthz/",
            "/v1/apps/tower/devices/..%2f..%2fkeys/badge/x/y", "/etc/passwd", "/v1/apps;x=1",
            "/v1/apps/tower/devices//badge",
        ], .notFound)

    static let unknown: [BadInput] = [
        BadInput("every path at once", "OPTIONS", "*", .malformedPath),
        BadInput("somebody's port", "CONNECT", "example.com:443", .malformedPath),
        BadInput("an unknown app", "GET", "/v1/apps/nowhere", .unknownApp),
        BadInput("an app of percent signs", "GET", "/v1/apps/%2525", .unknownApp),
        BadInput("an app in capitals", "GET", "/v1/apps/Tower", .unknownApp),
        BadInput("an app with a slash", "GET", "/v1/apps/tower%2Fx/messages", .unknownApp),
        BadInput("an app with a dot dot and a slash", "GET", "/v1/apps/%2E%2E%2Ftower", .unknownApp),
        BadInput(
            "an app of a thousand letters", "GET", "/v1/apps/" + String(repeating: "a", count: 1_000), .unknownApp),
        BadInput("an app as SQL", "GET", "/v1/apps/tower'--/messages", .unknownApp),
        BadInput("an unknown device", "GET", "/v1/apps/tower/devices/nobody", .unknownDevice),
        BadInput("a device of another app", "GET", "/v1/apps/belfry/devices/phone", .unknownDevice),
        BadInput("a message that is no id", "GET", "/v1/apps/tower/messages/1", .unknownMessage),
        BadInput(
            "an unknown message", "GET", "/v1/apps/tower/messages/0192f0c1-7b3a-7c4d-8e5f-a1b2c3d4e5f6",
            .unknownMessage),
        BadInput("a credential of minus one", "DELETE", "/v1/apps/tower/credentials/-1", .unknownCredential),
        BadInput(
            "a credential beyond 64 bits", "POST", "/v1/apps/tower/credentials/99999999999999999999/activate",
            .unknownCredential),
        BadInput("an unknown entry of the feed", "POST", "/v1/apps/tower/feedback/7/undo", .unknownFeedback),
        BadInput("an unknown key", "DELETE", "/v1/apps/tower/keys/999999", .unknownKey),
        BadInput("a global key with an id in letters", "DELETE", "/v1/keys/first", .unknownKey),
    ]

    static let planned = reading(
        [
            "/metrics", "/v1/audit", "/v1/apps/tower/webhooks",
        ], .routeNotSupported)

    private static let unserved: [(String, String)] = [
        ("POST", "/healthz"), ("DELETE", "/v1/apps"), ("PUT", "/v1/apps"), ("POST", "/v1/apps/tower"),
        ("OPTIONS", "/v1/apps"), ("TRACE", "/v1/apps"), ("PROPFIND", "/v1/apps/tower"),
        ("PURGE", "/v1/apps/tower/devices/phone"),
        ("PATCH", "/v1/apps/tower/messages"), ("DELETE", "/v1/apps/tower/feedback"), ("GET", "/v1/apps/tower/badges"),
        ("PUT", "/openapi.yaml"), ("M-SEARCH", "/errors"),
    ]

    static let methods: [BadInput] = unserved.map { method, path in
        BadInput("\(method) \(path)", method, path, .methodNotAllowed, message: "serves")
    }

    static let headers: [BadInput] =
        [
            BadInput("no key", "GET", "/v1/apps", key: nil, .unauthorized, message: "Bearer"),
            BadInput("an empty key", "GET", "/v1/apps", key: "", .unauthorized),
            BadInput("a wrong key", "GET", "/v1/apps", key: "wrong", .unauthorized),
            BadInput("half a key", "GET", "/v1/apps", key: String(GatewayWorld.key.dropLast()), .unauthorized),
            BadInput("a key and a half", "GET", "/v1/apps", key: GatewayWorld.key + "x", .unauthorized),
            BadInput(
                "a key of many kilobytes", "GET", "/v1/apps", key: String(repeating: "k", count: 20_000), .unauthorized,
                message: "long"),
            BadInput(
                "a key that was mistyped", "GET", "/v1/apps", key: "carillon_abcdefgh", .unauthorized,
                message: "incomplete"),
            BadInput(
                "two keys", "GET", "/v1/apps", headers: ["Authorization: Bearer x"], .unauthorized, message: "once"),
            BadInput(
                "the same key twice", "GET", "/v1/apps", headers: ["Authorization: Bearer \(GatewayWorld.key)"],
                .unauthorized),
            BadInput(
                "a password", "GET", "/v1/apps", key: nil, headers: ["Authorization: Basic Z2F0ZTp3YXk="],
                .unauthorized, message: "Bearer"),
            BadInput(
                "a bare key", "GET", "/v1/apps", key: nil, headers: ["Authorization: \(GatewayWorld.key)"],
                .unauthorized),
            BadInput("a key in the query", "GET", "/v1/apps?key=wrong", key: nil, .unauthorized),
            BadInput(
                "a key of bytes",
                bytes: Array("GET /v1/apps HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ".utf8) + [0xff, 0xfe]
                    + Array("\r\n\r\n".utf8), .unauthorized),
            BadInput("a wrong key with a bad body", "POST", "/v1/apps", "not json", key: "wrong", .unauthorized),
            BadInput("HEAD without a key", "HEAD", "/v1/apps", key: nil, .unauthorized),
            BadInput(
                "two Idempotency-Keys", "POST", "/v1/apps/tower/messages", "{}",
                headers: ["Idempotency-Key: a", "Idempotency-Key: b"],
                .invalidIdempotencyKey),
        ]

    private static let wrongIdempotencyKeys: [String] = [
        "", "a b", "a\tb", "é", String(repeating: "k", count: 256), "\u{e9}\u{e8}",
    ]

    static let idempotencyKeys: [BadInput] = wrongIdempotencyKeys.map { key in
        BadInput(
            "the Idempotency-Key \(key.prefix(8).debugDescription)", "POST", "/v1/apps/tower/messages", "{}",
            headers: ["Idempotency-Key: \(key)"], .invalidIdempotencyKey, message: "255")
    }

    static let queries = reading(
        [
            "/v1/apps?limit=0", "/v1/apps?limit=-1", "/v1/apps?limit=1001", "/v1/apps?limit=ten", "/v1/apps?limit=1.5",
            "/v1/apps?limit=99999999999999999999", "/v1/apps?limit=1&limit=1", "/v1/apps?nonsense=1",
            "/v1/apps?Limit=1",
            "/v1/apps?limit=%zz", "/v1/apps?limit=%00", "/v1/apps?%ff=1", "/v1/apps?=1",
            "/v1/apps/tower/devices?provider=pigeon", "/v1/apps/tower/devices?kind=loud",
            "/v1/apps/tower/devices?state=lost",
            "/v1/apps/tower/devices?stale=maybe", "/v1/apps/tower/messages?state=lost",
            "/v1/apps/tower/feedback?cursor=x",
            "/healthz?verbose=1", "/v1/apps/tower?x=1", "/v1/apps/tower/devices?token=ab",
        ], .invalidQuery)

    static let cursors = reading(
        [
            "/v1/apps?cursor=x", "/v1/apps?cursor=-1", "/v1/apps?cursor=99999999999999999999",
            "/v1/apps/tower/devices?cursor=x", "/v1/apps/tower/messages?cursor=x", "/v1/apps/tower/feedback?after=x",
            "/v1/apps/tower/keys?cursor=x", "/v1/apps/tower/devices?cursor=%F0%9F%94%94",
        ], .invalidCursor)

    /// - Parameters: keys that open only a part of the API.
    static func others(ofBelfry: String, devicesOnly: String, revoked: String) -> [BadInput] {
        [
            BadInput(
                "a key of another app", "GET", "/v1/apps/tower", key: ofBelfry, .forbidden, message: "another app"),
            BadInput(
                "a key of another app, to send", "POST", "/v1/apps/tower/messages", "{}", key: ofBelfry, .forbidden),
            BadInput("a key of another app, to an unknown one", "GET", "/v1/apps/nowhere", key: ofBelfry, .forbidden),
            BadInput("a key of one app, for all", "GET", "/v1/apps", key: ofBelfry, .forbidden, message: "one app"),
            BadInput("a key of one app, for keys of all", "GET", "/v1/keys", key: ofBelfry, .forbidden),
            BadInput(
                "a key without messages", "GET", "/v1/apps/tower/messages", key: devicesOnly, .forbidden,
                message: "messages"),
            BadInput(
                "a key without credentials", "GET", "/v1/apps/tower/credentials", key: devicesOnly, .forbidden,
                message: "credentials"),
            BadInput(
                "a key without feedback", "GET", "/v1/apps/tower/feedback", key: devicesOnly, .forbidden,
                message: "feedback"),
            BadInput(
                "a key without keys", "POST", "/v1/apps/tower/keys", "{}", key: devicesOnly, .forbidden, message: "keys"
            ),
            BadInput("a key without admin", "DELETE", "/v1/apps/tower", key: devicesOnly, .forbidden, message: "admin"),
            BadInput(
                "a key in another app's path by dots", "GET", "/v1/apps/tower/../belfry", key: devicesOnly,
                .malformedPath),
            BadInput(
                "a key in another app's path by a slash", "GET", "/v1/apps/tower%2F..%2Fbelfry", key: devicesOnly,
                .forbidden),
            BadInput("a revoked key", "GET", "/v1/apps/tower", key: revoked, .unauthorized, message: "revoked"),
        ]
    }
}
