import API
import Basis
import Reactor
import Requests
import TestSupport
import Testing

@Suite("A random request to any endpoint")
struct RouteFuzzTests {
    /// The time for all seeds; a slow machine sends fewer requests.
    private static let time: Duration = .seconds(5)

    @Test("gets no 5xx, only a success or a problem with a listed code")
    func fuzz() async throws {
        try await withGateway { world in
            try await world.makeApp()
            try await world.expect(201, "PUT", "/v1/apps/tower/devices/phone", GatewayWorld.registration(1))
            let end = Clocks.monotonicNow() + Self.time
            var seed: UInt64 = 1
            var requests = 0
            // Every endpoint is called once per seed, and at least with the first seed.
            while seed == 1 || Clocks.monotonicNow() < end {
                for (place, endpoint) in Endpoint.all.enumerated() {
                    var request = RandomRequest(endpoint, seed: seed &* 1_000 &+ UInt64(place))
                    try await Self.ask(endpoint, request.bytes(), "seed \(seed), \(endpoint.name)", world)
                    requests += 1
                }
                seed += 1
            }
            print("fuzz of every route: \(requests) requests from \(seed - 1) seeds")
            // A random DELETE may have deleted the app, which is correct.
            try await world.expect(200, "GET", "/v1/apps")
        }
    }

    private static func ask(
        _ endpoint: Endpoint, _ bytes: [UInt8], _ name: String, _ world: GatewayWorld
    ) async throws {
        let wire = try Wire(port: world.port)
        try? await wire.send(bytes)
        await wire.endSending()
        let isHead = bytes.starts(with: Array("HEAD ".utf8))
        guard let reply = try? await wire.reply(hasBody: !isHead) else {
            Issue.record("\(name): no answer to \(String(decoding: bytes, as: UTF8.self).debugDescription)")
            return
        }
        #expect(reply.status < 500, "\(name): \(reply.text)")
        guard reply.status >= 400, !isHead else { return }
        if case .statuses = endpoint.refusals, reply.header("content-type") == "application/json" {
            #expect((try? reply.member("status"))?.string?.isEmpty == false, "\(name): \(reply.text)")
            return
        }
        #expect(reply.header("content-type") == "application/problem+json", "\(name): \(reply.text)")
        let code = (try? reply.member("code"))?.string.flatMap { ProblemCode(rawValue: $0) }
        #expect(code?.status == reply.status, "\(name): \(reply.text)")
        #expect(!reply.text.contains(GatewayWorld.key), "\(name)")
    }
}

/// One request to an endpoint; about half of these requests are wrong in some way.
private struct RandomRequest {
    private let endpoint: Endpoint
    private var random: SeededGenerator

    init(_ endpoint: Endpoint, seed: UInt64) {
        self.endpoint = endpoint
        random = SeededGenerator(seed: seed)
    }

    mutating func bytes() -> [UInt8] {
        let body = chance(4) ? noise(60) : mangled(body())
        var head = "\(chance(12) ? "PUT" : endpoint.method.rawValue) \(path())\(query()) HTTP/1.1\r\nHost: gateway\r\n"
        if !chance(12) { head += "Authorization: Bearer \(GatewayWorld.key)\r\n" }
        if chance(3) { head += "Idempotency-Key: \(chance(2) ? "once" : text(noise(20)))\r\n" }
        if chance(6) { head += "\(text(noise(8))): \(text(noise(20)))\r\n" }
        if chance(3) { return Array((head + "Transfer-Encoding: chunked\r\n\r\n").utf8) + chunks(body) }
        let declared = chance(12) ? body.count + 1 : body.count
        return Array((head + "Content-Length: \(declared)\r\n\r\n").utf8) + body
    }

    private mutating func path() -> String {
        var parts: [String] = []
        for part in endpoint.template.split(separator: "/") {
            guard part.hasPrefix("{"), !chance(20) else {
                parts.append(String(part))
                continue
            }
            let good = ["{app}": "tower", "{installation}": "phone", "{user}": "ann"][String(part)] ?? "1"
            let name = pick([good, good, good, good, "nobody", "0192f0c1-7b3a-7c4d-8e5f-a1b2c3d4e5f6", odd()])
            parts.append(name + (part.hasSuffix(".json") && !chance(20) ? ".json" : ""))
        }
        return "/" + parts.joined(separator: "/")
    }

    private mutating func odd() -> String {
        pick([
            "%2e%2e", "..", "%", "%00", "%ff", "%C3%A9", "a%2Fb", "-1", "9223372036854775808", "", "*", "\u{e9}",
            String(repeating: "x", count: 300), "%F0%9F%94%94", "'", "%27%3B--", "a b",
        ])
    }

    private mutating func query() -> String {
        guard chance(2) else { return "" }
        var parts: [String] = []
        for _ in 0...Int.random(in: 0...2, using: &random) {
            let name = pick(endpoint.query + ["limit", "x", odd()])
            parts.append("\(name)=\(pick(["1", "0", "apns", "alert", "true", "active", "", odd(), odd()]))")
        }
        return "?" + parts.joined(separator: "&")
    }

    /// A body that the endpoint may accept.
    private mutating func body() -> String {
        guard endpoint.takesBody else { return chance(2) ? "" : "{}" }
        return pick([
            #"{"slug": "tower", "name": "The tower"}"#, #"{"slug": "app\#(chance(2) ? 1 : 2)", "name": "A"}"#,
            #"{"name": "T", "settings": {"stale_after_days": {"apns": 30, "fcm": null}}}"#,
            GatewayWorld.registration(
                Int.random(in: 1...9, using: &random), #", "badge": 3, "tags": ["a"], "locale": "fr""#),
            #"{"provider": "fcm", "token": "x:y", "user": "ann", "attributes": {"n": 1.5, "l": [1, {"a": null}]}}"#,
            #"{"installation": "i", "provider": "apns", "token": "00ff"}"# + "\n\n[]\n",
            #"{"tokens": ["00ff", "ff"], "provider": "apns"}"#, #"{"token": "00ff", "badge": 1}"#, #"{"badge": 1}"#,
            #"{"count": 1}"#, #"{"tags_add": ["x"], "tags_remove": ["a"], "user": null, "kind": "alert"}"#,
            #"{"audience": {"all": true}, "notification": {"title": "T", "body": "B"}, "badge": "increment"}"#,
            #"{"audience": {"users": ["ann"]}, "data": {"a": [1]}, "options": {"ttl_seconds": 5, "dry_run": true}}"#,
            #"{"audience": {"tags": {"any": ["a"]}}, "apns": [{"aps": {"alert": "x"}}], "fcm": {"android": {}}}"#,
            #"{"audience": {"tokens": [{"provider": "apns", "token": "00", "topic": "a.b"}]}, "badge": 2147483647}"#,
            #"{"provider": "apns", "kind": "token", "environment": "both", "key_id": "ABCDE12345", "team_id": "TEAMID1234", "p8": "x"}"#,
            #"{"provider": "fcm", "kind": "service_account", "service_account": {"project_id": "p"}}"#,
            #"{"name": "k", "scopes": ["devices", "messages"], "expires_at": "2999-01-01T00:00:00Z"}"#,
        ])
    }

    private mutating func mangled(_ body: String) -> [UInt8] {
        var bytes = Array(body.utf8)
        guard chance(2) else { return bytes }
        for _ in 0...Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(contentsOf: pick(Self.pieces).utf8, at: place)
            case 3: bytes.removeSubrange(place...)
            case 4: bytes += bytes[..<place]
            default: bytes.insert(contentsOf: [UInt8](repeating: bytes[place], count: 40), at: place)
            }
        }
        return bytes
    }

    private static let pieces = [
        #"\u0000"#, #"\ud83d"#, "\"", "{", "}", "[", "]", ",", ":", "null", "-0", "1e999", "1e-999",
        "9223372036854775808",
        "0.1", "true", #"{"a":"#, "é", "🔔", "\u{0}",
    ]

    private mutating func chunks(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var remaining = body[...]
        while !remaining.isEmpty {
            let piece = remaining.prefix(Int.random(in: 1...90, using: &random))
            bytes +=
                Array("\(chance(30) ? "zz" : String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
            remaining = remaining.dropFirst(piece.count)
        }
        return chance(20) ? bytes : bytes + Array("0\r\n\r\n".utf8)
    }

    private mutating func noise(_ countMax: Int) -> [UInt8] {
        (0..<Int.random(in: 0...countMax, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// True once in so many calls, on average.
    private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

    private mutating func pick(_ choices: [String]) -> String {
        choices[Int.random(in: 0..<choices.count, using: &random)]
    }
}
