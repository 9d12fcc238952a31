import Basis
import Model
import Postgres
import Store
import WakeUpRules

/// Writes to one app's tree that one transaction carries out: what it reads before, and what it changes.
struct WriteGroup: Sendable {
    private let writes: MergedWrites
    private let targets: [NodePath]
    private let app: AppID
    private let policy: NodeStore.WritePolicy
    private let now: WallInstant?
    private let sha256: @Sendable ([UInt8]) -> [UInt8]

    /// Values up to this length are compared themselves, longer ones by their hash: old values are not read whole.
    private static let shortMax = 64

    init(
        _ writes: MergedWrites, app: AppID, _ policy: NodeStore.WritePolicy, now: WallInstant?,
        sha256: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        (self.writes, self.app, self.policy, self.now, self.sha256) = (writes, app, policy, now, sha256)
        targets = writes.targets.map(\.path)
    }

    var readings: [Query] {
        [
            Query(PlannerSQL.inKeyOrder),
            Query(NodeSQL.lock) { $0.int64("app", app.value) },
            Query(NodeSQL.subtrees) {
                $0.subtrees(targets, of: app)
                $0.int32("short_max", Int32(Self.shortMax))
                $0.int64("leaves_max", Int64(NodeLeaves.countMax))
            },
            Query(NodeSQL.longValues) {
                $0.int64("app", app.value)
                $0.textArray("paths", writes.leaves.filter { $0.value.utf8.count > Self.shortMax }.map(\.path.text))
                $0.int32("short_max", Int32(Self.shortMax))
            },
            Query(NodeSQL.valuesAbove) {
                $0.int64("app", app.value)
                $0.textArray("paths", writes.nodesAbove.map(\.text))
            },
            Query(NodeSQL.neighbours) { $0.subtrees(targets, of: app) },
        ]
    }

    /// The leaves that the writes replace, and what lies around these.
    struct Before: Sendable {
        fileprivate let leaves: [StoredLeaf]
        fileprivate let surroundings: [SubtreeSurroundings]

        /// The subtrees have more leaves than one transaction replaces.
        fileprivate(set) var isTooLarge = false
    }

    /// - Parameter answers: the answers to `readings`.
    func before(_ answers: [ResultSet]) throws(PostgresError) -> Before {
        var leaves = try answers[2].map(StoredLeaf.init)
        let isTooLarge = leaves.count > NodeLeaves.countMax
        var long: [NodePath: StoredLeaf] = [:]  // lookup only
        for leaf in try answers[3].map(StoredLeaf.init) { long[leaf.path] = leaf }
        if !long.isEmpty { leaves = leaves.map { long[$0.path] ?? $0 } }
        let values = try answers[4].map { row throws(PostgresError) in
            StoredLeaf(path: NodePath(stored: try row.text()), valueBytes: Int(try row.int32()), fingerprint: [])
        }
        let neighbours = try answers[5].map { row throws(PostgresError) in
            (target: try row.place(upTo: targets.count), path: NodePath(stored: try row.text()))
        }
        let surroundings = writes.surroundings(values: values, neighbours: neighbours)
        return Before(leaves: leaves, surroundings: surroundings, isTooLarge: isTooLarge)
    }

    func difference(from before: Before) throws(NodeFault) -> TreeDifference {
        guard !before.isTooLarge else { throw .subtreeTooLarge }
        return try TreeDifference(writes, old: before.leaves, before.surroundings) { value in
            let bytes = Array(value.utf8)
            return bytes.count <= Self.shortMax ? bytes : sha256(bytes)
        }
    }

    /// Ends the removal in portions of the nodes that the writes replace: these leave nothing to remove.
    var endRemovals: Query { Query(RemovalSQL.endBelow) { $0.subtrees(targets, of: app) } }

    /// The queries that carry out the difference. The last one returns how many watches it raised.
    func changes(_ difference: TreeDifference) -> [Query] {
        let nodes = difference.nodes
        return [
            Query(NodeSQL.remove) {
                $0.int64("app", app.value)
                $0.textArray("paths", difference.removed.map(\.text))
            },
            Query(NodeSQL.write) {
                $0.int64("app", app.value)
                $0.textArray("paths", difference.written.map(\.path.text))
                $0.textArray("values", difference.written.map(\.value))
            },
            endRemovals,
            Query(NodeSQL.raise) {
                $0.int64("app", app.value)
                $0.instant("now", now)
                $0.int64("gather_us", policy.gather.wholeMicroseconds)
                $0.int32("noted_max", WatchChanges.perWriteMax)
                $0.int64("kept_max", WatchChanges.writesKept)
                $0.textArray("paths", nodes.map(\.path.text))
                $0.int64Array("bytes_added", nodes.map { Int64($0.bytesAdded) })
                $0.int64Array("leaves_added", nodes.map { Int64($0.leavesAdded) })
                $0.int32Array("children", nodes.map { Int32($0.children) })
                $0.textArray("parents", nodes.map { $0.path.parent?.text })
                $0.textArray("keys", nodes.map(\.path.lastKey))
                $0.boolArray("existed", nodes.map(\.existed))
            },
        ]
    }
}

/// The log of changed children that a watch keeps for its subscriptions.
enum WatchChanges {
    /// More changed children than this fit no payload: 677 removed keys of one byte, or 369 added ones, are 4,063 bytes.
    static let perWriteMax: Int32 = 677
    /// The writes whose changed children are kept. A subscription that misses more learns that the changes are too
    /// big, and reads the node.
    static let writesKept: Int64 = 1_024
}

extension StoredLeaf {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            path: NodePath(stored: try row.text()), valueBytes: Int(try row.int32()), fingerprint: try row.bytes())
    }
}

extension Parameters {
    mutating func subtree(_ path: NodePath, of app: AppID) {
        int64("app", app.value)
        text("path", path.text)
        text("prefix", path.prefix)
        text("end", path.end)
    }

    fileprivate mutating func subtrees(_ paths: [NodePath], of app: AppID) {
        int64("app", app.value)
        textArray("paths", paths.map(\.text))
        textArray("prefixes", paths.map(\.prefix))
        textArray("ends", paths.map(\.end))
    }
}
