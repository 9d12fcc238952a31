import Foundation
import Postgres
import Store
import TestSupport
import Testing

@Suite("A migration of the database")
struct MigratorTests {
    private static func step(_ number: Int, _ sql: String) -> Migration {
        Migration(name: "000\(number)_step", sql: Array(sql.utf8))
    }

    private static let first = step(1, "CREATE TABLE bells (id int PRIMARY KEY); INSERT INTO bells VALUES (1);")
    private static let second = step(2, "ALTER TABLE bells ADD COLUMN tone text;")

    private func withEmptyDatabase(_ body: (PostgresPool) async throws -> Void) async throws {
        let settings = try await StoreServer.makeDatabase(template: "template1")
        try await withPool(settings, body)
    }

    private func fault(_ migrator: Migrator) async -> MigrationFault? {
        do throws(MigrationFault) {
            _ = try await migrator.migrate()
            return nil
        } catch { return error }
    }

    @Test("applies each step once, in order")
    func inOrder() async throws {
        try await withEmptyDatabase { pool in
            #expect(try await Migrator(pool: pool, history: [Self.first]).migrate() == ["0001_step"])
            #expect(try await Migrator(pool: pool, history: [Self.first, Self.second]).migrate() == ["0002_step"])
            #expect(try await Migrator(pool: pool, history: [Self.first, Self.second]).migrate() == [])
            let rows = try await pool.read(query("SELECT name FROM schema_migrations ORDER BY position"))
            #expect(try rows.map(String.init) == ["0001_step", "0002_step"])
        }
    }

    @Test("applies each step once when many processes migrate at the same time")
    func atOnce() async throws {
        try await withEmptyDatabase { pool in
            let applied = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<6 { group.addTask { try await Migrator(pool: pool, history: [Self.first]).migrate() } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied == ["0001_step"])
        }
    }

    @Test("fails when an applied step was edited afterwards")
    func changed() async throws {
        try await withEmptyDatabase { pool in
            _ = try await Migrator(pool: pool, history: [Self.first]).migrate()
            let edited = Migration(name: Self.first.name, sql: Self.first.sql + Array("-- edited".utf8))
            #expect(await fault(Migrator(pool: pool, history: [edited])) == .changed("0001_step"))
            #expect(await missingFault(Migrator(pool: pool, history: [edited, Self.second])) == .changed("0001_step"))
        }
    }

    @Test("fails when the database has the steps of another history")
    func forked() async throws {
        try await withEmptyDatabase { pool in
            _ = try await Migrator(pool: pool, history: [Self.first]).migrate()
            let other = Migration(name: "0001_other", sql: Self.first.sql)
            #expect(await fault(Migrator(pool: pool, history: [other])) == .unknown("0001_step"))
        }
    }

    @Test("fails in a program that lacks an applied step")
    func newer() async throws {
        try await withEmptyDatabase { pool in
            _ = try await Migrator(pool: pool, history: [Self.first, Self.second]).migrate()
            let migrator = Migrator(pool: pool, history: [Self.first])
            #expect(await fault(migrator) == .unknown("0002_step"))
            #expect(await missingFault(migrator) == .unknown("0002_step"))
        }
    }

    private func missingFault(_ migrator: Migrator) async -> MigrationFault? {
        do throws(MigrationFault) {
            _ = try await migrator.missing()
            return nil
        } catch { return error }
    }

    @Test("succeeds although a running program locks the same tables in the opposite order")
    func deadlock() async throws {
        try await withEmptyDatabase { pool in
            _ = try await Migrator(pool: pool, history: [Self.first]).migrate()
            try await pool.script("CREATE TABLE ropes ()")
            let migration = try await pool.transaction { transaction throws(PostgresError) in
                // The migration is the session that checks for a deadlock, and the one that has to give way.
                try await transaction.script(
                    "SET LOCAL deadlock_timeout = '1h'; LOCK TABLE ropes IN ACCESS SHARE MODE")
                let waiting = Task { try await Migrator(pool: pool, history: [Self.first, Self.meeting]).migrate() }
                while try await pool.number(Self.hasSignals) == 0 { await Task.yield() }
                try await transaction.script("LOCK TABLE bells IN ACCESS SHARE MODE")
                return waiting
            }
            #expect(try await migration.value == ["0002_step"])
        }
    }

    @Test("releases its locks quickly while it waits for another table, so that other sessions go on")
    func kind() async throws {
        try await withEmptyDatabase { pool in
            _ = try await Migrator(pool: pool, history: [Self.first, Self.ropes]).migrate()
            let migrator = Migrator(
                pool: pool, history: [Self.first, Self.ropes, Self.both], lockPolicy: Self.lockPolicy)
            let waits = Waits()
            let migration = try await pool.transaction { transaction throws(PostgresError) in
                try await transaction.script("LOCK TABLE ropes IN ROW EXCLUSIVE MODE")
                let migration = Task { try await migrator.migrate { await waits.receive($0) } }
                for _ in 1...5 {
                    while try await pool.number(Self.hasSignals) == 0 { await Task.yield() }
                    try await pool.script(Self.wantSignals)
                }
                // This takes the locks in the opposite order to the step.
                try await transaction.script(Self.wantSignals)
                return migration
            }
            #expect(try await migration.value == ["0003_step"])
            let received = await waits.received
            #expect(received.count >= 5 && received.map(\.tries) == Array(1...received.count))
            #expect(received.allSatisfy { $0.name == "0003_step" })
            #expect(received.contains { $0.holders.contains { $0.tables == ["ropes"] } }, "\(received)")
        }
    }

    @Test("gives up after its total wait, and names the session that holds the lock")
    func givenUp() async throws {
        try await withEmptyDatabase { pool in
            _ = try await Migrator(pool: pool, history: [Self.first, Self.ropes]).migrate()
            var lockPolicy = Self.lockPolicy
            lockPolicy.total = .milliseconds(400)
            let migrator = Migrator(pool: pool, history: [Self.first, Self.ropes, Self.both], lockPolicy: lockPolicy)
            let found = try await pool.transaction { transaction throws(PostgresError) in
                try await transaction.script("SET LOCAL application_name = 'a backup'; LOCK ropes IN ACCESS SHARE MODE")
                return await fault(migrator)
            }
            guard case .blocked(let wait) = found else {
                Issue.record("\(String(describing: found))")
                return
            }
            let holder = try #require(wait.holders.first)
            #expect(holder.program == "a backup" && holder.tables == ["ropes"] && holder.doing == "idle in transaction")
            #expect(try await migrator.migrate() == ["0003_step"])
        }
    }

    private static let hasSignals = """
        SELECT count(*) FROM pg_locks
        WHERE granted AND relation = 'bells'::regclass AND mode = 'AccessExclusiveLock'
        """

    // Far longer than a try takes on the slowest machine, and far shorter than an unlimited wait would hold the lock.
    private static let wantSignals = "SET LOCAL lock_timeout = '20s'; LOCK TABLE bells IN ROW EXCLUSIVE MODE"

    private static let lockPolicy: MigrationLockPolicy = {
        var lockPolicy = MigrationLockPolicy()
        lockPolicy.lockWaitFirst = .milliseconds(50)
        lockPolicy.lockWaitMax = .milliseconds(100)
        lockPolicy.pauseFirst = .milliseconds(1)
        lockPolicy.pauseMax = .milliseconds(50)
        return lockPolicy
    }()

    private static let ropes = step(2, "CREATE TABLE ropes ();")
    private static let both = step(
        3, "ALTER TABLE bells ADD COLUMN a int; ALTER TABLE ropes ADD COLUMN a int;")

    /// Locks bells first. It asks for ropes only when the session that has ropes waits for bells.
    private static let meeting = step(
        2,
        """
        ALTER TABLE bells ADD COLUMN a int;
        DO $$ BEGIN
            WHILE EXISTS (SELECT FROM pg_locks WHERE granted AND relation = 'ropes'::regclass)
                AND NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'bells'::regclass)
            LOOP
                PERFORM pg_sleep(0.01);
            END LOOP;
        END $$;
        ALTER TABLE ropes ADD COLUMN a int;
        """)

    @Test("rolls back a step that fails, and keeps the steps before it")
    func failing() async throws {
        try await withEmptyDatabase { pool in
            let broken = Self.step(2, "CREATE TABLE tones (id int); SELECT nonsense;")
            let found = await fault(Migrator(pool: pool, history: [Self.first, broken]))
            guard case .refused = found else {
                Issue.record("\(String(describing: found))")
                return
            }
            let tables = "SELECT relname::text FROM pg_class WHERE relname IN ('bells', 'tones')"
            let kept = try await pool.read(query(tables)).map(String.init)
            #expect(kept == ["bells"])
            #expect(try await Migrator(pool: pool, history: [Self.first, Self.second]).migrate() == ["0002_step"])
        }
    }

    @Test("includes all files of the migrations folder, ordered by number")
    func folder() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "migrations")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "sql" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
        #expect(
            try Migrator.embedded
                == files.map { file in
                    let name = file.deletingPathExtension().lastPathComponent
                    return Migration(name: name, sql: Array(try Data(contentsOf: file)))
                })
    }
}

private actor Waits {
    private(set) var received: [MigrationWait] = []
    func receive(_ wait: MigrationWait) { received.append(wait) }
}
