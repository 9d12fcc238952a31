import Model
import Postgres
import Store
import WakeUpRules

/// A watch in the middle of a fan-out, as one snapshot of the database has it.
package struct WatchSnapshot: Sendable {
    package let id: WatchID
    package let app: AppID
    package let address: WakeUpAddress
    package let settings: WakeUpSettings
    /// The number of the last write that changed data at or below the path.
    package let seq: Int64
    /// How often subscriptions moved to another registration, or came back with their token.
    let moves: Int64
    package let weightBytes: Int64
    package let weightLeaves: Int64
    /// The revision of the app's read rules; nil: it has none.
    let rulesRevision: Int64?
    /// The node's data is read, because a subscription asks for it.
    private let readsValue: Bool
    /// The changed children are read, because a subscription asks for them.
    private let readsChildren: Bool
    /// The data of the node, if a subscription asks for it.
    package let data: NodeData
    private let log: ChildLog

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
        moves = try row.int64()
        (weightBytes, weightLeaves) = (try row.int64(), try row.int64())
        rulesRevision = try row.int64OrNil()
        (readsValue, readsChildren) = (try row.bool(), try row.bool())
        data = NodeData(try Self.leaves(&row), at: path)
        log = try ChildLog(&row, of: path, overflowSeq: overflowSeq)
    }

    /// Whether the node weighs more than the app's settings allow.
    var isTooHeavy: Bool {
        weightBytes > Int64(settings.weightBytesMax) || weightLeaves > Int64(settings.weightLeavesMax)
    }

    var status: WatchStatus {
        WatchStatus(
            seq: seq, moves: moves, isEnabled: settings.isEnabled, isTooHeavy: isTooHeavy,
            gather: settings.gather, readsValue: readsValue, readsChildren: readsChildren)
    }

    /// Returns the children that changed after a write; nil: which ones is not known.
    func changes(after seq: Int64) -> ChildChanges? { log.changes(after: seq) }

    /// Reads two columns: paths and values.
    fileprivate static func leaves(_ row: inout Row) throws(PostgresError) -> [NodeLeaf] {
        let (paths, values) = (try row.textArray(), try row.textArray())
        return zip(paths, values).map { NodeLeaf(path: NodePath(stored: $0), value: $1) }
    }
}

extension ChildLog {
    /// Reads three columns of changes, one of children that have data, and three of the leaves of these.
    fileprivate init(_ row: inout Row, of path: NodePath, overflowSeq: Int64) throws(PostgresError) {
        let (seqs, keys, existed) = (try row.int64Array(), try row.textArray(), try row.boolArray())
        guard keys.count == seqs.count, existed.count == seqs.count else {
            throw .unexpectedShape(statement: FanOutSQL.read.name, column: 15)
        }
        let changes = seqs.indices.map { Change(seq: seqs[$0], child: keys[$0], existed: existed[$0]) }
        let present = try row.textArray()
        let owners = try row.textArray()
        let leaves = try WatchSnapshot.leaves(&row)
        self.init(
            of: path, changes, overflowSeq: overflowSeq, present: present,
            leaves: zip(owners, leaves).map { (child: $0, leaf: $1) })
    }
}
