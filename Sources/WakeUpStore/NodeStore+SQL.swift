import Model
import Postgres
import WakeUpRules

/// The leaves of data trees. Writes run under `PlannerSQL.inKeyOrder`.
///
/// A node's leaves are the one at its path, or all paths from its prefix (`/contacts/`) to its end (`/contacts0`: 0 is
/// the character behind the slash).
enum NodeSQL {
    private static let subtree = """
        SELECT path, value FROM nodes WHERE app_id = :app AND path = :path
        UNION ALL (
            SELECT path, value FROM nodes WHERE app_id = :app AND path > :prefix AND path < :end
            ORDER BY app_id, path LIMIT :leaves_max + 1)
        """

    /// A node's leaves by rising path. A node that is too large, or that has none, is one row without a leaf.
    static let read = Statement(
        "node_read",
        """
        WITH leaves AS MATERIALIZED (\(subtree)), total AS MATERIALIZED (
            SELECT count(*) AS leaves, coalesce(sum(octet_length(path) + octet_length(value)), 0)::bigint AS bytes
            FROM leaves
        )
        SELECT total.leaves > :leaves_max OR total.bytes > :bytes_max, leaves.path, leaves.value
        FROM total LEFT JOIN leaves ON total.leaves <= :leaves_max AND total.bytes <= :bytes_max
        ORDER BY leaves.path COLLATE "C"
        """)

    /// The keys of a node's children, or the leaf at its path.
    ///
    /// It jumps from child to child: a child's leaves are one range. Behind the leaf of a child comes the next path that
    /// is longer by another byte than a slash, and no key has the byte 1.
    static let children = Statement(
        "node_children",
        """
        WITH RECURSIVE step AS (
            (SELECT path, 1 AS number FROM nodes WHERE app_id = :app AND path > :prefix AND path < :end
                ORDER BY app_id, path LIMIT 1)
            UNION ALL
            SELECT (
                SELECT n.path FROM nodes n
                WHERE n.app_id = :app AND n.path < :end AND n.path >= CASE
                    WHEN position('/' IN substr(step.path, length(:prefix) + 1)) = 0 THEN step.path || chr(1)
                    ELSE :prefix || split_part(substr(step.path, length(:prefix) + 1), '/', 1) || '0' END
                ORDER BY n.app_id, n.path LIMIT 1), step.number + 1
            FROM step WHERE step.path IS NOT NULL AND step.number <= :children_max
        )
        SELECT NULL::text, value FROM nodes WHERE app_id = :app AND path = :path
        UNION ALL
        SELECT split_part(substr(path, length(:prefix) + 1), '/', 1), NULL FROM step WHERE path IS NOT NULL
        """)

    /// The keys of a node's children behind one, by rising bytes.
    static let keys = Statement("node_keys", "SELECT node_keys(:app, :prefix, :end, :after, :limit)")

    /// Writes of one app run one after the other, so that what they read is exact until they commit.
    static let tryLock = Statement(
        "node_try_lock", "SELECT pg_try_advisory_xact_lock(x'6e6f6465'::integer, hashint8(:app))")
    static let lock = Statement("node_lock", "SELECT pg_advisory_xact_lock(x'6e6f6465'::integer, hashint8(:app))")

    /// The leaves of subtrees, in no order. A short value is its own fingerprint; a long one has none here.
    static let subtrees = Statement(
        "node_subtrees",
        """
        SELECT leaf.path, octet_length(leaf.value),
            CASE WHEN octet_length(leaf.value) <= :short_max THEN convert_to(leaf.value, 'UTF8') ELSE '' END
        FROM unnest(:paths, :prefixes, :ends) AS target (path, prefix, prefix_end)
        CROSS JOIN LATERAL (
            SELECT path, value FROM nodes WHERE app_id = :app AND path = target.path
            UNION ALL
            SELECT path, value FROM nodes
            WHERE app_id = :app AND path > target.prefix AND path < target.prefix_end
        ) AS leaf
        LIMIT :leaves_max + 1
        """)

    /// The fingerprints of long values at paths, with their lengths.
    static let longValues = Statement(
        "node_long_values",
        """
        SELECT n.path, octet_length(n.value), sha256(convert_to(n.value, 'UTF8'))
        FROM unnest(:paths) AS asked (path) JOIN nodes n ON n.app_id = :app AND n.path = asked.path
        WHERE octet_length(n.value) > :short_max
        """)

    /// The leaves at nodes above the subtrees.
    static let valuesAbove = Statement(
        "node_values_above",
        """
        SELECT n.path, octet_length(n.value)
        FROM unnest(:paths) AS asked (path) JOIN nodes n ON n.app_id = :app AND n.path = asked.path
        """)

    /// The leaves next to each subtree. Between a path and its prefix stand those whose key is longer by a byte below the
    /// slash.
    static let neighbours = Statement(
        "node_neighbours",
        """
        SELECT target.place, beside.path
        FROM unnest(:paths, :prefixes, :ends) WITH ORDINALITY AS target (path, prefix, prefix_end, place)
        CROSS JOIN LATERAL (
            (SELECT path FROM nodes WHERE app_id = :app AND path < target.path ORDER BY app_id DESC, path DESC LIMIT 1)
            UNION ALL
            (SELECT path FROM nodes WHERE app_id = :app AND path > target.path AND path < target.prefix
                ORDER BY app_id, path LIMIT 1)
            UNION ALL
            (SELECT path FROM nodes WHERE app_id = :app AND path >= target.prefix_end ORDER BY app_id, path LIMIT 1)
        ) AS beside
        """)

    static let remove = Statement("node_remove", "DELETE FROM nodes WHERE app_id = :app AND path = ANY (:paths)")

    static let write = Statement(
        "node_write",
        """
        INSERT INTO nodes (app_id, path, value)
        SELECT :app, leaf.path, leaf.value FROM unnest(:paths, :values) AS leaf (path, value)
        ON CONFLICT (app_id, path) DO UPDATE SET value = excluded.value
        """)

    /// Raises the watches of changed nodes, notes their changed children, and makes them due. Returns how many.
    ///
    /// A watch is locked before its row in due_watches is looked at, as in a fan-out. So a fan-out that deletes the row
    /// has seen this change, or this statement waits for it and writes the row again.
    ///
    /// A row that waits for pushes under way is brought forward, for the subscriptions that have none. One that a fan-out
    /// has locked is left to it: waiting for it could be a deadlock.
    ///
    /// More changed children than a payload holds are not noted one by one, nor are those of long ago.
    static let raise = Statement(
        "node_raise",
        """
        WITH found AS MATERIALIZED (
            SELECT w.id, changed.bytes_added, changed.leaves_added, changed.children > :noted_max AS overflows
            FROM unnest(:paths, :bytes_added, :leaves_added, :children)
                AS changed (path, bytes_added, leaves_added, children)
            CROSS JOIN LATERAL (SELECT id FROM watches WHERE app_id = :app AND path = changed.path LIMIT 1) AS w
        ), locked AS MATERIALIZED (
            SELECT id FROM watches WHERE id = ANY (ARRAY(SELECT id FROM found)) ORDER BY id FOR NO KEY UPDATE
        ), raised AS (
            UPDATE watches w SET seq = w.seq + 1, weight_bytes = w.weight_bytes + found.bytes_added,
                weight_leaves = w.weight_leaves + found.leaves_added,
                overflow_seq = CASE WHEN found.overflows THEN w.seq + 1
                    ELSE greatest(w.overflow_seq, w.seq + 1 - :kept_max) END
            FROM found WHERE w.id = found.id AND (SELECT count(*) FROM locked) > 0
            RETURNING w.id, w.path, w.seq, w.cut_at, w.wants_children AND NOT found.overflows AS notes, w.overflow_seq
        ), noted AS (
            INSERT INTO watch_changes (watch_id, seq, child, existed)
            SELECT raised.id, raised.seq, child.key, child.existed
            FROM raised JOIN unnest(:parents, :keys, :existed) AS child (parent, key, existed) ON child.parent = raised.path
            WHERE raised.notes
        ), dropped AS (
            DELETE FROM watch_changes c USING raised
            WHERE c.watch_id = raised.id AND c.seq <= raised.overflow_seq AND (NOT raised.notes OR raised.seq % 64 = 0)
        ), due AS (
            INSERT INTO due_watches (watch_id, app_id, due_at)
            SELECT id, :app, greatest(coalesce(:now, clock_timestamp()), cut_at + :gather_us * interval '1 microsecond')
            FROM raised ORDER BY id
            ON CONFLICT DO NOTHING
        ), early AS (
            SELECT own.* FROM raised CROSS JOIN LATERAL (
                SELECT watch_id, greatest(coalesce(:now, clock_timestamp()), soonest_at,
                    raised.cut_at + :gather_us * interval '1 microsecond') AS due_at
                FROM due_watches WHERE watch_id = raised.id AND soonest_at < due_at FOR UPDATE SKIP LOCKED
            ) AS own
        ), forward AS (
            UPDATE due_watches d SET due_at = early.due_at
            FROM early WHERE d.watch_id = early.watch_id AND d.due_at > early.due_at
        )
        SELECT count(*) FROM raised
        """)
}
