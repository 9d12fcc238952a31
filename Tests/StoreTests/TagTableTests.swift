import TestSupport
import Testing

@Suite("The table of tags")
struct TagTableTests {
    /// The differences between the tag table and the tag arrays of the installations.
    private static let difference = """
        SELECT count(*) FROM (
            (SELECT app_id, tag, registration_id FROM registration_tags
                EXCEPT ALL SELECT DISTINCT app_id, unnest(tags), id FROM registrations)
            UNION ALL
            (SELECT DISTINCT app_id, t.tag, id FROM registrations, unnest(tags) AS t (tag) WHERE t.tag IS NOT NULL
                EXCEPT ALL SELECT app_id, tag, registration_id FROM registration_tags)) AS d
        """
    private static let rows = "SELECT count(*) FROM registration_tags"

    @Test("holds exactly the tags of all devices after every kind of change")
    func follows() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            var other = StoreWorld.registration("i2", token: 2)
            registration.profile.tags = .set(["news", "sport", #"a "quoted\" one"#, ""])
            other.profile.tags = .set(["news"])
            let both = [registration, other, StoreWorld.registration("i3", token: 3)]
            for answer in await world.stores.registry.register(both, app: world.app) { _ = try answer.get() }
            #expect(try await world.number(Self.rows) == 5)
            #expect(try await world.number(Self.difference) == 0)
            registration.profile.tags = .set(["sport", "weather"])
            try await world.register(registration)
            #expect(try await world.number(Self.rows) == 3)
            #expect(try await world.number(Self.difference) == 0)
            registration.profile.tags = .keep
            registration.profile[.locale] = .set("fr")
            try await world.register(registration)
            #expect(try await world.number(Self.rows) == 3)
            registration.profile.tags = .clear
            try await world.register(registration)
            #expect(try await world.number(Self.rows) == 1)
            #expect(try await world.stores.registry.removeDevice(app: world.app, installation: "i2") == 1)
            #expect(try await world.number(Self.rows) == 0)
        }
    }

    @Test("follows rows that are written by hand, with duplicate and null tags")
    func byHand() async throws {
        let settings = try await StoreServer.makeDatabase()
        try await withPool(settings) { pool in
            try await pool.script(
                """
                INSERT INTO apps (slug, name) VALUES ('clock', 'Clock');
                INSERT INTO routes (app_id, provider, environment, number) VALUES (1, 1, 1, 1);
                INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, tags) VALUES
                    (1, 1, 1, 1, 'twice', '\\x01', '{b,a,b}'), (1, 1, 1, 1, 'plain', '\\x02', '{}')
                """)
            let count = query("SELECT count(*) FROM registration_tags")
            let difference = query(Self.difference)
            #expect(try await pool.read(count).int64(0, 0) == 2)
            try await pool.script(
                """
                INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, tags)
                    SELECT 1, 1, 1, 1, 'new' || n, sha256(n::text::bytea), ARRAY['x', NULL, 'x', 'y' || n]
                    FROM generate_series(1, 9) AS n;
                UPDATE registrations SET tags = tags || '{z,z}', state = 2 WHERE installation <> 'new1';
                UPDATE registrations SET tags = '{}' WHERE installation = 'new2'
                """)
            #expect(try await pool.read(count).int64(0, 0) == 2 + 9 * 2 + 10 - 3)
            #expect(try await pool.read(difference).int64(0, 0) == 0)
        }
    }
}
