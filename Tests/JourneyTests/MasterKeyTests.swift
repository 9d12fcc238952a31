import Foundation
import Testing

extension Journeys {
    @Suite("A gateway with a different master key")
    struct MasterKeyTests {
        @Test("refuses to start, says why in one line, and starts again with the right key")
        func refused() async throws {
            try await World.within { world in
                try await world.gateway().stopGently()
                let file = world.folder.appending(path: "master.key")
                let own = try Data(contentsOf: file)
                let other = Data(own.map { $0 ^ 0x80 })
                try other.write(to: file)
                let refused = try world.start()
                #expect(try await refused.end() == .exited(1))
                let complaints = refused.loggedLast.split(separator: "\n").filter { $0.hasPrefix("carillon: ") }
                #expect(complaints.count == 1)
                #expect(complaints.first?.contains("CARILLON_MASTER_KEY_FILE") == true, "\(refused.loggedLast)")
                #expect(refused.loggedLast.hasSuffix(complaints.last ?? "none"))
                try own.write(to: file)
                try await world.gateway().stopGently()
            }
        }
    }
}
