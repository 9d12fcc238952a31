import NIOCore
import NIOHTTP1
import Testing

/// Requests that differ from an ordinary registration.
struct UnusualRegistration: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let parts: @Sendable (_ app: String) -> [HTTPServerRequestPart]

    private init(_ name: String, _ parts: @escaping @Sendable (_ app: String) -> [HTTPServerRequestPart]) {
        testDescription = name
        self.parts = parts
    }

    private static func put(
        _ name: String, _ path: String = "/devices/phone", _ body: String = GatewayWorld.registration(1),
        key: String = GatewayWorld.key, headers: [(String, String)] = []
    ) -> UnusualRegistration {
        UnusualRegistration(name) { ShortcutFixture.put($0 + path, body, key: key, headers: headers) }
    }

    static let all = [
        UnusualRegistration("no body") { app in
            let whole = ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))
            return [whole[0], whole[2]]
        },
        UnusualRegistration("another method") { _ in ShortcutFixture.get("/healthz") },
        UnusualRegistration("HTTP/1.0") { app in
            var parts = ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))
            if case .head(var head) = parts[0] {
                head.version = .http1_0
                parts[0] = .head(head)
            }
            return parts
        },
        UnusualRegistration("two keys") { app in
            var parts = ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))
            if case .head(var head) = parts[0] {
                head.headers.add(name: "authorization", value: "Bearer \(GatewayWorld.key)")
                parts[0] = .head(head)
            }
            return parts
        },
        UnusualRegistration("a trailer") { app in
            var parts = ShortcutFixture.put(app + "/devices/phone", GatewayWorld.registration(1))
            parts[2] = .end(HTTPHeaders([("X-Sum", "1")]))
            return parts
        },
        UnusualRegistration("an app that has not been requested before") { _ in
            ShortcutFixture.put("/v1/apps/cellar/devices/phone", GatewayWorld.registration(1))
        },
        put("a path behind it", "/devices/phone/more"), put("no installation", "/devices/"),
        put("a query", "/devices/phone?kind=alert"), put("a path that is not UTF-8", "/devices/%ff"),
        put("a path beyond ASCII", "/devices/\u{e9}"),
        put("a name too long", "/devices/" + String(repeating: "x", count: 999)),
        put("a key that opens nothing", key: "wrong"),
        put("a key that nobody asked for", key: "ck_" + String(repeating: "a", count: 40)),
        put("no JSON", "/devices/phone", "{"), put("a member unknown", "/devices/phone", #"{"what": 1}"#),
        put("too long a body", "/devices/phone", GatewayWorld.registration(1) + String(repeating: " ", count: 16_384)),
        put("an expectation", headers: [("Expect", "100-continue")]),
        put("a condition", headers: [("If-None-Match", "*")]),
        put("a last request", headers: [("Connection", "close")]),
        put("another protocol", headers: [("Connection", "upgrade"), ("Upgrade", "h2c")]),
        put("a packed body", headers: [("Content-Encoding", "gzip")]),
        put("an idempotency key", headers: [("Idempotency-Key", "a")]),
        put("an invalid length", headers: [("content-length", "-1")]),
    ]
}
