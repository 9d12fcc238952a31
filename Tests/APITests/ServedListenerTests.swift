import API
import Documents
import Listener
import Postgres
import Requests
import TestSupport
import Testing

@Suite("The HTTP listener of a running gateway")
struct ServedListenerTests {
    @Test("reports liveness and readiness without a key")
    func health() async throws {
        try await withGateway { world in
            let alive = try await world.call("GET", "/healthz", key: nil)
            #expect(alive.status == 200)
            #expect(alive.text == #"{"status":"alive"}"#)
            #expect(try await world.call("GET", "/readyz", key: nil).text == #"{"status":"ready"}"#)
            for state in [Readiness.databaseUnreachable, .stopping] {
                world.readiness.value = state
                let reply = try await world.refuse(.notReady, "GET", "/readyz")
                #expect(reply.header("retry-after") == "5")
            }
            world.readiness.value = .databaseImpaired(.readOnly)
            _ = try await world.refuse(.databaseReadOnly, "GET", "/readyz")
            #expect(try await world.call("GET", "/healthz", key: nil).status == 200)
        }
    }

    @Test("serves the contract and the error page as they are written")
    func documents() async throws {
        try await withGateway { world in
            let contract = try await world.call("GET", "/openapi.yaml", key: nil)
            #expect(contract.header("content-type") == "application/yaml")
            #expect(contract.body == EmbeddedDocuments.contract)
            #expect(try await world.call("GET", "/errors", key: nil).body == ErrorPage.bytes)
        }
    }

    @Test("says at its root, without a key, that it is Carillon and where its API is described")
    func root() async throws {
        try await withGateway { world in
            let root = try await world.call("GET", "/", key: nil)
            #expect(root.status == 200 && root.header("content-type") == "text/plain; charset=utf-8")
            #expect(root.text.hasPrefix("Carillon, a push gateway.\n") && root.text.contains("/openapi.yaml"))
            #expect(try await world.refuse(.methodNotAllowed, "POST", "/").header("allow") == "GET, HEAD")
            try await world.refuse(.notFound, "GET", "//")
        }
    }

    @Test("answers HEAD with the headers of GET and no body")
    func head() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("HEAD", "/healthz"))
            let head = try await wire.reply(hasBody: false)
            #expect(head.status == 200)
            #expect(head.header("content-length") == "18")
            // No byte of a body follows the head.
            try await wire.send(GatewayWorld.request("GET", "/healthz"))
            #expect(try await wire.reply().text == #"{"status":"alive"}"#)
        }
    }

    @Test("refuses a missing, wrong or repeated key")
    func key() async throws {
        try await withGateway { world in
            let paths = ["/v1/apps", "/v1/apps/a", "/v1/apps/a/messages", "/v1/apps/a/credentials"]
            for path in paths {
                for key in [nil, "", "wrong", String(GatewayWorld.key.dropLast())] {
                    let reply = try await world.call("GET", path, key: key)
                    #expect(reply.status == 401)
                    #expect(reply.header("www-authenticate") == #"Bearer realm="carillon""#)
                    #expect(!reply.text.contains("wrong"))
                }
            }
            let twice = try await world.call(
                "GET", "/v1/apps", headers: ["Authorization: Bearer \(GatewayWorld.key)"])
            #expect(twice.status == 401)
        }
    }

    @Test("checks the key before it reads a body")
    func keyBeforeBody() async throws {
        try await withGateway { world in
            let reply = try await world.call("POST", "/v1/apps", "not json", key: "wrong")
            #expect(reply.status == 401)
        }
    }

    @Test("refuses unknown paths, methods, queries, cursors and apps")
    func paths() async throws {
        try await withGateway { world in
            try await world.refuse(.notFound, "GET", "/v1/apps/")
            let wrong = try await world.refuse(.methodNotAllowed, "DELETE", "/v1/apps")
            #expect(wrong.header("allow") == "GET, HEAD, POST")
            try await world.refuse(.malformedPath, "GET", "/v1/apps/%ZZ")
            try await world.refuse(.malformedPath, "GET", "/v1/../v1/apps")
            try await world.refuse(.malformedPath, "GET", "/v1/apps/a/devices/%00")
            try await world.refuse(.invalidQuery, "GET", "/v1/apps?page=2")
            try await world.refuse(.invalidQuery, "GET", "/v1/apps?limit=0")
            try await world.refuse(.invalidCursor, "GET", "/v1/apps?cursor=x")
            try await world.refuse(.unknownApp, "GET", "/v1/apps/nowhere")
            try await world.refuse(.unknownApp, "GET", "/v1/apps/No%20Slug/messages")
        }
    }

    @Test("refuses a body above the limit, declared or chunked, and continues to serve")
    func bodies() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        try await withGateway(limits: limits) { world in
            let large = String(repeating: " ", count: 1_001)
            try await world.refuse(.bodyTooLarge, "POST", "/v1/apps", large)
            let wire = try Wire(port: world.port)
            let head = GatewayWorld.request("POST", "/v1/apps", headers: ["Transfer-Encoding: chunked"])
            let chunk = "200\r\n" + String(repeating: " ", count: 0x200) + "\r\n"
            try await wire.send(head + chunk + chunk + chunk + "0\r\n\r\n")
            let reply = try await wire.reply()
            #expect(reply.status == 413)
            #expect(reply.header("connection") == "close")
            try await world.refuse(.malformedJSON, "POST", "/v1/apps", String(repeating: " ", count: 1_000))
        }
    }

    @Test("refuses a body while the memory for bodies is used up")
    func budget() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        limits.bodiesInFlightBytesMax = 1_400
        try await withGateway(limits: limits) { world in
            let body = #"{"slug": "slow", "name": "Slow"}"# + String(repeating: " ", count: 968)
            let request = GatewayWorld.request("POST", "/v1/apps", body)
            // If the probe arrives first, the slow request is refused, and both are repeated.
            try await eventually("the slow client to use the budget") {
                let slow = try Wire(port: world.port)
                try await slow.send(String(request.dropLast(500)))
                let probe = #"{"slug": "x", "name": 1}"# + String(repeating: " ", count: 976)
                let reply = try await world.call("POST", "/v1/apps", probe)
                #expect(reply.status == 422 || reply.status == 503, "\(reply.text)")
                guard reply.status == 503 else { return false }
                #expect(reply.header("retry-after") == "1")
                // A request without a body needs no memory from the budget.
                for _ in 0..<8 { try await world.expect(200, "GET", "/v1/apps") }
                do {
                    try await slow.send(String(request.suffix(500)))
                    return try await slow.reply().status == 201
                } catch {
                    return false
                }
            }
            try await world.expect(201, "POST", "/v1/apps", #"{"slug": "next", "name": "Next"}"#)
        }
    }

    @Test("limits the memory of one app's unfinished bodies, so that other apps are served")
    func noisyApp() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        limits.bodiesInFlightBytesMax = 4_000
        try await withGateway(limits: limits) { world in
            let (noisy, honest) = (try await world.makeApp("noisy"), try await world.makeApp("honest"))
            let padding = String(repeating: " ", count: 800)
            func request(_ app: String) -> String {
                GatewayWorld.request("PUT", app + "/devices/phone", GatewayWorld.registration(1) + padding)
            }
            var held: [Wire] = []
            try await eventually("the busy app to use its share") {
                let wire = try Wire(port: world.port)
                try await wire.send(String(request(noisy).dropLast()))
                held.append(wire)
                let probe = try await world.call("PUT", noisy + "/devices/probe", "[" + padding)
                #expect(probe.status == 400 || probe.header("retry-after") == "1", "\(probe.text)")
                return try probe.member("code")?.string == "share_used_up"
            }
            // The honest app sends bodies of the largest size while the noisy app holds its bytes.
            let whole = GatewayWorld.registration(2)
            for number in 1...4 {
                let body = whole + String(repeating: " ", count: 1_000 - whole.utf8.count)
                try await world.expect(number == 1 ? 201 : 200, "PUT", honest + "/devices/phone", body)
            }
            try await world.expect(200, "GET", noisy + "/devices")
        }
    }

    @Test("limits the memory of bodies for invented apps, so that real apps are served")
    func inventedApps() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        limits.bodiesInFlightBytesMax = 4_000
        try await withGateway(limits: limits) { world in
            let honest = try await world.makeApp("honest")
            let padding = String(repeating: " ", count: 800)
            var held: [Wire] = []
            for number in 0... {
                let invented = "/v1/apps/invented-\(number)"
                let body = GatewayWorld.registration(1) + padding
                let request = GatewayWorld.request("PUT", invented + "/devices/phone", body)
                let wire = try Wire(port: world.port)
                try await wire.send(String(request.dropLast()))
                held.append(wire)
                let probe = try await world.call("PUT", invented + "-too/devices/phone", "[" + padding)
                let code = try probe.member("code")?.string
                try #require(code != "overloaded", "bodies for \(held.count) invented apps use all the memory")
                if code == "share_used_up" { break }
            }
            let whole = GatewayWorld.registration(2)
            let body = whole + String(repeating: " ", count: 1_000 - whole.utf8.count)
            try await world.expect(201, "PUT", honest + "/devices/phone", body)
        }
    }

    @Test("reserves no memory for announced bytes, and disconnects a body that trickles")
    func trickle() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        limits.bodiesInFlightBytesMax = 1_400
        limits.bodyTimeout = .milliseconds(200)
        try await withGateway(limits: limits) { world in
            let request = GatewayWorld.request("POST", "/v1/apps", String(repeating: " ", count: 1_000))
            var slow: [Wire] = []
            for _ in 0..<20 {
                let wire = try Wire(port: world.port)
                try await wire.send(String(request.dropLast(999)))
                slow.append(wire)
            }
            try await world.expect(201, "POST", "/v1/apps", #"{"slug": "next", "name": "Next"}"#)
            for wire in slow { #expect(await wire.isEnded()) }
            try await world.expect(201, "POST", "/v1/apps", #"{"slug": "last", "name": "Last"}"#)
        }
    }

    @Test("disconnects a client that keeps sending after its refusal", arguments: ["/v1/apps", "/nowhere"])
    func endlessBody(path: String) async throws {
        var limits = GatewayLimits()
        limits.lingerTime = .seconds(3)
        try await withGateway(limits: limits) { world in
            let wire = try Wire(port: world.port)
            let head = GatewayWorld.request("POST", path, key: nil, headers: ["Transfer-Encoding: chunked"])
            try await wire.send(head)
            let reply = try await wire.reply()
            #expect(reply.status == (path == "/nowhere" ? 404 : 401))
            #expect(reply.header("connection") == "close")
            let chunk = "8000\r\n" + String(repeating: " ", count: 0x8000) + "\r\n"
            await #expect(throws: Wire.Ended.self) {
                while true { try await wire.send(chunk) }
            }
        }
    }

    @Test("answers a new client although silent connections would take all places")
    func silentCrowd() async throws {
        var limits = GatewayLimits()
        (limits.connectionsMax, limits.connectionsSpare) = (16, 4)
        try await withGateway(limits: limits) { world in
            var silent: [Wire] = []
            for _ in 1...20 { silent.append(try Wire(port: world.port)) }
            // Without a free place, the answer would wait for the idle timeout, which is longer than the client's.
            #expect(try await world.call("GET", "/healthz", key: nil).status == 200)
            // Each one is served or closed before the server stops: it must not stop in the middle of accepting one.
            var served = 0
            for wire in silent {
                do {
                    try await wire.send(GatewayWorld.request("GET", "/healthz", key: nil))
                    if try await wire.reply().status == 200 { served += 1 }
                } catch is Wire.Ended {}
            }
            #expect((1..<20).contains(served))
        }
    }

    @Test("keeps the connection after refusing a small body unread")
    func smallUnreadBody() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            try await wire.send(GatewayWorld.request("POST", "/v1/apps", "{}", key: "wrong"))
            #expect(try await wire.reply().status == 401)
            try await wire.send(GatewayWorld.request("GET", "/v1/apps"))
            #expect(try await wire.reply().status == 200)
        }
    }

    @Test(
        "survives bytes that are not HTTP",
        arguments: [
            "\r\n\r\n\r\n", "GARBAGE\r\n\r\n", "GET /v1/apps HTTP/1.1\r\nHost gateway\r\n\r\n",
            "POST /v1/apps HTTP/1.1\r\nHost: g\r\nContent-Length: -1\r\n\r\n",
            "POST /v1/apps HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
            "GET /" + String(repeating: "x", count: 100_000), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u{16}\u{3}\u{1}",
            "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n",
            "GET http://gateway/healthz HTTP/1.1\r\nHost: gateway\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        ])
    func garbage(text: String) async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            try? await wire.send(text)
            await wire.endSending()
            #expect(await wire.isEnded())
            #expect(try await world.call("GET", "/healthz", key: nil).status == 200)
        }
    }

    @Test("ignores a request whose body broke off")
    func brokenOff() async throws {
        try await withGateway { world in
            let wire = try Wire(port: world.port)
            let request = GatewayWorld.request("POST", "/v1/apps", #"{"slug": "half", "name": "Half"}   "#)
            try await wire.send(String(request.dropLast(2)))
            await wire.endSending()
            _ = await wire.isEnded()
            try await world.refuse(.unknownApp, "GET", "/v1/apps/half")
        }
    }

    @Test("reports an unreachable database, and when to retry")
    func noDatabase() async throws {
        try await withGateway(database: try await GatewayDatabase.missing(), pool: .impatient) { world in
            for (method, path, body) in [
                ("GET", "/v1/apps", nil), ("POST", "/v1/apps", #"{"slug": "a", "name": "A"}"#),
                ("POST", "/v1/apps/a/messages", #"{"audience": {"all": true}, "badge": 1}"#),
                ("POST", "/v1/apps/a/devices/import", "{}\n"), ("GET", "/v1/apps/a/feedback", nil),
            ] {
                let reply = try await world.refuse(.databaseUnavailable, method, path, body)
                #expect(reply.header("retry-after") == "5")
            }
        }
    }

    @Test("reports a database that answers too late, when to retry, and that nothing changed")
    func slowDatabase() async throws {
        let database = try await GatewayDatabase.make()
        var bounds = PoolSettings()
        bounds.deadline = .milliseconds(500)
        try await withGateway(database: database, pool: bounds) { world in
            // The connection has to be open before the short deadline matters.
            try await eventually("a first answer") { try await world.call("GET", "/v1/apps").status == 200 }
            let app = #"{"slug": "tower", "name": "Tower"}"#
            try await withPool(database) { neighbour in
                let reply = try await neighbour.transaction { held async throws(PostgresError) in
                    _ = try await held.run(Query(Statement(unprepared: "LOCK TABLE apps IN ACCESS EXCLUSIVE MODE")))
                    return try? await world.refuse(.databaseBusy, "POST", "/v1/apps", app)
                }
                #expect(reply?.header("retry-after") == "1")
                #expect(
                    try reply?.member("detail")?.string
                        == "The database did not answer in time, or another request held a lock for too long. "
                        + "Nothing was changed. Try again.")
            }
            try await eventually("the same request to pass") {
                try await world.call("POST", "/v1/apps", app).status == 201
            }
        }
    }
}

extension PoolSettings {
    /// Settings for a missing database: waiting longer would change nothing.
    static var impatient: PoolSettings {
        var settings = PoolSettings()
        settings.waitMax = .milliseconds(100)
        return settings
    }
}
