import Postgres
import Reactor
import Store
import Testing

@Suite("The cache of slugs that no app has")
struct UnusedSlugTests {
    @Test("holds one for a moment, until this process makes the app")
    func cached() async throws {
        try await withStores { world in
            let stores = Stores(pool: world.pool, appsFreshFor: .seconds(3_600))
            let other = Stores(pool: world.pool)
            #expect(try await stores.registry.app(slug: "nosuch") == nil)
            for slug in ["nosuch", "belfry"] { _ = try await other.registry.createApp(slug: slug, name: slug) }
            #expect(try await stores.registry.app(slug: "nosuch") == nil, "the database was not asked")
            #expect(try await stores.registry.app(slug: "belfry")?.slug == "belfry")
            // Also if it turns out that another process has made it.
            await #expect(throws: StoreFault.conflict(.slugTaken)) {
                try await stores.registry.createApp(slug: "nosuch", name: "nosuch")
            }
            #expect(try await stores.registry.app(slug: "nosuch")?.slug == "nosuch")
        }
    }

    @Test("evicts no app, however many slugs are asked for")
    func evicted() async throws {
        try await withStores { world in
            let stores = Stores(pool: world.pool, appsFreshFor: .seconds(3_600))
            _ = try await stores.registry.createApp(slug: "belfry", name: "Belfry")
            _ = try await stores.registry.app(slug: "belfry")
            for number in 0..<1_100 { _ = try await stores.registry.app(slug: "nosuch-\(number)") }
            #expect(stores.registry.cachedApp(slug: "belfry")?.slug == "belfry")
        }
    }
}
