import Foundation
import Postgres
import TestSupport
import Testing

/// Databases of an operator's own that answer, and can't carry a gateway.
extension BrokenSituation {
    static let unfit = [
        BrokenSituation(
            "the role may not create tables", .bad, "database", "may not create tables in the schema public"
        ) { world in try await world.database(for: "LOGIN") },
        BrokenSituation(
            "the tables belong to another role", .bad, "database", "its tables belong to the role carillon"
        ) { world in
            try await world.migrate()
            return try await world.database(for: "LOGIN", mayCreate: true)
        },
        BrokenSituation("the search path names no schema", .bad, "database", "names no schema for its tables") {
            world in
            try await world.database(for: "LOGIN") { "ALTER ROLE \($0) SET search_path = nowhere" }
        },
        BrokenSituation("the search path is empty", .bad, "database", "names no schema for its tables") { world in
            try await world.database(for: "LOGIN") { "ALTER ROLE \($0) SET search_path = ''" }
        },
        BrokenSituation(
            "the role may not connect", .bad, "database", "the role may not connect to the database"
        ) { world in
            try await world.database(for: "LOGIN", mayCreate: true) { _ in
                """
                DO $$ BEGIN
                    EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database());
                END $$
                """
            }
        },
        BrokenSituation("the role may have too few sessions", .bad, "database", "allows 5 sessions") { world in
            try await world.database(for: "LOGIN CONNECTION LIMIT 5", mayCreate: true)
        },
        wrongEncoding,
    ]

    /// Its remedy is another database.
    fileprivate static let wrongEncoding =
        BrokenSituation("the encoding is not UTF-8", .bad, "database", "its encoding is LATIN1") { world in
            let name = "latin_" + World.unique()
            try await world.database { pool in
                try await pool.script("CREATE DATABASE \(name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
            }
            let url = try #require(world.settings["DATABASE_URL"])
            return Scene(settings: ["DATABASE_URL": url.replacing(/\/world_[0-9a-f]+/, with: "/" + name)])
        }
}

extension World {
    fileprivate static func unique() -> String { UUID().uuidString.lowercased().filter { $0 != "-" } }

    /// Makes a role with these options, and returns the scene in which it is the gateway's.
    ///
    /// - Parameter change: makes further SQL of the role's name.
    fileprivate func database(
        for options: String, mayCreate: Bool = false, _ change: ((String) -> String)? = nil
    ) async throws -> BrokenSituation.Scene {
        let role = "planter_" + Self.unique()
        try await database { pool in
            try await pool.script("CREATE ROLE \(role) \(options)")
            if mayCreate { try await pool.script("GRANT CREATE ON SCHEMA public TO \(role)") }
            if let change { try await pool.script(change(role)) }
        }
        let url = try #require(settings["DATABASE_URL"]).replacing("carillon@", with: role + "@")
        return BrokenSituation.Scene(settings: ["DATABASE_URL": url])
    }
}

extension Journeys {
    @Suite("A gateway on a database of the operator's own")
    struct UnfitDatabaseTests {
        @Test("ends at once where the database can't carry it, and names the SQL", arguments: BrokenSituation.unfit)
        func refused(_ situation: BrokenSituation) async throws {
            try await World.within { world in
                let scene = try await situation.make(world)
                for command in ["serve", "migrate"] {
                    let refused = try Program(
                        [command], settings: world.settings.merging(scene.settings) { _, new in new },
                        logs: world.folder)
                    #expect(try await refused.end() == .exited(1))
                    let complaints = refused.logged.split(separator: "\n").filter { $0.hasPrefix("carillon: ") }
                    #expect(complaints.count == 1)
                    #expect(complaints.first.map(situation.isSaid) == true, "\(refused.logged)")
                    let sql = ["GRANT ", "DO $own$ ", "CREATE SCHEMA ", "ALTER ROLE ", "CREATE DATABASE "]
                    #expect(sql.contains { complaints.first?.contains($0) == true }, "\(complaints)")
                }
            }
        }

        @Test(
            "works on it once a superuser has run the SQL that it names",
            arguments: BrokenSituation.unfit.filter { $0.name != BrokenSituation.wrongEncoding.name })
        func mended(_ situation: BrokenSituation) async throws {
            try await World.within { world in
                let scene = try await situation.make(world)
                var done: Set<String> = []
                // A remedy may bring another fault to light, and never the same one.
                while true {
                    let program = try Program(
                        ["migrate"], settings: world.settings.merging(scene.settings) { _, new in new },
                        logs: world.folder)
                    if try await program.end() == .exited(0) { break }
                    let found = program.logged.firstMatch(of: /as a superuser(?:, in this database)?: ([^\n]+)/)
                    let sql = String(try #require(found, "\(program.logged)").output.1)
                    try #require(done.insert(sql).inserted, "\(sql) did not help: \(program.logged)")
                    try await world.database { try await $0.script(sql) }
                }
                #expect(!done.isEmpty)
            }
        }

        @Test(
            "learns from the doctor which session keeps its work waiting",
            arguments: [("LOCK TABLE messages", 0), ("PERFORM 1 FROM registrations FOR UPDATE", 2.5)])
        func blocked(statement: String, seconds: Double) async throws {
            try await World.within { world in
                try await world.migrate()
                // A session counts as blocking after two seconds. Until then the doctor waits for a table's lock itself.
                let said = try await world.database { pool in
                    try await pool.transaction { transaction async throws(PostgresError) -> String in
                        try await transaction.script(
                            "SET LOCAL application_name = 'backup'; DO 'BEGIN \(statement); END'; SELECT pg_sleep(\(seconds))"
                        )
                        return (try? await world.doctor().printed) ?? "the doctor did not end"
                    }
                }
                #expect(said.contains("BAD   database: a session keeps work waiting: PostgreSQL's process "), "\(said)")
                #expect(said.contains("(backup) holds ") && said.contains("SELECT pg_terminate_backend("), "\(said)")
            }
        }

        @Test("names in its log, once, the session that locks a table while it runs")
        func lockedLater() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.database { pool in
                    try await pool.transaction { transaction async throws(PostgresError) in
                        try await transaction.script(
                            """
                            SET LOCAL application_name = 'backup';
                            SET LOCAL idle_in_transaction_session_timeout = 0;
                            LOCK TABLE messages
                            """)
                        try? await eventually("the log to name the session") {
                            gateway.program.logged.contains("(backup) holds messages")
                        }
                    }
                }
                #expect(gateway.program.logged.components(separatedBy: "(backup) holds messages").count == 2)
                try await gateway.stopGently()
            }
        }
    }
}
