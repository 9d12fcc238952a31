import Postgres
import Store
import TestSupport
import Testing

@Suite("A store whose database is read-only")
struct ReadOnlyStoreTests {
    @Test("reports that to callers who write, and a retry later is wise")
    func reported() async throws {
        try await withStores { world in
            let name = try await world.pool.read(query("SELECT current_database()::text")).one(String.init)
            try await world.pool.script("ALTER DATABASE \(name) SET default_transaction_read_only = on")
            // The setting holds for new sessions.
            let pool = PostgresPool(world.settings, pool: .patient, loop: world.pool.loop)
            let registry = Stores(pool: pool).registry
            let answers = await registry.register([StoreWorld.registration("i1", token: 1)], app: world.app)
            #expect(answers.map { $0.map(\.record.installation) } == [.failure(.impaired(.readOnly))])
            #expect(StoreFault.impaired(.readOnly).isTransient)
            #expect(try await registry.apps(after: nil, limit: 9).count == 1)
            await pool.close()
        }
    }
}
