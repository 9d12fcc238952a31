import JSON
import Model
import Postgres
import WakeUpRules

/// A watch in the middle of a fan-out, as one snapshot of the database has it.
package struct WatchSnapshot: Sendable {
    package let id: WatchID
    package let app: AppID
    package let address: WakeUpAddress
    package let settings: WakeUpSettings
    /// The number of the last write that changed data at or below the path.
    package let seq: Int64
    /// How often subscriptions were adopted.
    let adoptions: Int64
    package let weightBytes: Int64
    package let weightLeaves: Int64
    /// The revision of the app's read rules; nil: it has none.
    let rulesRevision: Int64?
    /// A subscription asks for the data of the node, and for its changed children.
    private let hasValue: Bool
    private let hasChildren: Bool
    /// The data of the node, if a subscription asks for it.
    package let data: NodeData
    private let log: ChildLog

    /// More leaves than this fit no payload: each has at least six bytes.
    static let leavesMax = 700
    /// The most changes that are read of a watch. With more, the oldest are not known one by one.
    static let changesMax: Int64 = 2_048
    /// The most changed children whose data is read. With more, none of the changes is known.
    static let childrenMax: Int64 = 1_024

    init(_ row: inout Row) throws(PostgresError) {
        (id, app) = (WatchID(try row.int64()), AppID(try row.int64()))
        let slug = try row.text()
        guard let settings = AppSettings(stored: try row.json()) else {
            throw .unexpectedShape(statement: FanOutSQL.read.name, column: 3)
        }
        self.settings = settings.wakeUp
        let path = NodePath(stored: try row.text())
        address = WakeUpAddress(app: slug, path: path)
        seq = try row.int64()
        let overflowSeq = try row.int64()
        adoptions = try row.int64()
        (weightBytes, weightLeaves) = (try row.int64(), try row.int64())
        rulesRevision = try row.int64OrNil()
        (hasValue, hasChildren) = (try row.bool(), try row.bool())
        data = Self.data(try Self.leaves(&row), at: path)
        log = try ChildLog(&row, path, overflowSeq: overflowSeq)
    }

    /// Whether the node weighs more than the app's settings allow.
    var isTooHeavy: Bool {
        weightBytes > Int64(settings.weightBytesMax) || weightLeaves > Int64(settings.weightLeavesMax)
    }

    var status: WatchStatus {
        WatchStatus(
            seq: seq, adoptions: adoptions, isEnabled: settings.isEnabled, isTooHeavy: isTooHeavy,
            gather: settings.gather, hasValue: hasValue, hasChildren: hasChildren)
    }

    /// Returns the children that changed after a write; nil: which ones is not known.
    func changes(after seq: Int64) -> ChildChanges? { log.changes(after: seq) }

    /// Reads two columns: paths and values.
    fileprivate static func leaves(_ row: inout Row) throws(PostgresError) -> [NodeLeaf] {
        let (paths, values) = (try row.textArray(), try row.textArray())
        return zip(paths, values).map { NodeLeaf(path: NodePath(stored: $0), value: $1) }
    }

    fileprivate static func data(_ leaves: [NodeLeaf], at path: NodePath) -> NodeData {
        guard leaves.count < leavesMax, !leaves.contains(where: \.value.isEmpty) else { return .tooBig }
        let ordered = leaves.sorted { $0.path.text.utf8.lexicographicallyPrecedes($1.path.text.utf8) }
        return .json(NodeText.compose(ordered, at: path))
    }
}

/// The changed children of a watched node, and the data that they have now.
private struct ChildLog: Sendable {
    private struct Change {
        let seq: Int64
        let key: String
        let path: NodePath
        let existed: Bool
    }

    /// By rising number.
    private var changes: [Change] = []
    /// The data of changed children that have some.
    private var data: [NodePath: NodeData] = [:]  // lookup only
    /// The changes up to this number are not known one by one.
    private var overflowSeq: Int64

    init(_ row: inout Row, _ path: NodePath, overflowSeq: Int64) throws(PostgresError) {
        self.overflowSeq = overflowSeq
        let (seqs, keys, existed) = (try row.int64Array(), try row.textArray(), try row.boolArray())
        guard keys.count == seqs.count, existed.count == seqs.count else {
            throw .unexpectedShape(statement: FanOutSQL.read.name, column: 15)
        }
        for place in seqs.indices {
            let child = NodePath(stored: path.prefix + keys[place])
            changes.append(Change(seq: seqs[place], key: keys[place], path: child, existed: existed[place]))
        }
        let present = try row.textArray().map { NodePath(stored: path.prefix + $0) }
        let owners = try row.textArray().map { NodePath(stored: path.prefix + $0) }
        let leaves = try WatchSnapshot.leaves(&row)
        let below = Dictionary(grouping: zip(owners, leaves), by: \.0)
        // If there are more leaves, those of the child that came last are not all, and the others behind it have none.
        let cut = leaves.count < WatchSnapshot.leavesMax ? nil : owners.last
        for child in present {
            let own = below[child, default: []].map(\.1)
            let isRead = cut == nil || child != cut && !own.isEmpty
            data[child] = isRead ? WatchSnapshot.data(own, at: child) : .tooBig
        }
        if let first = seqs.first, Int64(seqs.count) >= WatchSnapshot.changesMax {
            self.overflowSeq = max(overflowSeq, first)
        }
        forgetOldest()
    }

    /// Forgets the changes up to that of the first child whose data was not read: the newest children were.
    private mutating func forgetOldest() {
        var newest: Set<NodePath> = []  // lookup only
        for change in changes.reversed() where newest.insert(change.path).inserted {
            guard Int64(newest.count) > WatchSnapshot.childrenMax else { continue }
            overflowSeq = max(overflowSeq, change.seq)
            return
        }
    }

    func changes(after seq: Int64) -> ChildChanges? {
        guard seq >= overflowSeq else { return nil }
        var known = ChildChanges()
        var seen: Set<NodePath> = []  // lookup only
        for change in changes where change.seq > seq && seen.insert(change.path).inserted {
            known.note(change.key, existed: change.existed, now: data[change.path])
        }
        return known
    }
}
