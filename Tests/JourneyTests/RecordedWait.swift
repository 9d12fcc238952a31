import Encodings
import Postgres
import Testing

/// How long a settle deferred some of a message's pushes, and why.
///
/// It is recorded in the settle's own transaction and by its clock. A test that moves the times afterwards, to avoid
/// real waits, does not change it.
struct RecordedWait {
    let cause: String
    /// The provider's word for it; nil: it gave none.
    let quote: String?
    let length: Duration
}

extension World {
    /// Makes the database record waits. Must be called before the first push.
    func noteWaits() async throws {
        try await database { pool in
            try await pool.script(
                """
                CREATE TABLE told_waits (message_id uuid, cause text, quote text, microseconds bigint, members bytea);
                CREATE FUNCTION note_wait() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    INSERT INTO told_waits VALUES (NEW.message_id, NEW.waits_for, NEW.wait_quote,
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
                SELECT r.id, w.members, w.cause, w.quote, w.microseconds FROM told_waits w, registrations r
                WHERE w.message_id = '\(message)' AND r.installation = '\(installation)'
                    AND r.app_id = (SELECT id FROM apps WHERE slug = '\(app)')
                ORDER BY w.ctid
                """)
        return try await database { pool in
            let rows = try await pool.read(Query(statement)).map { row throws(PostgresError) in
                (
                    device: try row.int64(), members: try row.bytes(),
                    wait: RecordedWait(
                        cause: try row.text(), quote: try row.textOrNil(), length: .microseconds(try row.int64()))
                )
            }
            return try rows.filter { try MemberList.decode($0.members).contains($0.device) }.map(\.wait)
        }
    }
}
