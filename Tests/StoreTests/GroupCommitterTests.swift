import PushModel
import Store
import Testing

@Suite("A group commit")
struct GroupCommitterTests {
    @Test("registers what many callers bring at once, in few transactions")
    func gathers() async throws {
        try await withStores { world in
            let committer = GroupCommitter(registry: world.stores.registry)
            let before = try await world.number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8")
            await withTaskGroup(of: Void.self) { group in
                for number in 1...500 {
                    group.addTask {
                        let said = StoreWorld.registration("i\(number)", token: number)
                        let answer = await committer.register(said, app: world.app)
                        #expect((try? answer.get())?.record.installation == "i\(number)")
                    }
                }
            }
            let after = try await world.number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8")
            #expect(try await world.number("SELECT count(*) FROM registrations") == 500)
            // Other tests' transactions count too; five hundred commits of ours would show all the same.
            #expect(after - before < 400)
        }
    }

    @Test("keeps the order of twins, and gives each its own answer")
    func twins() async throws {
        try await withStores { world in
            let committer = GroupCommitter(registry: world.stores.registry)
            let said = [
                StoreWorld.registration("i1", token: 1), StoreWorld.registration("i1", token: 2),
                StoreWorld.registration("i2", token: 2), StoreWorld.registration("i1", token: 3),
                StoreWorld.registration("i3", token: 4),
            ]
            let changes = try await committer.register(said, app: world.app).map { try $0.get().change }
            #expect(changes == [.created, .replaced, .moved, .replaced, .created])
            #expect(try await world.device("i1").token == StoreWorld.token(3))
            #expect(try await world.device("i2").token == StoreWorld.token(2))
        }
    }

    @Test("turns away what its queue can't hold")
    func bounded() async throws {
        try await withStores { world in
            let settings = GroupCommitSettings(batchMax: 10, waitingMax: 20)
            let committer = GroupCommitter(registry: world.stores.registry, settings: settings)
            let said = (1...21).map { StoreWorld.registration("i\($0)", token: $0) }
            let refused = await committer.register(said, app: world.app)
            #expect(refused.allSatisfy { $0 == .failure(.unavailable) })
            let taken = await committer.register(Array(said.dropLast()), app: world.app)
            #expect(taken.allSatisfy { (try? $0.get()) != nil })
        }
    }
}
