import Basis
import Model
import Postgres
import Store
import WakeUpRules

/// Data trees: their leaves, and the watches that a write raises.
package struct NodeStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier

    /// The largest node that a read returns.
    package struct Extent: Equatable, Sendable {
        package let leavesMax: Int
        package let childrenMax: Int
        /// The bytes of paths and values.
        package let bytesMax: Int64

        /// One answer. The leaves of a larger node are read child by child.
        package static let largest = Extent(
            leavesMax: NodeLeaves.countMax, childrenMax: NodeLeaves.countMax, bytesMax: 4 << 20)
        /// A read that takes the database a few milliseconds at most, also if the node is larger.
        package static let small = Extent(leavesMax: 1_000, childrenMax: 250, bytesMax: 128 << 10)
    }

    package enum Reading<Content: Equatable & Sendable>: Equatable, Sendable {
        case found(Content)
        /// The node has more leaves, children or bytes than the read may return.
        case tooLarge

        package func map<Other: Equatable & Sendable>(_ change: (Content) -> Other) -> Reading<Other> {
            switch self {
            case .found(let content): .found(change(content))
            case .tooLarge: .tooLarge
            }
        }
    }

    /// Returns the node's leaves, in the order of the bytes of their paths.
    ///
    /// - Parameter deadline: the read is contended if it takes the database longer; nil: the pool's own deadline.
    package func read(
        _ path: NodePath, app: AppID, within extent: Extent = .largest, deadline: Duration? = nil
    ) async throws(StoreFault) -> Reading<[NodeLeaf]> {
        let query = Query(NodeSQL.read) {
            $0.subtree(path, of: app)
            $0.int64("leaves_max", Int64(extent.leavesMax))
            $0.int64("bytes_max", extent.bytesMax)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query, deadline: deadline).map {
                row throws(PostgresError) -> (Bool, NodeLeaf?) in
                let isTooLarge = try row.bool()
                let (path, value) = (try row.textOrNil(), try row.textOrNil())
                guard let path, let value else { return (isTooLarge, nil) }
                return (isTooLarge, NodeLeaf(path: NodePath(stored: path), value: value))
            }
            return rows.contains(where: \.0) ? .tooLarge : .found(rows.compactMap(\.1))
        }
    }

    /// A node without what is below its children.
    package enum Surface: Equatable, Sendable {
        /// The value at the path, as JSON.
        case value(String)
        /// The keys of its children, by rising bytes; empty: there is nothing.
        case children([String])
    }

    /// - Parameter deadline: as in `read`.
    package func surface(
        _ path: NodePath, app: AppID, within extent: Extent = .largest, deadline: Duration? = nil
    ) async throws(StoreFault) -> Reading<Surface> {
        let query = Query(NodeSQL.children) {
            $0.subtree(path, of: app)
            $0.int64("children_max", Int64(extent.childrenMax))
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query, deadline: deadline).map { row throws(PostgresError) in
                (key: try row.textOrNil(), value: try row.textOrNil())
            }
            if let value = rows.first?.value { return .found(.value(value)) }
            guard rows.count <= extent.childrenMax else { return .tooLarge }
            return .found(.children(rows.compactMap(\.key)))
        }
    }

    /// Returns the keys of a node's children behind a key, by rising bytes: at most so many.
    ///
    /// - Parameters:
    ///   - after: need not be a child's; empty: from the first child on.
    ///   - deadline: as in `read`.
    package func keys(
        of path: NodePath, app: AppID, after: String, limit: Int, deadline: Duration? = nil
    ) async throws(StoreFault) -> [String] {
        let query = Query(NodeSQL.keys) {
            $0.int64("app", app.value)
            $0.text("prefix", path.prefix)
            $0.text("end", path.end)
            $0.text("after", after)
            $0.int64("limit", Int64(limit))
        }
        return try await translating { () throws(PostgresError) in
            try await pool.read(query, deadline: deadline).map { row throws(PostgresError) in try row.text() }
        }
    }

    /// The app's rules for waking, as far as writes need them.
    package struct WritePolicy: Sendable {
        /// The shortest time between two fan-outs of a watch.
        let gather: Duration

        package init(gather: Duration) { self.gather = gather }
    }

    /// The outcome of one write.
    package enum WriteReply: Equatable, Sendable {
        case written
        /// The write is too large for one transaction. What it removes is removed in portions.
        case removing
        /// The write is too large as long as nodes that it replaces are removed in portions. Nothing is written; the
        /// same write may pass later.
        case beingRemoved
        /// The subtrees that it replaces have too many leaves.
        case refused(NodeFault)
    }

    /// The outcome of a group of writes.
    package struct WriteResult: Equatable, Sendable {
        /// One for each write, in order.
        package fileprivate(set) var replies: [Result<WriteReply, StoreFault>]
        /// Watches have changes to pass on.
        package fileprivate(set) var raisedAny = false
    }

    /// Carries out writes of one app in their order, in one transaction. Each is committed when its reply says so.
    ///
    /// A group that fails, or that is too large, is tried again in halves: so one bad write fails alone.
    ///
    /// - Parameter sha256: hashes bytes.
    package func write(
        _ writes: [TreeWrite], app: AppID, _ policy: WritePolicy, now: WallInstant? = nil,
        sha256: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) async -> WriteResult {
        let outcome: Result<WriteReply, StoreFault>
        do throws(GroupFault) {
            let (reply, raised) = try await writeTogether(writes, app, policy, now, sha256)
            outcome = .success(reply)
            if reply == .written {
                if raised { notifier.notify(.wakeUps) }
                return WriteResult(replies: writes.map { _ in outcome }, raisedAny: raised)
            }
        } catch {
            guard error.isOverARow else { return WriteResult(replies: writes.map { _ in .failure(error.fault) }) }
            outcome = .failure(error.fault)
        }
        guard writes.count > 1 else { return WriteResult(replies: [outcome]) }
        let middle = writes.count / 2
        var result = await write(Array(writes[..<middle]), app: app, policy, now: now, sha256: sha256)
        let others = await write(Array(writes[middle...]), app: app, policy, now: now, sha256: sha256)
        result.replies += others.replies
        result.raisedAny = result.raisedAny || others.raisedAny
        return result
    }

    private func writeTogether(
        _ writes: [TreeWrite], _ app: AppID, _ policy: WritePolicy, _ now: WallInstant?,
        _ sha256: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) async throws(GroupFault) -> (WriteReply, raisedAny: Bool) {
        let group = WriteGroup(MergedWrites(writes), app: app, policy, now: now, sha256: sha256)
        return try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingTransaction { transaction throws(PostgresError) -> (WriteReply, raisedAny: Bool) in
                let before = try group.before(try await transaction.run(group.readings))
                let difference: TreeDifference
                do throws(NodeFault) { difference = try group.difference(from: before) } catch {
                    return await transaction.abandon(returning: (.refused(error), raisedAny: false))
                }
                guard !difference.isEmpty else {
                    _ = try await transaction.runAndCommit([group.endRemovals])
                    return (.written, false)
                }
                let answers = try await transaction.runAndCommit(group.changes(difference))
                return (.written, try answers[answers.count - 1].one(Int64.init) > 0)
            }
        }
    }
}
