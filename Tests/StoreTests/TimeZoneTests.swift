import Basis
import Calendar
import Content
import Model
import Postgres
import Store
import Testing

@Suite("A time zone in the database")
struct TimeZoneTests {
    /// Returns the time in UTC at which a zone's clock shows the time; nil: the zone is unknown.
    private func instant(of hour: String, in zone: String, _ world: StoreWorld) async throws -> String? {
        let query = query("SELECT instant_of_hour(:hour::timestamp, :zone)") {
            $0.text("hour", hour)
            $0.text("zone", zone)
        }
        return try await world.pool.read(query).one { row throws(PostgresError) in try row.instantOrNil() }
            .map { RFC3339.formatLocal($0) }
    }

    @Test("has summer time if its name is also an abbreviation without one, or is an old name")
    func oldNames() async throws {
        try await withStores { world in
            for (zone, hour) in [
                ("CET", "10:30"), ("MET", "10:30"), ("EET", "09:30"), ("WET", "11:30"), ("EST", "17:30"),
                ("MST", "19:30"), ("EST5EDT", "16:30"), ("Asia/Calcutta", "07:00"), ("US/Pacific", "19:30"),
                ("us/pacific-new", "19:30"), ("GB", "11:30"), ("UTC", "12:30"),
            ] {
                let shown = try await instant(of: "2026-07-01T12:30:00", in: zone, world)
                #expect(shown == "2026-07-01T\(hour):00", "\(zone)")
            }
        }
    }

    @Test("goes by its current name if the database does not know the old one")
    func links() async throws {
        try await withStores { world in
            let wrong = try await world.pool.read(
                query(
                    """
                    SELECT name FROM jsonb_each_text(zone_links()) AS link (name, target)
                    WHERE name <> lower(name) OR target NOT LIKE '%/%' OR zone_links() ? lower(target)
                        OR instant_of_hour('2026-07-01 12:00', name) IS DISTINCT FROM
                            instant_of_hour('2026-07-01 12:00', target)
                    """)
            ).map(String.init)
            #expect(wrong == [])
            let listed = Set(TimeZoneName.all.map { $0.lowercased() })
            let links = try await world.pool.read(query("SELECT jsonb_object_keys(zone_links())")).map(String.init)
            #expect(links.count > 150 && links.allSatisfy { listed.contains($0) })
            // The script lets this PostgreSQL lack an old name.
            try await world.pool.script(
                """
                CREATE OR REPLACE FUNCTION zone_links() RETURNS jsonb LANGUAGE sql IMMUTABLE AS
                $$ SELECT '{"nowhere/land": "Asia/Kolkata"}'::jsonb $$
                """)
            #expect(try await instant(of: "2026-07-01T12:30:00", in: "Nowhere/Land", world) == "2026-07-01T07:00:00")
            #expect(try await world.stores.registry.knows(timeZone: "Nowhere/Land"))
            #expect(try await !world.stores.registry.knows(timeZone: "Nowhere/Sea"))
        }
    }

    @Test("counts as unknown if registrations have it and the database does not")
    func unknown() async throws {
        try await withStores { world in
            try await world.register(zones: ["Europe/Paris", nil, "Nowhere/Land", "Nowhere/Sea", "Nowhere/Land"])
            #expect(
                try await world.stores.registry.unknownTimeZones() == [
                    UnknownTimeZone(name: "Nowhere/Land", registrations: 2),
                    UnknownTimeZone(name: "Nowhere/Sea", registrations: 1),
                ])
            let noon = try #require(RFC3339.parseLocal("2026-12-01T12:00:00"))
            let sending = LocalSending(hour: LocalHour(inUTC: noon), sendsPassed: false)
            var message = world.newMessage()
            message.localSending = sending
            message.dueAt = try SendTime.due(.local(sending), now: StoreWorld.dawn)
            #expect(try await world.stores.messages.accept([message], now: StoreWorld.dawn) == .accepted)
            let first = try #require(message.dueAt)
            #expect(try await world.stores.messages.fallDue(now: first) == 1)
            let reply = try await world.stores.messages.plan(
                idsMax: 20_000, parcelMembersMax: 5_000, knownFormats: [1], now: first)
            #expect(reply.slice?.unknownZoneMembers == 3)
        }
    }
}
