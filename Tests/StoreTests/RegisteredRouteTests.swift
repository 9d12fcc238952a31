import Postgres
import Testing

/// Triggers check the route of a registration in place of a foreign key (decision 0037).
@Suite("The route of a registration")
struct RegisteredRouteTests {
    /// Creates two apps: routes of two providers in the first, one route in the other.
    private static func withRoutes(
        _ body: (StoreWorld, _ routes: [(app: Int, id: Int, provider: Int)]) async throws -> Void
    ) async throws {
        try await withStores { world async throws in
            let other = try await world.neighbour()
            var routes: [(app: Int, id: Int, provider: Int)] = []
            for (app, provider) in [(world.app, 2), (world.app, 3), (other.app, 2)] {
                let id = try await world.pool.read(
                    query(
                        """
                        INSERT INTO routes (app_id, provider, environment) VALUES (\(app.value), \(provider), 1)
                        RETURNING id
                        """)
                ).one(Int64.init)
                routes.append((Int(app.value), Int(id), provider))
            }
            try await body(world, routes)
        }
    }

    private static func insert(_ rows: [(app: Int, route: Int, provider: Int)]) -> String {
        let values = rows.enumerated().map { place, row in
            "(\(row.app), \(row.route), \(row.provider), 1, 'i\(place)', '\\x0\(place)', '{news,sport}')"
        }
        return """
            INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, tags)
            VALUES \(values.joined(separator: ", "))
            """
    }

    @Test("belongs to the registration's app and provider, in every row of a statement")
    func refused() async throws {
        try await Self.withRoutes { world, routes async throws in
            let (own, mineToo, others) = (routes[0], routes[1], routes[2])
            let right = (own.app, own.id, own.provider)
            for wrong in [
                (own.app, others.id, others.provider), (own.app, own.id, mineToo.provider),
                (others.app, own.id, own.provider), (own.app, 1_000_000, own.provider),
            ] {
                for rows in [[wrong], [right, wrong], [wrong, right]] {
                    #expect(await world.refusal(of: Self.insert(rows)) == .foreignKeyViolation, "\(rows)")
                }
            }
            #expect(try await world.number("SELECT count(*) FROM registrations") == 0)
            #expect(try await world.number("SELECT count(*) FROM registration_tags") == 0)
            let both = Self.insert([right, (mineToo.app, mineToo.id, mineToo.provider)])
            #expect(await world.refusal(of: both) == nil)
            #expect(try await world.number("SELECT count(*) FROM registrations") == 2)
        }
    }

    @Test("changes only to another route of the same app and provider")
    func changed() async throws {
        try await Self.withRoutes { world, routes async throws in
            let (own, mineToo, others) = (routes[0], routes[1], routes[2])
            try await world.pool.script(Self.insert([(own.app, own.id, own.provider)]))
            for change in [
                "route_id = \(mineToo.id)", "route_id = \(others.id)", "app_id = \(others.app)",
                "provider = \(mineToo.provider)",
                "route_id = 1000000",
            ] {
                let refusal = await world.refusal(of: "UPDATE registrations SET \(change)")
                #expect(refusal == .foreignKeyViolation, "\(change)")
            }
            try await world.pool.script(
                "UPDATE registrations SET route_id = \(mineToo.id), provider = \(mineToo.provider)")
            #expect(try await world.number("SELECT route_id FROM registrations") == mineToo.id)
        }
    }

    @Test("takes its own registrations with it when it is deleted, and no others")
    func goes() async throws {
        try await Self.withRoutes { world, routes async throws in
            try await world.pool.script(Self.insert(routes.map { ($0.app, $0.id, $0.provider) }))
            try await world.pool.script(
                "INSERT INTO registration_pulse (registration_id, registered_at) SELECT id, now() FROM registrations")
            try await world.pool.script("DELETE FROM routes WHERE id = \(routes[0].id)")
            #expect(try await world.number("SELECT count(*) FROM registrations") == 2)
            try await world.pool.script("DELETE FROM apps WHERE id = \(routes[0].app)")
            #expect(try await world.number("SELECT app_id FROM registrations") == routes[2].app)
            #expect(try await world.number("SELECT count(*) FROM registration_pulse") == 1)
            #expect(try await world.number("SELECT count(*) FROM registration_tags") == 2)
        }
    }

    @Test("makes a deletion wait for a concurrent registration, and a registration for a deletion")
    func waits() async throws {
        try await Self.withRoutes { world, routes async throws in
            let insert = Self.insert([(routes[0].app, routes[0].id, routes[0].provider)])
            let delete = "DELETE FROM routes WHERE id = \(routes[0].id)"
            for (first, second) in [(insert, delete), (delete, insert)] {
                #expect(try await world.refusal(of: second, beside: first) == .lockNotAvailable, "\(second)")
            }
            try await world.pool.script(insert)
            try await world.pool.script(delete)
            #expect(try await world.number("SELECT count(*) FROM registrations") == 0)
            #expect(await world.refusal(of: insert) == .foreignKeyViolation)
        }
    }
}
