import Basis
import JSON
import TestSupport
import WakeUpRules

/// A data tree as a plain list of leaves, which applies writes one by one.
struct TreeModel {
    private(set) var leaves: [NodePath: String] = [:]

    mutating func apply(_ write: TreeWrite) {
        for replacement in write.replacements {
            leaves = leaves.filter { !replacement.path.contains($0.key) }
            if !replacement.leaves.isEmpty { leaves = leaves.filter { !$0.key.contains(replacement.path) } }
            for leaf in replacement.leaves { leaves[leaf.path] = leaf.value }
        }
    }

    func hasData(at path: NodePath) -> Bool { leaves.keys.contains { path.contains($0) } }

    func weight(of path: NodePath) -> (bytes: Int, leaves: Int) {
        let own = leaves.filter { path.contains($0.key) }
        return (own.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.utf8.count }, own.count)
    }

    /// Leaves in the order in which the database returns them.
    func stored(below path: NodePath) -> [NodeLeaf] {
        leaves.filter { path.contains($0.key) }.map { NodeLeaf(path: $0.key, value: $0.value) }
            .sorted { $0.path.text.utf8.lexicographicallyPrecedes($1.path.text.utf8) }
    }

    private func reading(_ path: NodePath) -> StoredLeaf? {
        leaves[path].map { StoredLeaf(path: path, valueBytes: $0.utf8.count, fingerprint: Array($0.utf8)) }
    }

    /// The difference of the writes to this tree, by the code under test.
    func difference(of writes: [TreeWrite]) throws -> TreeDifference {
        let merged = MergedWrites(writes)
        let targets = merged.targets.map(\.path)
        let old = targets.flatMap { stored(below: $0) }.compactMap { reading($0.path) }
        let ordered = stored(below: .root).map(\.path)
        let surroundings = targets.map { target in
            let outside = ordered.filter { !target.contains($0) }
            func precedes(_ one: NodePath, _ other: NodePath) -> Bool {
                one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
            }
            let before = outside.last { precedes($0, target) }
            let between = outside.first {
                precedes(target, $0) && $0.text.utf8.lexicographicallyPrecedes(target.prefix.utf8)
            }
            let behind = outside.first { !$0.text.utf8.lexicographicallyPrecedes(target.end.utf8) }
            return SubtreeSurroundings(
                value: outside.first { $0.contains(target) }.flatMap(reading),
                neighbours: [before, between, behind].compactMap { $0 })
        }
        return try TreeDifference(merged, old: old.reversed(), surroundings) { Array($0.utf8) }
    }
}

/// Random writes to a small tree, whose keys sort before and behind the slash.
struct RandomTree {
    var random: SeededGenerator
    private static let keys = ["a", "a-", "a0", "b", "é", "a b"]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func key() -> String { Self.keys[Int.random(in: 0..<Self.keys.count, using: &random)] }

    mutating func path(depthMax: Int = 3) throws -> NodePath {
        try NodePath((0..<Int.random(in: 0...depthMax, using: &random)).map { _ in key() })
    }

    mutating func value(depth: Int = 3) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 4), using: &random) {
        case 0: .null
        case 1: .number(.literal("1.0"))
        case 2: .string(String(repeating: "x", count: Int.random(in: 0..<3, using: &random)))
        case 3: ["list", 1]
        default: .object(members(depth: depth - 1))
        }
    }

    mutating func members(depth: Int) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0..<4, using: &random) { object[key()] = value(depth: depth) }
        return object
    }

    mutating func write() throws -> TreeWrite {
        let path = try path()
        return Bool.random(using: &random)
            ? try .put(value(), at: path) : try .patch(members(depth: 2), at: path)
    }
}
