import Encodings
import Postgres
import Testing

/// How long a settle deferred some of a message's pushes, and why.
///
/// It is recorded in the settle's own transaction and by its clock. A test that moves the times afterwards, to avoid
/// real waits, does not change it.
struct RecordedWait {
    let cause: String
    let length: Duration
}

extension World {
    /// Makes the database record waits. Must be called before the first push.
    func noteWaits() async throws {
        try await database { pool in
            try await pool.script(
                """
                CREATE TABLE told_waits (message_id uuid, cause text, microseconds bigint, members bytea);
                CREATE FUNCTION note_wait() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    INSERT INTO told_waits VALUES (NEW.message_id, NEW.waits_for,
                        (extract(epoch FROM NEW.due_at - now()) * 1000000)::bigint, NEW.members);
                    RETURN NULL;
                END $$;
                CREATE TRIGGER note_wait AFTER INSERT ON parcels
                    FOR EACH ROW WHEN (NEW.waits_for IS NOT NULL) EXECUTE FUNCTION note_wait();
                """)
        }
    }

    /// The waits of one device's push, oldest first.
    func waits(of installation: String, _ message: String, _ app: App) async throws -> [RecordedWait] {
        let statement = Statement(
            unprepared: """
                SELECT w.cause, w.microseconds, w.members, r.id FROM told_waits w, registrations r
                WHERE w.message_id = '\(message)' AND r.installation = '\(installation)'
                    AND r.app_id = (SELECT id FROM apps WHERE slug = '\(app)')
                ORDER BY w.ctid
                """)
        return try await database { pool in
            let rows = try await pool.read(Query(statement))
            return try (0..<rows.rowCount).compactMap { row in
                let members = try MemberList.decode(try rows.bytes(row, 2))
                guard members.contains(try rows.int64(row, 3)) else { return nil }
                return RecordedWait(
                    cause: try rows.text(row, 0), length: .microseconds(try rows.int64(row, 1)))
            }
        }
    }
}
