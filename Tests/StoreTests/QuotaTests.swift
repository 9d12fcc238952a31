import Basis
import LaneRules
import Model
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    fileprivate func ask(
        _ process: ProcessID = ann, holds: QuotaPart = .none, number: Int64 = 1, project: String = "bells",
        at now: WallInstant = dawn
    ) async throws -> QuotaGrant? {
        let ask = QuotaRequest(number: number, wants: .whole, holds: holds)
        return try await stores.credentials.answer(ask, of: process, project: project, now: now)
    }
}

@Suite("A project's quota")
struct QuotaTests {
    @Test("belongs to one process alone, and is shared when another process asks")
    func shared() async throws {
        try await withStores { world in
            #expect(try await world.ask()?.part == .whole)
            #expect(try await world.ask(StoreWorld.bob)?.part == QuotaPart.none)
            let half = try #require(try await world.ask(holds: .whole, number: 2)).part
            #expect(half.millionths == 500_000)
            _ = try await world.ask(holds: half, number: 3)
            #expect(try await world.ask(StoreWorld.bob, number: 2)?.part == half)
            // The quota of another project is independent.
            #expect(try await world.ask(StoreWorld.bob, project: "chimes")?.part == .whole)
        }
    }

    @Test("grants no part twice when many processes ask at the same time")
    func together() async throws {
        try await withStores { world in
            for round in 1...20 {
                let project = "project-\(round)"
                // The quota is free again three seconds later, for all processes at once.
                _ = try await world.ask(project: project)
                let parts = try await withThrowingTaskGroup(of: Int32.self) { group in
                    for process in 1...8 {
                        group.addTask {
                            let id = ProcessID(UniversalID(high: UInt64(round), low: UInt64(process)))
                            return try await world.ask(id, project: project, at: dawn + .seconds(3))?.part.millionths
                                ?? -1
                        }
                    }
                    return try await group.reduce(into: [Int32]()) { $0.append($1) }
                }
                #expect(parts.count == 8 && parts.allSatisfy { $0 >= 0 })
                // The first process has the whole quota until it learns of the others.
                #expect(parts.reduce(0, +) == 1_000_000)
            }
        }
    }

    @Test("follows the database's clock")
    func clock() async throws {
        try await withStores { world in
            let ask = QuotaRequest(number: 1, wants: .whole, holds: .none)
            _ = try await world.stores.credentials.answer(ask, of: StoreWorld.ann, project: "bells")
            let isNow = "extract(epoch FROM clock_timestamp() - written_at) BETWEEN 0 AND 600"
            #expect(try await world.number("SELECT count(*) FROM project_quotas WHERE \(isNow)") == 1)
        }
    }

    @Test("ignores a request that a later one has overtaken")
    func overtaken() async throws {
        try await withStores { world in
            _ = try await world.ask(number: 9)
            #expect(try await world.ask(number: 8) == nil)
            #expect(try await world.number("SELECT numbers[1] FROM project_quotas") == 9)
        }
    }

    @Test("loses its row a day after the last process asked")
    func swept() async throws {
        try await withStores { world in
            _ = try await world.ask()
            while try await world.stores.sweeper.sweep(now: dawn + .seconds(86_000)) > 0 {}
            #expect(try await world.number("SELECT count(*) FROM project_quotas") == 1)
            while try await world.stores.sweeper.sweep(now: dawn + .seconds(86_401)) > 0 {}
            #expect(try await world.number("SELECT count(*) FROM project_quotas") == 0)
        }
    }
}
