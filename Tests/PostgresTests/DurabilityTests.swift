import Postgres
import PrivatePostgres
import TestSupport
import Testing

@Suite("The commit of a session")
struct DurabilityTests {
    private func level(_ pool: PostgresPool) async throws -> String {
        try await pool.read(query("SHOW synchronous_commit")).one(String.init)
    }

    /// Makes a database whose sessions begin with this level.
    private func withDatabase(_ level: String, _ body: (PostgresSettings) async throws -> Void) async throws {
        let name = uniqueName("durable")
        try await withPool { pool in
            try await pool.script("CREATE DATABASE \(name)")
            try await pool.script("ALTER DATABASE \(name) SET synchronous_commit = \(level)")
        }
        try await body(try await SharedServer.settings().withDatabase(name))
        try await withPool { try await $0.script("DROP DATABASE \(name) WITH (FORCE)") }
    }

    @Test(
        "waits for the disk whatever the database says, and for as much more as it says",
        arguments: [
            ("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"), ("remote_apply", "remote_apply"),
        ])
    func ofDatabase(configured: String, used: String) async throws {
        try await withDatabase(configured) { settings in
            try await withPool(settings) { pool in
                let found = try await level(pool)
                #expect(found == used)
            }
        }
    }

    @Test("waits for the disk whatever the role and the address say")
    func ofRole() async throws {
        let role = uniqueName("hasty")
        let server = try await SharedServer.settings()
        try await withPool { pool in
            try await pool.script("CREATE ROLE \(role) LOGIN")
            try await pool.script("ALTER ROLE \(role) SET synchronous_commit = off")
        }
        let database = try #require(server.urlWithoutPassword.firstMatch(of: /@\/([^?]+)\?host=(.+)$/))
        for options in ["", " options='-c synchronous_commit=off'"] {
            let settings = try PostgresSettings(
                parsing: "host=\(database.2) port=5432 user=\(role) dbname=\(database.1)" + options)
            try await withPool(settings) { pool in
                let found = try await level(pool)
                #expect(found == "on")
            }
        }
        try await withPool { try await $0.script("DROP ROLE \(role)") }
    }

    @Test("waits for the disk again after a transaction that did not")
    func afterwards() async throws {
        try await withDatabase("off") { settings in
            try await withPool(settings, pool: patient(1)) { pool in
                let inside = try await pool.transaction { transaction async throws(PostgresError) in
                    let off = query("SELECT set_config('synchronous_commit', 'off', true)")
                    return try await transaction.run(off).one(String.init)
                }
                let after = try await level(pool)
                #expect(inside == "off" && after == "on")
            }
        }
    }

    @Test("survives a stop of the server without its last flush, as in a crash")
    func crash() async throws {
        try await withOwnServer { server, settings, folder in
            try await withPool(settings) { pool in
                // A commit that doesn't wait reaches the disk long after the stop.
                try await pool.script("ALTER SYSTEM SET wal_writer_delay = '10s'")
                try await pool.script("SELECT pg_reload_conf()")
                try await pool.script("ALTER DATABASE carillon SET synchronous_commit = off")
                try await pool.script("CREATE TABLE kept (id int8)")
            }
            try await withPool(settings) { pool in
                let level = query("SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'")
                let begun = try await pool.read(level).one(String.init)
                #expect(begun == "off")
                _ = try await pool.run(query("INSERT INTO kept VALUES (1)"))
                try await killPostmaster(server)
            }
            let again = try await PrivateServer(dataFolder: folder).start()
            try await withPool(again) { pool in
                let rows = try await pool.count("kept")
                #expect(rows == 1)
            }
            _ = try await server.start()
        }
    }
}
