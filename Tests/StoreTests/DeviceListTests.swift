import Basis
import Encodings
import Model
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A list of devices")
struct DeviceListTests {
    /// Returns the names of all pages, each with at most `limit` devices.
    private static func list(
        _ world: StoreWorld, limit: Int = 3, _ change: (inout DeviceFilter) -> Void = { _ in }
    ) async throws -> [String] {
        var filter = DeviceFilter()
        change(&filter)
        var names: [String] = []
        var cursor: DeviceCursor?
        repeat {
            let page = try #require(
                try await world.stores.registry.devices(app: world.app, filter, after: cursor, limit: limit))
            #expect(page.devices.count <= limit)
            names += page.devices.map { $0.kind == .alert ? $0.installation : "\($0.installation)/\($0.kind.name)" }
            cursor = try page.next.map { try #require(DeviceCursor(text: $0.text)) }
        } while cursor != nil
        return names
    }

    /// Registers i1 to i9. Their user, tags and provider depend on the number; a neighbour app has the same devices.
    private func populate(_ world: StoreWorld) async throws {
        let neighbour = try await world.stores.registry.createApp(slug: "neighbour", name: "Neighbour").id
        for number in 1...9 {
            var registration = StoreWorld.registration("i\(number)", token: number)
            registration.profile[.user] = .set(number % 2 == 0 ? "even" : "odd")
            registration.profile.tags = .set(number % 3 == 0 ? ["three", "all"] : ["all"])
            if number % 4 == 0 {
                (registration.provider, registration.topic) = (.fcm, "")
            }
            try await world.register(registration, at: dawn + .seconds(Int64(number)))
            try await world.register(registration, app: neighbour, at: dawn)
        }
        try await world.register(StoreWorld.registration("i5", token: 15, kind: .voip), at: dawn)
        try await world.pool.script("UPDATE registrations SET state = 3 WHERE installation IN ('i3', 'i4', 'i7')")
        try await world.pool.script("UPDATE registrations SET state = 2 WHERE installation = 'i6'")
    }

    @Test("shows each matching device once, page by page, for every filter")
    func filters() async throws {
        try await withStores { world in
            try await populate(world)
            #expect(
                try await Self.list(world) == ["i1", "i2", "i3", "i4", "i5", "i5/voip", "i6", "i7", "i8", "i9"])
            #expect(try await Self.list(world) { $0.user = "odd" } == ["i1", "i3", "i5", "i7", "i9"])
            #expect(try await Self.list(world) { $0.tag = "three" } == ["i3", "i6", "i9"])
            #expect(try await Self.list(world) { $0.provider = .fcm } == ["i4", "i8"])
            #expect(try await Self.list(world) { $0.kind = .voip } == ["i5/voip"])
            #expect(try await Self.list(world, limit: 2) { $0.state = .retired } == ["i3", "i4", "i7"])
            #expect(try await Self.list(world) { $0.state = .suspected } == ["i6"])
            #expect(try await Self.list(world) { $0.state = .active } == ["i1", "i2", "i5", "i8", "i9", "i5/voip"])
            #expect(
                try await Self.list(world) { ($0.state, $0.kind) = (.active, .alert) }
                    == ["i1", "i2", "i5", "i8", "i9"])
            #expect(
                try await Self.list(world, limit: 1) { ($0.tag, $0.user) = ("all", "even") } == [
                    "i2", "i4", "i6", "i8",
                ])
            #expect(try await Self.list(world) { ($0.user, $0.tag) = ("even", "nothing") } == [])
            #expect(try await Self.list(world) { ($0.state, $0.provider) = (.retired, .fcm) } == ["i4"])
        }
    }

    @Test("filters live devices that were silent for longer than their provider's stale policy")
    func stale() async throws {
        try await withStores { world in
            try await populate(world)
            var policy = AppSettings.initial.stale
            let day = Duration.seconds(86_400)
            #expect(policy[.fcm] == 270 && policy[.apns] == nil)
            let late = dawn + .seconds(8) + day * 270
            #expect(try await Self.list(world) { $0.staleCutoffs = policy.staleCutoffs(now: late) } == [])
            let later = policy.staleCutoffs(now: late + .microseconds(1))
            #expect(try await Self.list(world) { $0.staleCutoffs = later } == ["i8"])
            policy[.fcm] = nil
            policy[.apns] = 1
            let silent = policy.staleCutoffs(now: dawn + .seconds(6) + day)
            #expect(try await Self.list(world) { $0.staleCutoffs = silent } == ["i1", "i2", "i5", "i5/voip"])
            #expect(try await Self.list(world) { ($0.staleCutoffs, $0.user) = (silent, "odd") } == ["i1", "i5"])
            #expect(try await Self.list(world) { $0.staleCutoffs = [] } == [])
        }
    }

    @Test("scans a bounded number of rows per page and returns a cursor to continue")
    func bounded() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.pool.script(
                """
                INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
                SELECT app_id, route_id, provider, kind, 'a' || n, sha256(n::text::bytea)
                FROM registrations, generate_series(1, 12000) AS n;
                INSERT INTO registration_pulse (registration_id, badge, registered_at) SELECT id, 0, '2026-01-01' FROM registrations ON CONFLICT DO NOTHING;
                UPDATE registrations SET provider = 1, locale = 'fr' WHERE installation = 'i1'
                """)
            var filter = DeviceFilter()
            filter.kind = .alert
            filter.provider = .fcm
            var pages = 0
            var cursor: DeviceCursor?
            repeat {
                let page = try #require(
                    try await world.stores.registry.devices(app: world.app, filter, after: cursor, limit: 100))
                #expect(page.devices.isEmpty)
                cursor = page.next
                pages += 1
            } while cursor != nil
            #expect(pages == 3, "a page reads 5,000 rows")
        }
    }

    @Test("ends a page after two megabytes of devices, and goes on behind them")
    func longDevices() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.pool.script(
                """
                INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, attributes)
                SELECT app_id, route_id, provider, kind, 'a' || n, sha256(n::text::bytea),
                    jsonb_build_object('note', repeat('x', 8000))
                FROM registrations, generate_series(1, 600) AS n;
                INSERT INTO registration_pulse (registration_id, registered_at)
                SELECT id, '2026-01-01' FROM registrations ON CONFLICT DO NOTHING
                """)
            var names: [String] = []
            var counts: [Int] = []
            var cursor: DeviceCursor?
            repeat {
                let page = try #require(
                    try await world.stores.registry.devices(
                        app: world.app, DeviceFilter(), after: cursor, limit: 1_000))
                names += page.devices.map(\.installation)
                counts.append(page.devices.count)
                cursor = page.next
            } while cursor != nil
            #expect(counts.count > 1 && counts.allSatisfy { $0 > 0 }, "\(counts)")
            #expect(names.count == 601 && Set(names).count == 601)
        }
    }

    @Test("rejects a malformed cursor and a cursor of a list in another order")
    func cursors() async throws {
        try await withStores { world in
            try await world.register(1...3)
            let registry = world.stores.registry
            let next = try #require(try await registry.devices(app: world.app, DeviceFilter(), limit: 1)?.next)
            var filter = DeviceFilter()
            filter.state = .active
            #expect(try await registry.devices(app: world.app, filter, after: next, limit: 1) == nil)
            for text in [
                "", "00", next.text + "0", next.text + "ff", next.text + "00", "07" + next.text.dropFirst(2), "xy",
            ] {
                #expect(DeviceCursor(text: text) == nil)
            }
            #expect(DeviceCursor(text: next.text) == next)
        }
    }

    @Test("finds the live holders of tokens, in the order of the request")
    func holders() async throws {
        try await withStores { world in
            try await world.register(1...4)
            let android = DeviceRegistration(installation: "a1", provider: .fcm, token: StoreWorld.token(2))
            try await world.register(android)
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE installation = 'i3'")
            let readings = [(0, Provider.apns, 4), (1, .apns, 3), (2, .apns, 2), (2, .fcm, 2), (3, .fcm, 4)].map {
                TokenReading(place: $0, provider: $1, token: StoreWorld.token($2))
            }
            let found = try await world.stores.registry.holders(app: world.app, of: readings)
            #expect(found.map(\.place) == [0, 2, 2])
            #expect(found.map(\.device.installation).sorted() == ["a1", "i2", "i4"])
            let one = try await world.device("i4")
            #expect(found[0].device == one)
        }
    }
}
