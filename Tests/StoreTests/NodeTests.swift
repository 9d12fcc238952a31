import Basis
import JSON
import Model
import Postgres
import Signing
import TestSupport
import Testing
import WakeUpRules
import WakeUpStore

@Suite("A data tree in the database")
struct NodeTests {
    private static func write(_ world: StoreWorld, _ writes: [TreeWrite]) async throws {
        let policy = NodeStore.WritePolicy(gather: .seconds(1))
        let result = await world.wakeUpStores.nodes.write(writes, app: world.app, policy, sha256: Hashes.sha256)
        for reply in result.replies { #expect(try reply.get() == .written) }
    }

    /// Watches each node, so that every statement about a change can be read back.
    private static func watch(_ world: StoreWorld, _ paths: [NodePath]) async throws {
        for path in paths {
            _ = try await world.pool.run(
                query(
                    """
                    INSERT INTO watches (app_id, path, wants_children, weight_bytes, weight_leaves)
                    VALUES (\(world.app.value), '\(path.text)', true, 0, 0)
                    """))
        }
    }

    @Test("holds what was written, and tells each watch exactly which children changed", arguments: 0..<6)
    func exact(seed: UInt64) async throws {
        try await withStores { world in
            var random = SeededTree(seed: seed)
            let paths = try SeededTree.allPaths(depth: 2)
            try await Self.watch(world, paths)
            var model: [NodePath: String] = [:]
            var expected = paths.reduce(into: [NodePath: WatchState]()) { $0[$1] = WatchState() }
            for step in 0..<40 {
                let writes = try (0..<Int.random(in: 1...3, using: &random.random)).map { _ in try random.write() }
                let before = model
                for write in writes { SeededTree.apply(write, to: &model) }
                for path in paths { expected[path]?.note(before, model, at: path) }
                try await Self.write(world, writes)
                let note: Comment = "seed \(seed), step \(step)"
                #expect(try await Self.leaves(world) == model, note)
                #expect(try await Self.watches(world) == expected, note)
            }
        }
    }

    private static func leaves(_ world: StoreWorld) async throws -> [NodePath: String] {
        let reading = try await world.wakeUpStores.nodes.read(.root, app: world.app)
        guard case .found(let leaves) = reading else { return [:] }
        return leaves.reduce(into: [:]) { $0[$1.path] = $1.value }
    }

    private static func watches(_ world: StoreWorld) async throws -> [NodePath: WatchState] {
        let rows = try await world.pool.read(
            query(
                """
                SELECT w.path, w.seq, w.weight_bytes, w.weight_leaves, d.watch_id IS NOT NULL,
                    coalesce((SELECT array_agg(c.seq || ' ' || c.child || ' ' || c.existed ORDER BY c.seq, c.child)
                        FROM watch_changes c WHERE c.watch_id = w.id), '{}')
                FROM watches w LEFT JOIN due_watches d ON d.watch_id = w.id
                """))
        return try rows.map { row throws(PostgresError) in
            (
                NodePath(stored: try row.text()),
                WatchState(
                    seq: try row.int64(), bytes: try row.int64(), leaves: try row.int64(), isDue: try row.bool(),
                    changes: try row.textArray())
            )
        }.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
}

/// The state of a watch that the database must show.
private struct WatchState: Equatable {
    var seq: Int64 = 0
    var bytes: Int64 = 0
    var leaves: Int64 = 0
    var isDue = false
    var changes: [String] = []

    mutating func note(_ before: [NodePath: String], _ after: [NodePath: String], at path: NodePath) {
        let changed = Set(before.keys).union(after.keys).filter { path.contains($0) && before[$0] != after[$0] }
        let own = after.filter { path.contains($0.key) }
        bytes = own.reduce(0) { $0 + Int64($1.key.text.utf8.count + $1.value.utf8.count) }
        leaves = Int64(own.count)
        guard !changed.isEmpty else { return }
        seq += 1
        isDue = true
        let depth = path.depth
        let children = Set(changed.filter { $0 != path }.map { $0.keys[depth] })
        let ordered = children.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        changes += ordered.map { child in
            let existed = before.keys.contains { path.contains($0) && $0 != path && $0.keys[depth] == child }
            return "\(seq) \(child) \(existed)"
        }
    }
}

/// Random writes to a tree with few keys, which sort before and behind the slash.
private struct SeededTree {
    var random: SeededGenerator
    static let keys = ["a", "a-", "a0"]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    static func allPaths(depth: Int) throws -> [NodePath] {
        var paths = [NodePath.root]
        var last = paths
        for _ in 0..<depth {
            last = try last.flatMap { path in try keys.map { try path.child($0) } }
            paths += last
        }
        return paths
    }

    static func apply(_ write: TreeWrite, to leaves: inout [NodePath: String]) {
        for replacement in write.replacements {
            leaves = leaves.filter { !replacement.path.contains($0.key) }
            if !replacement.leaves.isEmpty { leaves = leaves.filter { !$0.key.contains(replacement.path) } }
            for leaf in replacement.leaves { leaves[leaf.path] = leaf.value }
        }
    }

    private mutating func key() -> String { Self.keys[Int.random(in: 0..<Self.keys.count, using: &random)] }

    private mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 3), using: &random) {
        case 0: .null
        case 1: .string(String(repeating: "x", count: [1, 1, 70, 71].randomElement(using: &random) ?? 1))
        case 2: true
        default: .object(members(depth: depth - 1))
        }
    }

    private mutating func members(depth: Int) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0..<3, using: &random) { object[key()] = value(depth: depth) }
        return object
    }

    mutating func write() throws -> TreeWrite {
        let path = try NodePath((0..<Int.random(in: 0...2, using: &random)).map { _ in key() })
        return Bool.random(using: &random)
            ? try .put(value(depth: 2), at: path) : try .patch(members(depth: 1), at: path)
    }
}
