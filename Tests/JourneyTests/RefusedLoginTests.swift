import TestSupport
import Testing

extension Journeys {
    @Suite("A gateway that PostgreSQL does not let in")
    struct RefusedLoginTests {
        @Test("ends at once, and says why in one line without a password", arguments: BrokenSituation.logins)
        func refused(_ situation: BrokenSituation) async throws {
            try await World.within { world in
                let scene = try await situation.make(world)
                let refused = try world.start(settings: scene.settings)
                #expect(try await refused.end() == .exited(1))
                let complaints = refused.loggedLast.split(separator: "\n").filter { $0.hasPrefix("carillon: ") }
                #expect(complaints.count == 1)
                #expect(complaints.first.map(situation.isSaid) == true, "\(complaints)")
                #expect(complaints.first?.contains("CARILLON_DATABASE_URL") == true, "\(complaints)")
                #expect(!refused.logged.contains("pass-of-a-test"))
            }
        }
    }
}
