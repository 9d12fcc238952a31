import Basis
import LaneRules
import Model
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    fileprivate func hear(
        _ process: ProcessID = ann, project: String = "bells", at now: WallInstant = dawn
    ) async throws -> Int {
        try await stores.credentials.countSenders(to: project, with: process, now: now)
    }
}

@Suite("The processes that send to a project")
struct QuotaTests {
    @Test("count those that send to the same project")
    func shared() async throws {
        try await withStores { world in
            let alone = try await world.hear()
            #expect(alone == 1)
            #expect(try await world.hear(StoreWorld.bob) == 2)
            #expect(try await world.hear() == 2)
            #expect(try await world.hear(StoreWorld.bob, project: "chimes") == 1)
        }
    }

    @Test("count a process for three seconds after it was heard")
    func silent() async throws {
        try await withStores { world in
            _ = try await world.hear()
            #expect(SharedPace.countedFor == .seconds(3))
            #expect(try await world.hear(StoreWorld.bob, at: dawn + .milliseconds(2_999)) == 2)
            #expect(try await world.hear(StoreWorld.bob, at: dawn + .seconds(3)) == 1)
        }
    }

    @Test("count one another if all begin at the same time")
    func together() async throws {
        try await withStores { world in
            let processes = (1...8).map { ProcessID(UniversalID(high: 0, low: $0)) }
            for round in 1...20 as ClosedRange<Int64> {
                // All return after more than a minute, and each would forget the others.
                let now = dawn + .seconds(100 * round)
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for process in processes { group.addTask { try await world.hear(process, at: now) } }
                    for try await count in group { #expect((1...8).contains(count)) }
                }
                #expect(try await world.hear(processes[0], at: now) == 8)
            }
        }
    }

    @Test("count no process from before the database's clock was set back")
    func clockSetBack() async throws {
        try await withStores { world in
            _ = try await world.hear(at: dawn + .seconds(3_600))
            #expect(try await world.hear(StoreWorld.bob) == 1)
        }
    }

    @Test("follow the database's clock")
    func clock() async throws {
        try await withStores { world in
            _ = try await world.stores.credentials.countSenders(to: "bells", with: StoreWorld.ann)
            let isNow = "extract(epoch FROM clock_timestamp() - heard_at) BETWEEN 0 AND 600"
            #expect(try await world.number("SELECT count(*) FROM project_senders WHERE \(isNow)") == 1)
        }
    }

    @Test("forget a process after a minute, whatever project it sent to")
    func forgotten() async throws {
        try await withStores { world in
            _ = try await world.hear(StoreWorld.bob)
            _ = try await world.hear(project: "chimes", at: dawn + .seconds(60))
            #expect(try await world.number("SELECT count(*) FROM project_senders") == 2)
            _ = try await world.hear(project: "chimes", at: dawn + .seconds(61))
            #expect(try await world.number("SELECT count(*) FROM project_senders") == 1)
        }
    }
}
