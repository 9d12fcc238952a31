import Foundation
import Testing

extension Journeys {
    @Suite("A gateway on a database of another version")
    struct ForeignDatabaseTests {
        private static let edited = "UPDATE schema_migrations SET checksum = '\\x00' WHERE position = 1"
        private static let added =
            "INSERT INTO schema_migrations (position, name, checksum) VALUES (99, '0099_later', '\\x00')"

        @Test("refuses to start, and names the database without its password", arguments: [edited, added])
        func refused(change: String) async throws {
            try await World.within { world in
                try await world.gateway().stopGently()
                try await world.database { try await $0.script(change) }
                let url = try #require(world.settings["DATABASE_URL"])
                    .replacing("carillon@", with: "carillon:pass-of-a-test@")
                let refused = try Program(
                    ["serve"], settings: world.settings.merging(["DATABASE_URL": url]) { _, new in new },
                    logs: world.folder)
                #expect(try await refused.end() == .exited(1))
                let complaints = Self.complaints(refused)
                #expect(complaints.count == 1)
                let complaint = try #require(complaints.first)
                #expect(complaint.contains("the database postgresql://carillon@/world_"), "\(complaint)")
                #expect(complaint.contains("start the version that made it"), "\(complaint)")
                // A newer version's database is not proposed for removal.
                #expect(complaint.contains("drop it, create it again") == (change == Self.edited), "\(complaint)")
                #expect(!refused.logged.contains("pass-of-a-test"))
                let diagnosis = try await world.doctor(["--json"])
                #expect(diagnosis.code == 1 && diagnosis.printed.contains("start the version that made it"))
            }
        }

        @Test("refuses to start on its own server too, and names the folder to remove")
        func ownDatabase() async throws {
            try await World.within(server: nil) { world in
                // The gateway's own server survives it.
                let gateway = try await world.gateway()
                gateway.program.kill(SIGKILL)
                #expect(try await gateway.program.end() == .killed(signal: SIGKILL))
                try await world.database { try await $0.script(Self.edited) }
                let refused = try world.start()
                #expect(try await refused.end() == .exited(1))
                let complaints = Self.complaints(refused)
                #expect(complaints.count == 1)
                let folder = world.folder.appending(path: "d").path(percentEncoded: false)
                #expect(complaints.first?.contains("remove the folder \(folder) and") == true, "\(complaints)")
            }
        }

        private static func complaints(_ program: Program) -> [Substring] {
            program.loggedLast.split(separator: "\n").filter { $0.hasPrefix("carillon: ") }
        }
    }
}
