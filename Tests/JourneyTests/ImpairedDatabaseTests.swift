import Foundation
import TestSupport
import Testing

extension Journeys {
    /// Each test has a server of its own, because it breaks the whole server.
    @Suite("A gateway whose database answers and takes no writes")
    struct ImpairedDatabaseTests {
        @Test("says that it is read-only, everywhere and once in the log, until it takes writes again")
        func readOnly() async throws {
            try await DatabaseServer.within { server in
                try await World.within(server: server) { world in
                    let gateway = try await world.gateway()
                    try await world.fill(.garden, [Device](.live, 1), through: gateway)
                    try await server.alterSystem("SET default_transaction_read_only = on")
                    try await Self.expectImpaired(
                        gateway, world, "database_read_only", sentence: "the database is read-only")
                    try await server.alterSystem("RESET default_transaction_read_only")
                    try await Self.expectRepaired(gateway, "Database is read-only: work waits")
                    try await gateway.stopGently()
                }
            }
        }

        @Test("refuses to start on a read-only database, and says so in one line")
        func refused() async throws {
            try await World.within { world in
                try await world.makeReadOnly()
                let refused = try world.start()
                #expect(try await refused.end() == .exited(1))
                let complaints = refused.loggedLast.split(separator: "\n").filter { $0.hasPrefix("carillon: ") }
                #expect(complaints.count == 1)
                #expect(complaints.first?.hasPrefix("carillon: the database is read-only") == true, "\(complaints)")
                #expect(complaints.first?.contains("default_transaction_read_only") == true, "\(complaints)")
            }
        }

        @Test(
            "says that its disk is full, everywhere and once in the log, until there is space again",
            .enabled(if: SmallDisk.isPossible, Comment(rawValue: SmallDisk.whyNot)))
        func full() async throws {
            try await DatabaseServer.within { server in
                let place = server.folder.deletingLastPathComponent()
                    .appending(path: server.folder.lastPathComponent + "-disk")
                try await SmallDisk.within(owner: try server.userID(), place) { disk in
                    try await server.withDatabase("small", in: disk.folder) { try await Self.fill(disk, of: server) }
                }
            }
        }

        private static func fill(_ disk: SmallDisk, of server: DatabaseServer) async throws {
            try await World.within(settings: ["DATABASE_URL": server.url("small")], server: server) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [Device](.live, 1), through: gateway)
                // Pages that were not written yet take their space now.
                try await server.within("small") { try await $0.script("CHECKPOINT") }
                try disk.fill()
                try await expectImpaired(gateway, world, "database_full", sentence: "the database's disk is full")
                try disk.free()
                try await expectRepaired(gateway, "Disk of the database is full: work waits")
                try await gateway.stopGently()
            }
        }

        private static func register(_ number: Int, _ gateway: Gateway) async throws -> GatewayAPI.Reply {
            let device = [Device](.live, number)[number - 1]
            return try await gateway.api.call(
                "PUT", "/v1/apps/garden/devices/phone-\(number)", device.registration(named: false))
        }

        private static func expectImpaired(
            _ gateway: Gateway, _ world: World, _ code: String, sentence: String
        ) async throws {
            // The rows of a full disk's pages that are there are still written.
            var number = 1
            let reply = try await foundEventually("a registration to be refused") {
                number += 1
                let reply = try await register(number, gateway)
                return reply.status == 201 || reply.status == 200 ? nil : reply
            }
            #expect(reply.status == 503 && reply.text.contains(#""code":"\#(code)""#), "\(reply.text)")
            #expect(reply.retryAfter.flatMap { Int($0) } != nil)
            let readiness = try await gateway.api.call("GET", "/readyz")
            #expect(readiness.status == 503 && readiness.text.contains(#""code":"\#(code)""#), "\(readiness.text)")
            try await gateway.api.expect(200, "GET", "/healthz")
            try await gateway.api.expect(200, "GET", "/v1/apps/garden")
            let diagnosis = try await world.doctor()
            #expect(diagnosis.code == 1 && diagnosis.printed.contains("BAD   database: \(sentence): all work waits"))
        }

        private static func expectRepaired(_ gateway: Gateway, _ line: String) async throws {
            try await eventually("the gateway to be ready again") { try await gateway.isReady() }
            let reply = try await register(1, gateway)
            #expect([200, 201].contains(reply.status), "\(reply.text)")
            let logged = gateway.program.logged
            #expect(logged.components(separatedBy: line).count == 2, "\(logged)")
            #expect(logged.components(separatedBy: "Database can be written to again").count == 2, "\(logged)")
        }
    }
}

extension World {
    /// Lets new sessions of this world's database write nothing.
    func makeReadOnly() async throws {
        try await database { pool in
            try await pool.script(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
                END $$
                """)
        }
    }
}
