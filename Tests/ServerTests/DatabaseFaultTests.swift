import Postgres
import Server
import Store
import Testing

@Suite("A database that can't carry a gateway")
struct DatabaseFaultTests {
    private static let holder = LockHolder(
        process: 4711, program: "psql", tables: ["messages"], doing: "idle in transaction", heldFor: .seconds(40))

    @Test(
        "has a sentence and the SQL that helps, whatever the names are",
        arguments: [
            (
                DatabaseFault.encoding("LATIN1", database: "bells"), "its encoding is LATIN1",
                "CREATE DATABASE bells_utf8 ENCODING 'UTF8' TEMPLATE template0"
            ),
            (
                .noRight(role: "Push\"er", schema: "public", database: "my bells"),
                "the role Push\"er may not create tables in the schema public of the database my bells",
                "in this database: GRANT CREATE, USAGE ON SCHEMA public TO \"Push\"\"er\""
            ),
            (
                .noSchema(role: "pusher", named: "My bells", database: "1st"), "names no schema for its tables",
                "in this database: CREATE SCHEMA \"My bells\" AUTHORIZATION pusher"
            ),
            (
                .noSchema(role: "pusher", named: nil, database: "1st"), "names no schema for its tables",
                "ALTER ROLE pusher IN DATABASE \"1st\" SET search_path = pusher"
            ),
            (
                .otherOwner("postgres", role: "push'er", schema: "public"), "its tables belong to the role postgres",
                "format('ALTER TABLE %s OWNER TO %I', oid::regclass, 'push''er') FROM pg_class WHERE relnamespace = "
                    + "'public'::regnamespace AND relkind IN ('r', 'p') AND relowner = 'postgres'::regrole"
            ),
            (
                .sessions(5, allowedBy: .role("pusher")), "the connection limit of the role pusher allows 5 sessions",
                "ALTER ROLE pusher CONNECTION LIMIT 51"
            ),
            (
                .sessions(0, allowedBy: .database("bells")), "of the database bells allows 0 sessions",
                "ALTER DATABASE bells CONNECTION LIMIT 51"
            ),
            (.sessions(10, allowedBy: .server), "and a gateway opens 17", "ALTER SYSTEM SET max_connections"),
            (.pooler, "a pooler lends the gateway another session", "pool_mode to session"),
            (
                .blocked(holder),
                "a session keeps work waiting: PostgreSQL's process 4711 (psql) holds messages for 40 s",
                "SELECT pg_terminate_backend(4711)"
            ),
        ])
    func described(fault: DatabaseFault, sentence: String, remedy: String) {
        #expect(
            fault.sentence.contains(sentence) && fault.remedy.contains(remedy), "\(fault.sentence): \(fault.remedy)")
        #expect(DoctorRules.unfit(fault).level == .bad)
    }

    @Test("lacks the word \"damaged\" where a right or a session is missing")
    func notDamaged() {
        for code in ["42501", "42P05", "26000", "42P01", "0A000"] {
            let text = MigrationFault.store(.unsuited("master_key_read_proof, SQLSTATE \(code)")).description
            #expect(!text.contains("damaged") && text.contains(code))
        }
    }
}
