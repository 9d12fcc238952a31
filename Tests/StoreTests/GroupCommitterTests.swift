import Basis
import GroupCommit
import Postgres
import Registry
import Synchronization
import Testing

@Suite("A group commit")
struct GroupCommitterTests {
    @Test("registers the devices of many concurrent callers in few transactions")
    func gathers() async throws {
        try await withStores { world in
            let committer = RegistrationCommitter(registry: world.stores.registry)
            await withTaskGroup(of: Void.self) { group in
                for number in 1...500 {
                    group.addTask {
                        let registration = StoreWorld.registration("i\(number)", token: number)
                        let answer = await committer.commit(registration, app: world.app)
                        #expect((try? answer.get())?.record.installation == "i\(number)")
                    }
                }
            }
            #expect(try await world.number("SELECT count(*) FROM registrations") == 500)
            // Each row names the transaction that wrote it.
            let transactions = try await world.number("SELECT count(DISTINCT xmin::text) FROM registrations")
            #expect(transactions < 250)
        }
    }

    @Test("keeps the order of duplicates and gives each its own answer")
    func duplicates() async throws {
        try await withStores { world in
            let committer = RegistrationCommitter(registry: world.stores.registry)
            let registration = [
                StoreWorld.registration("i1", token: 1), StoreWorld.registration("i1", token: 2),
                StoreWorld.registration("i2", token: 2), StoreWorld.registration("i1", token: 3),
                StoreWorld.registration("i3", token: 4),
            ]
            let changes = try await committer.commit(registration, app: world.app).map { try $0.get().change }
            #expect(changes == [.created, .replaced, .moved, .replaced, .created])
            #expect(try await world.device("i1").token == StoreWorld.token(3))
            #expect(try await world.device("i2").token == StoreWorld.token(2))
        }
    }

    @Test("keeps the order within a call if a registration's outcome depends on its time")
    func timed() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("i2", token: 9))
            let committer = RegistrationCommitter(registry: world.stores.registry)
            var registration = [
                StoreWorld.registration("i1", token: 1), StoreWorld.registration("i1", token: 9),
                StoreWorld.registration("i2", token: 5),
            ]
            for place in 0...1 { registration[place].asOf = StoreWorld.dawn + .seconds(-1) }
            let changes = try await committer.commit(registration, app: world.app).map { try $0.get().change }
            #expect(
                changes == [.created, .stale, .replaced],
                "the second registration waits for the first one of i1, and i2 waits for the second")
        }
    }

    @Test("lets other devices of the app pass while it waits for a row, and holds duplicates")
    func besideEachOther() async throws {
        try await withStores { world in
            try await world.register(1...1)
            // A wait for a row lock times out. A slow machine may be too slow for it, so the test tries again.
            for attempt in 1...10 {
                let committer = RegistrationCommitter(registry: world.stores.registry)
                let waiting = try await world.pool.transaction { transaction throws(PostgresError) in
                    _ = try await transaction.run(
                        query("SELECT id FROM registrations WHERE installation = 'i1' FOR UPDATE"))
                    let first = Task {
                        await committer.commit(StoreWorld.registration("i1", token: 100 + attempt), app: world.app)
                    }
                    try await Self.untilSomebodyWaits(world)
                    let duplicate = Task {
                        await committer.commit(StoreWorld.registration("i1", token: 200 + attempt), app: world.app)
                    }
                    let other = StoreWorld.registration("other", token: 300 + attempt)
                    #expect((try? await committer.commit(other, app: world.app).get()) != nil)
                    return (first, duplicate)
                }
                let (first, duplicate) = (await waiting.0.value, await waiting.1.value)
                guard first != .failure(.contended), attempt < 10 else { continue }
                #expect((try? first.get())?.change == .replaced)
                #expect((try? duplicate.get())?.change == .replaced)
                #expect(
                    try await world.device("i1").token == StoreWorld.token(200 + attempt),
                    "the duplicate was committed later")
                return
            }
            Issue.record("a device that waits for a row holds up the others of its app")
        }
    }

    @Test("delays no other device of the app, however many duplicates are queued")
    func crowdOfDuplicates() async throws {
        try await withStores { world in
            let committer = RegistrationCommitter(registry: world.stores.registry)
            let duplicates = Array(repeating: StoreWorld.registration("i1", token: 1), count: 400)
            let isSomeCallOver = Mutex(false)
            let (answers, answered) = AsyncStream.makeStream(of: Bool.self)
            // The queue becomes longer than one scan of it once passed.
            for _ in 1...4 {
                committer.commit(duplicates, app: world.app) { results in
                    isSomeCallOver.withLock { $0 = true }
                    answered.yield(results.allSatisfy { (try? $0.get()) != nil })
                }
            }
            let other = await committer.commit(StoreWorld.registration("i2", token: 2), app: world.app)
            #expect(!isSomeCallOver.withLock { $0 })
            #expect((try? other.get())?.change == .created)
            for await areWhole in answers.prefix(4) { #expect(areWhole) }
        }
    }

    private static func untilSomebodyWaits(_ world: StoreWorld) async throws(PostgresError) {
        let isWaiting = """
            SELECT EXISTS (SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock')
            """
        while try await world.pool.read(query(isWaiting)).one(Bool.init) == false { await Task.yield() }
    }

    @Test("rejects registrations beyond the limit of its queue")
    func bounded() async throws {
        try await withStores { world in
            let settings = GroupCommitSettings(batchMax: 10, waitingMax: 20, appWaitingMax: 20)
            let committer = RegistrationCommitter(registry: world.stores.registry, settings: settings)
            let registration = (1...21).map { StoreWorld.registration("i\($0)", token: $0) }
            let refused = await committer.commit(registration, app: world.app)
            #expect(refused.allSatisfy { $0 == .failure(.unavailable) })
            let taken = await committer.commit(Array(registration.dropLast()), app: world.app)
            #expect(taken.allSatisfy { (try? $0.get()) != nil })
        }
    }

    @Test("limits an app with locked rows to its share of the queue, and serves the others")
    func shared() async throws {
        try await withStores { world in
            let settings = GroupCommitSettings(batchMax: 10, waitingMax: 30, appWaitingMax: 20)
            let committer = RegistrationCommitter(registry: world.stores.registry, settings: settings)
            let other = try await world.stores.registry.createApp(slug: "belfry", name: "Belfry").id
            let registration = (1...30).map { StoreWorld.registration("i\($0)", token: $0) }
            try await world.register(1...20)
            let stuck = try await world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query("SELECT id FROM registrations FOR UPDATE"))
                let stuck = Task { await committer.commit(Array(registration[..<20]), app: world.app) }
                try await Self.untilSomebodyWaits(world)
                let more = await committer.commit(Array(registration[20...]), app: world.app)
                #expect(more.allSatisfy { $0 == .failure(.unavailable) })
                let neighbours = await committer.commit(Array(registration[20...]), app: other)
                #expect(neighbours.allSatisfy { (try? $0.get()) != nil })
                return stuck
            }
            _ = await stuck.value
            let later = await committer.commit(Array(registration[..<20]), app: world.app)
            #expect(later.allSatisfy { (try? $0.get()) != nil }, "the app can use its share of the queue again")
        }
    }
}
