import Basis
import Model
import Postgres
import Store
import WakeUpRules

// Nodes that are too large to be removed in one transaction. Each portion is a write like any other, so watches are
// raised and weights stay exact.
extension NodeStore {
    /// The most leaves that one portion removes. Other writes of the app wait for one portion at most.
    package static let portionMax = 1_000
    /// The most bytes that the nodes above a portion's leaves may have together, counted once for each leaf.
    private static let portionBytesMax = TreeDifference.pathBytesMax / 2

    /// Begins to remove nodes in portions. Committed when this returns: any process goes on, after a crash too.
    package func beginRemoval(of paths: [NodePath], app: AppID, now: WallInstant? = nil) async throws(StoreFault) {
        let begin = Query(RemovalSQL.begin) {
            $0.int64("app", app.value)
            $0.textArray("paths", paths.map(\.text))
            $0.instant("now", now)
        }
        _ = try await translated(await pool.run([begin], transaction: .init()))
    }

    /// Whether a node that the write replaces, or one above it, is being removed in portions. The replaced nodes are
    /// siblings, or one alone.
    package func isBeingRemoved(_ write: TreeWrite, app: AppID) async throws(StoreFault) -> Bool {
        let own = write.replacements.map(\.path)
        let above = own.first.map { $0.nodes(fromDepth: 0).dropLast() } ?? []
        let ask = Query(RemovalSQL.isUnderWay) {
            $0.int64("app", app.value)
            $0.textArray("paths", (above + own).map(\.text))
        }
        return try await translated(await pool.read(ask).one(Bool.init))
    }

    /// Removes the next portion of a node that is being removed. Returns false if there is none, or if others work on
    /// all of them. After a fault, the node is due again some seconds later.
    ///
    /// The last portion replaces the whole node. So the removal ends in the transaction that leaves the node empty, and
    /// takes nothing that is written later.
    package func removeNext(
        now: WallInstant? = nil, sha256: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) async throws(StoreFault) -> Bool {
        guard let removal = try await claim(now) else { return false }
        let leaves = try await leaves(of: removal)
        var (portion, bytes) = (0, 0)
        for leaf in leaves.prefix(Self.portionMax) {
            bytes += leaf.text.utf8.count * (leaf.depth + 1)
            if portion > 0, bytes > Self.portionBytesMax { break }
            portion += 1
        }
        let isLast = portion == leaves.count
        let write: TreeWrite
        // Neither is too large: a portion has a bound, and one path is one removal.
        do throws(NodeFault) { write = try .remove(isLast ? [removal.path] : Array(leaves[..<portion])) } catch {
            preconditionFailure("a portion is a write")
        }
        let result = await self.write([write], app: removal.app, removal.policy, now: now, sha256: sha256)
        _ = try result.replies[0].get()
        let goOn = Query(RemovalSQL.goOn) {
            $0.int64("removal", removal.id)
            $0.instant("now", now)
        }
        _ = try await translated(await pool.run([goOn], transaction: .init()))
        return true
    }

    private struct Removal: Sendable {
        let id: Int64
        let app: AppID
        let path: NodePath
        let policy: WritePolicy

        init(_ row: inout Row) throws(PostgresError) {
            (id, app, path) = (try row.int64(), AppID(try row.int64()), NodePath(stored: try row.text()))
            guard let settings = AppSettings(stored: try row.json()) else {
                throw .unexpectedShape(statement: RemovalSQL.claim.name, column: 3)
            }
            policy = WritePolicy(gather: settings.wakeUp.gather)
        }
    }

    private func claim(_ now: WallInstant?) async throws(StoreFault) -> Removal? {
        let claim = Query(RemovalSQL.claim) { $0.instant("now", now) }
        return try await translated(await pool.runThroughKeys(claim).first(Removal.init))
    }

    /// Returns the paths of the first leaves, one more than a portion has.
    private func leaves(of removal: Removal) async throws(StoreFault) -> [NodePath] {
        let next = Query(RemovalSQL.leaves) {
            $0.subtree(removal.path, of: removal.app)
            $0.int64("limit", Int64(Self.portionMax) + 1)
        }
        return try await translated(
            await pool.read(next).map { row throws(PostgresError) in NodePath(stored: try row.text()) })
    }
}

/// The removal of nodes in portions.
enum RemovalSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    static let begin = Statement(
        "removal_begin",
        """
        INSERT INTO node_removals (app_id, path, due_at) SELECT :app, path, \(now) FROM unnest(:paths) AS asked (path)
        ORDER BY path ON CONFLICT (app_id, path) DO NOTHING
        """)

    static let isUnderWay = Statement(
        "removal_is_under_way", "SELECT EXISTS (SELECT FROM node_removals WHERE app_id = :app AND path = ANY (:paths))")

    /// Takes the removal that waits longest, for some seconds. A portion is over before they are. If the process ends, or a
    /// write of the app takes longer, two portions are removed at once, which harms nothing.
    static let claim = Statement(
        "removal_claim",
        """
        WITH next AS MATERIALIZED (
            SELECT id FROM node_removals
            WHERE due_at <= \(now) AND EXISTS (SELECT FROM apps WHERE id = node_removals.app_id AND deleted_at IS NULL)
            ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
        )
        UPDATE node_removals r SET due_at = \(now) + interval '5 seconds'
        FROM next, apps a WHERE r.id = next.id AND a.id = r.app_id
        RETURNING r.id, r.app_id, r.path, a.settings
        """)

    static let leaves = Statement(
        "removal_leaves",
        """
        SELECT path FROM nodes WHERE app_id = :app AND path = :path
        UNION ALL (
            SELECT path FROM nodes WHERE app_id = :app AND path > :prefix AND path < :end
            ORDER BY app_id, path LIMIT :limit)
        """)

    /// Lets the next portion be taken, behind those of others.
    static let goOn = Statement("removal_go_on", "UPDATE node_removals SET due_at = \(now) WHERE id = :removal")

    /// Ends the removals of these nodes, and of those below.
    static let endBelow = Statement(
        "removal_end_below",
        """
        DELETE FROM node_removals WHERE id = ANY (ARRAY(
            SELECT own.id FROM unnest(:paths, :prefixes, :ends) AS target (path, prefix, prefix_end)
            CROSS JOIN LATERAL (
                SELECT id FROM node_removals WHERE app_id = :app AND path = target.path
                UNION ALL
                SELECT id FROM node_removals
                WHERE app_id = :app AND path > target.prefix AND path < target.prefix_end
            ) AS own))
        """)
}
