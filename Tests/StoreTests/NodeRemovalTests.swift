import Basis
import JSON
import Model
import Postgres
import Reactor
import Signing
import Testing
import WakeUpRules
import WakeUpStore

@Suite("The keys of a node's children in pages")
struct NodeKeyTests {
    private static func pages(_ world: StoreWorld, of path: String, limit: Int) async throws -> [String] {
        var keys: [String] = []
        while true {
            let page = try await world.wakeUpStores.nodes.keys(
                of: NodePath(stored: path), app: world.app, after: keys.last ?? "", limit: limit)
            keys += page
            if page.count < limit { return keys }
        }
    }

    @Test("rise by their bytes, whether a child is a value or an object", arguments: ["/", "/a", "/a-b"])
    func order(parent: String) async throws {
        try await withFanOuts { world in
            let keys = [
                "a", "a!", "a!!", "a b", "a-", "a-b", "a-b-c", "a.b", "a/", "a0", "aa", "b", "b.", "c!", "c!d", "ä",
                "日本",
            ].filter { !$0.contains("/") }
            let prefix = NodePath(stored: parent).prefix
            // Neighbours of the node that are no children of it.
            if parent != "/" { for other in ["/a!x", "/a-b-x", "/a0", "/a-b0"] { try await world.put(other, "1") } }
            for round in 0..<2 {
                for (place, key) in keys.enumerated() {
                    let isObject = place % 2 == round || key.hasSuffix("a")
                    try await world.put(prefix + key, isObject ? #"{"x": 1, "y-": 2}"# : "1")
                }
                let rising = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                for limit in [1, 2, 3, 1_000] {
                    #expect(try await Self.pages(world.world, of: parent, limit: limit) == rising, "\(limit)")
                }
                let nodes = world.world.wakeUpStores.nodes
                for gone in ["a,", "a-b-", "a-b-c-d", "a.", "b!", "zz", "c"] {
                    let page = try await nodes.keys(
                        of: NodePath(stored: parent), app: world.world.app, after: gone, limit: 1_000)
                    #expect(page == rising.filter { gone.utf8.lexicographicallyPrecedes($0.utf8) }, "\(gone)")
                }
            }
        }
    }

    /// Each beginning of such a key may be an object's key that comes before it, because a hyphen is below the slash.
    @Test("cost a few look-ups each, also if they are long and full of hyphens")
    func longKeys() async throws {
        try await withStores { world in
            let children = 200
            try await world.pool.script(
                """
                INSERT INTO nodes SELECT id, '/n/' || rpad(n::text, 767, '-') || '/' || leaf, '1'
                FROM apps, generate_series(1, \(children)) AS n, generate_series(1, 3) AS leaf
                """)
            let scans = query("SELECT pg_stat_get_xact_numscans('nodes_pkey'::regclass)")
            let walk = query("SELECT count(*) FROM node_keys(:app, '/n/', '/n0', '', 1000)") {
                $0.int64("app", world.app.value)
            }
            let counts = try await world.pool.transaction { transaction throws(PostgresError) -> [Int64] in
                let answers = try await transaction.run([scans, walk, scans])
                return [
                    try answers[0].one(Int64.init), try answers[1].one(Int64.init), try answers[2].one(Int64.init),
                ]
            }
            #expect(counts[1] == Int64(children))
            let lookUps = counts[2] - counts[0]
            #expect(lookUps <= Int64(4 * children), "\(children) keys cost \(lookUps) look-ups")
        }
    }
}

@Suite("A node that is too large to be removed at once")
struct NodeRemovalTests {
    private static let large = NodePath(stored: "/large")

    /// Writes 2,500 leaves below the node, and some beside it.
    private static func fill(_ world: FanOutWorld) async throws {
        try await world.world.pool.script(
            """
            INSERT INTO nodes SELECT id, '/large/' || n % 50 || '/' || n, '1' FROM apps, generate_series(1, 2500) AS n;
            INSERT INTO nodes SELECT id, path, '1' FROM apps, unnest(ARRAY['/large!', '/large0', '/z']) AS path
            """)
    }

    private static func removeNext(_ world: FanOutWorld, after wait: Duration = .zero) async throws -> Bool {
        try await world.world.wakeUpStores.nodes.removeNext(now: Clocks.wallNow() + wait, sha256: Hashes.sha256)
    }

    private static func leaves(_ world: FanOutWorld) async throws -> Int {
        try await world.world.number("SELECT count(*) FROM nodes WHERE path LIKE '/large/%'")
    }

    @Test("goes in portions, each of which its watches see, and nothing else goes")
    func portions() async throws {
        try await withFanOuts { world in
            try await Self.fill(world)
            for path in ["/large", "/large/7", "/z"] { try await world.subscribe("phone", path, .childEvent) }
            try await world.world.wakeUpStores.nodes.beginRemoval(of: [Self.large], app: world.world.app)
            var left: [Int] = []
            while try await Self.removeNext(world) { left.append(try await Self.leaves(world)) }
            #expect(left == [1_500, 500, 0])
            let watches = "SELECT sum(weight_leaves + weight_bytes) FROM watches WHERE path LIKE '/large%'"
            #expect(try await world.world.number(watches) == 0)
            #expect(try await world.world.number("SELECT seq FROM watches WHERE path = '/large'") == 3)
            #expect(try await world.world.number("SELECT seq FROM watches WHERE path = '/z'") == 0)
            #expect(try await world.world.number("SELECT count(*) FROM nodes") == 3)
            #expect(try await world.world.number("SELECT count(*) FROM node_removals") == 0)
            try await world.fanOut()
            // The watches of the node and of its child are told, the one beside it is not.
            #expect(try await world.waiting().count == 2)
        }
    }

    @Test("goes on in another process if the first one ends in between")
    func takenUp() async throws {
        try await withFanOuts { world in
            try await Self.fill(world)
            try await world.world.wakeUpStores.nodes.beginRemoval(of: [Self.large], app: world.world.app)
            #expect(try await Self.removeNext(world))
            // A process took the next portion and ended.
            try await world.world.pool.script(
                "UPDATE node_removals SET due_at = clock_timestamp() + interval '5 seconds'")
            #expect(try await Self.removeNext(world) == false)
            while try await Self.removeNext(world, after: .seconds(6)) {}
            #expect(try await Self.leaves(world) == 0)
        }
    }

    @Test("takes nothing that is written after it is gone, or that replaces it")
    func ends() async throws {
        try await withFanOuts { world in
            let nodes = world.world.wakeUpStores.nodes
            try await Self.fill(world)
            try await nodes.beginRemoval(of: [Self.large], app: world.world.app)
            for _ in 0..<3 { #expect(try await Self.removeNext(world)) }
            try await world.put("/large/7", "1")
            #expect(try await Self.removeNext(world) == false)
            #expect(try await Self.leaves(world) == 1)
            for json in [#"{"7": 1}"#, #"{"8": 2}"#] {
                try await nodes.beginRemoval(of: [Self.large, NodePath(stored: "/large/7")], app: world.world.app)
                try await world.put("/large", json)
                #expect(try await Self.removeNext(world) == false, "the write replaced all that was to be removed")
                #expect(try await Self.leaves(world) == 1)
            }
        }
    }

    @Test("stays for a deleted app, whose data goes anyway")
    func deletedApp() async throws {
        try await withFanOuts { world in
            try await Self.fill(world)
            try await world.world.wakeUpStores.nodes.beginRemoval(of: [Self.large, .root], app: world.world.app)
            #expect(try await world.world.stores.registry.deleteApp(world.world.app))
            #expect(try await Self.removeNext(world) == false)
        }
    }

    @Test("may be a whole tree of long paths")
    func deep() async throws {
        try await withFanOuts { world in
            let deep = String(repeating: "/k", count: 900)
            try await world.world.pool.script(
                "INSERT INTO nodes SELECT id, '\(deep)/' || n, '1' FROM apps, generate_series(1, 20) AS n")
            try await world.world.wakeUpStores.nodes.beginRemoval(of: [.root], app: world.world.app)
            var portions = 0
            while try await Self.removeNext(world) { portions += 1 }
            #expect(portions > 1)
            #expect(try await world.world.number("SELECT count(*) FROM nodes") == 0)
        }
    }
}
