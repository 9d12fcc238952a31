import API
import Encodings
import JSON
import Listener
import Postgres
import Signing
import TestSupport
import Testing

@Suite("Many readers of nodes at once", .timeLimit(.minutes(5)))
struct ManyReaderTests {
    private static let readers = 400
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)

    enum Reader: String, CaseIterable, CustomTestStringConvertible {
        case anybody, users, key
        var testDescription: String { rawValue }
    }

    private static func token(of user: Int) throws -> String {
        func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.urlEncode(bytes), as: UTF8.self) }
        let parts = [#"{"alg":"HS256","kid":"main"}"#, #"{"sub":"user-\#(user)"}"#].map { base64(Array($0.utf8)) }
        let signed = parts.joined(separator: ".")
        return signed + "." + base64(try HS256Key(secret: secret).sign(Array(signed.utf8)))
    }

    /// A node of some kilobytes per value. It is given as the members of an object.
    private static func members(_ count: Int, bytes: Int) -> String {
        (0..<count).map { #""\#($0)":"\#(String(repeating: "x", count: bytes))""# }.joined(separator: ",")
    }

    private static func withApp(
        limits: GatewayLimits = GatewayLimits(), _ body: (GatewayWorld) async throws -> Void
    ) async throws {
        try await withGateway(limits: limits) { world in
            try await world.makeApp()
            let key = String(decoding: Base64.urlEncode(secret), as: UTF8.self)
            try await world.expect(
                201, "POST", "/v1/apps/tower/user-keys", #"{"kid": "main", "algorithm": "HS256", "key": "\#(key)"}"#)
            let rules = #"{"open": {".read": true}, "users": {".read": "auth.sub != root.banned"}}"#
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": \#(rules)}"#)
            try await world.expect(204, "PUT", "/base/tower/banned.json", #""user-0x""#)
            try await body(world)
        }
    }

    @Test("all get a node of 40 kilobytes that their devices were told of", arguments: Reader.allCases)
    func small(_ reader: Reader) async throws {
        try await Self.withApp { world in
            let members = Self.members(8, bytes: 5_000)
            for path in ["open", "users"] {
                try await world.expect(204, "PUT", "/base/tower/\(path).json", "{\(members)}")
            }
            var wires: [Wire] = []
            for number in 0..<Self.readers {
                let wire = try Wire(port: world.port)
                let (path, key): (String, String?) =
                    switch reader {
                    case .anybody: ("open", nil)
                    case .users: ("users", try Self.token(of: number))
                    case .key: ("open", GatewayWorld.key)
                    }
                try await wire.send(GatewayWorld.request("GET", "/base/tower/\(path).json", key: key))
                wires.append(wire)
            }
            for wire in wires {
                let reply = try await wire.reply()
                #expect(reply.status == 200, "\(reply.text.prefix(300))")
                #expect(reply.body.count > 40_000)
            }
        }
    }

    @Test("each get what was written before they asked")
    func fresh() async throws {
        try await Self.withApp { world in
            try await world.expect(204, "PUT", "/base/tower/open.json", "0")
            for value in 1...50 {
                // Another reader's query may be under way, and have begun before the write.
                let beside = try Wire(port: world.port)
                try await beside.send(GatewayWorld.request("GET", "/base/tower/open.json", key: nil))
                try await world.expect(204, "PUT", "/base/tower/open.json", "\(value)")
                let reply = try await world.call("GET", "/base/tower/open.json", key: nil)
                #expect(reply.text.hasSuffix("\(value)"))
                #expect(try await beside.reply().status == 200)
            }
        }
    }

    @Test("without a key leave the app's keys their places for large nodes and lists")
    func large() async throws {
        var limits = GatewayLimits()
        limits.costlyReadsWaitingPerAppMax = 2
        try await Self.withApp(limits: limits) { world in
            for node in 0..<12 {
                let path = "/base/tower/open/\(node).json"
                try await world.expect(204, "PUT", path, "{\(Self.members(15, bytes: 60_000))}")
            }
            var wires: [Wire] = []
            for round in 0..<36 {
                let wire = try Wire(port: world.port)
                let path = "/base/tower/open/\(round % 12).json"
                try await wire.send(GatewayWorld.request("GET", path, key: nil))
                wires.append(wire)
                if round % 4 == 3 {
                    try await world.expect(200, "GET", path)
                    try await world.expect(200, "GET", "/base/tower/.json?shallow=true")
                    try await world.expect(200, "GET", "/v1/apps/tower/messages")
                }
            }
            for wire in wires {
                let reply = try await wire.reply()
                #expect([200, 429].contains(reply.status), "\(reply.text.prefix(300))")
            }
        }
    }

    /// Lists of children wait for this lock, after `slowDown`.
    private static let lock = "SELECT pg_advisory_xact_lock(51)"
    private static let slowDown = """
        CREATE OR REPLACE FUNCTION node_keys(
            app bigint, prefix text, prefix_end text, after_key text, keys_max bigint) RETURNS SETOF text
        LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(51); RETURN NEXT 'a'; END $$
        """

    /// Runs the body while each list of children waits in the database.
    private static func whileListsWait<Answer: Sendable>(
        _ world: GatewayWorld, _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await world.pool.script(slowDown)
        let outcome = try await world.pool.transaction {
            transaction throws(PostgresError) -> Result<Answer, any Error> in
            _ = try await transaction.run(Query(Statement(unprepared: lock)))
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        return try outcome.get()
    }

    @Test("without a key get small nodes while others list the children of large ones")
    func besideLarge() async throws {
        #expect(GatewayLimits().strangersReadsMax < PoolSettings().strangerConnectionsMax)
        var limits = GatewayLimits()
        (limits.readAdmissionTimeout, limits.strangersReadTimeMax) = (.seconds(600), .seconds(600))
        try await Self.withApp(limits: limits) { world in
            try await world.makeApp("harbour")
            try await world.expect(204, "PUT", "/v1/apps/harbour/rules", #"{"rules": {".read": true}}"#)
            try await world.expect(204, "PUT", "/base/tower/open.json", "7")
            let lists = try await Self.whileListsWait(world) {
                var lists: [Wire] = []
                for path in ["/base/tower/open.json", "/base/harbour/a.json"] {
                    let wire = try Wire(port: world.port)
                    try await wire.send(GatewayWorld.request("GET", path + "?shallow=true&limit=9", key: nil))
                    lists.append(wire)
                    try await eventually("a list to wait") { await world.pool.census().busy >= 2 }
                }
                let small = try await world.call("GET", "/base/tower/open.json", key: nil)
                #expect(small.status == 200 && small.text.hasSuffix("7"), "\(small.text.prefix(300))")
                return lists
            }
            // A list runs into its timeout if the small read waits for its session.
            for wire in lists { #expect(try await wire.reply().status == 200) }
        }
    }

    @Test("without a key get 503 if the database takes too long for their read")
    func timeout() async throws {
        var limits = GatewayLimits()
        limits.strangersReadTimeMax = .milliseconds(200)
        try await Self.withApp(limits: limits) { world in
            let late = try await Self.whileListsWait(world) {
                try await world.call("GET", "/base/tower/open.json?shallow=true&limit=9", key: nil)
            }
            #expect(late.status == 503 && late.header("retry-after") != nil, "\(late.text.prefix(300))")
        }
    }
}
