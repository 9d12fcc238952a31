import Model
import Postgres

/// Members' own values, in chunks beside the parcels (decision 0076).
enum OwnValueSQL {
    /// Writes chunks of messages that were written in the same transaction. The arrays have one element for each chunk.
    static let write = Statement(
        "own_values_write",
        """
        INSERT INTO own_values (message_id, first_member, last_member, app_id, members, value_bytes)
        SELECT message_id, first_member, last_member, app_id, members, value_bytes
        FROM unnest(:messages, :first_members, :last_members, :apps, :members, :value_bytes)
            AS chunk (message_id, first_member, last_member, app_id, members, value_bytes)
        """)

    /// Reads the chunks that may have some members, by rising id. A member's chunk is the last one that begins at the
    /// member or before it.
    static let read = Statement(
        "own_values_read",
        """
        SELECT chunk.members, chunk.value_bytes
        FROM (
            SELECT DISTINCT (
                SELECT first_member FROM own_values
                WHERE message_id = :message AND first_member <= asked.id
                ORDER BY message_id DESC, first_member DESC LIMIT 1) AS first_member
            FROM unnest(:members) AS asked (id)
            ORDER BY 1 LIMIT :limit
        ) AS named
        CROSS JOIN LATERAL (
            SELECT members, value_bytes FROM own_values
            WHERE message_id = :message AND first_member = named.first_member LIMIT 1
        ) AS chunk
        ORDER BY named.first_member
        """)

    /// Finds an app's next chunks that may have a member between two ids, with their members. It runs under
    /// `PlannerSQL.throughKeys`, as the next two do.
    static let find = Statement(
        "own_values_find",
        """
        SELECT message_id, first_member, members FROM own_values
        WHERE (app_id, message_id, first_member) > (:app, :after_message, :after_member) AND app_id <= :app
            AND first_member <= :last AND last_member >= :first
        ORDER BY app_id, message_id, first_member LIMIT :limit
        """)

    /// Locks chunks and reads them. Another erasure may have changed them since they were found.
    static let lock = Statement(
        "own_values_lock",
        """
        SELECT chunk.message_id, chunk.first_member, chunk.members, chunk.value_bytes
        FROM unnest(:messages, :first_members) AS named (message_id, first_member)
        CROSS JOIN LATERAL (
            SELECT message_id, first_member, members, value_bytes FROM own_values
            WHERE message_id = named.message_id AND first_member = named.first_member FOR UPDATE
        ) AS chunk
        """)

    static let rewrite = Statement(
        "own_values_rewrite",
        """
        UPDATE own_values chunk SET value_bytes = erased.value_bytes
        FROM unnest(:messages, :first_members, :value_bytes) AS erased (message_id, first_member, value_bytes)
        WHERE chunk.message_id = erased.message_id AND chunk.first_member = erased.first_member
        """)

    /// A chunk has up to 64 KiB outside its row: as many rows as other sweeps delete would be a third of a gigabyte.
    static let chunksPerSweepMax: Int64 = 500

    // A message that is over and has no parcel is never leased again. A cancelled one may have parcels for a while.
    private static let overMessages = """
        FROM messages m
        WHERE has_own_values AND state >= \(MessageState.finished.sql)
            AND (SELECT true FROM parcels WHERE message_id = m.id LIMIT 1) IS NULL
        """

    /// Removes chunks of messages that are over. It runs under `PlannerSQL.throughKeys`, as `forget` does.
    static let sweep = Statement(
        "sweep_own_values",
        """
        DELETE FROM own_values WHERE ctid = ANY (ARRAY(
            SELECT chunk.ctid
            FROM (SELECT m.id \(overMessages) ORDER BY m.expires_at, m.id LIMIT :limit) AS ended
            CROSS JOIN LATERAL (
                SELECT ctid FROM own_values WHERE message_id = ended.id ORDER BY message_id, first_member LIMIT :limit
            ) AS chunk LIMIT :limit))
        """)

    /// Notes for messages that are over that they have no chunk left.
    static let forget = Statement(
        "sweep_own_values_noted",
        """
        UPDATE messages SET has_own_values = false WHERE id = ANY (ARRAY(
            SELECT m.id \(overMessages)
                AND (
                    SELECT true FROM own_values WHERE message_id = m.id ORDER BY message_id, first_member LIMIT 1
                ) IS NULL
            ORDER BY m.expires_at, m.id LIMIT :limit))
        """)
}
