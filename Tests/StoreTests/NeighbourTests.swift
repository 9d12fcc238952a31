import Basis
import Model
import Postgres
import QueueRules
import RegistryRules
import Testing

private let dawn = StoreWorld.dawn

/// Counts the rows that a batch reads, as the server reports them, and no times.
@Suite("A batch of devices in an app beside a large neighbour app")
struct NeighbourTests {
    /// The statistics that the query planner has when no analysis came in time.
    enum Statistics: String, CaseIterable, CustomTestStringConvertible {
        case none
        case ofTheNeighbourAlone
        case ofTheFirstFewDevices
        var testDescription: String { rawValue }
    }

    private static let batch = 100
    private static let neighbours = 50_000
    private static let own = 5_000
    /// Each device is looked up by name and by token, locked, checked by foreign keys, written and read back. The former
    /// holder of a token is asked for its user. A plan that reads the whole app or table reads tens of times as many rows.
    private static let rowsReadPerDeviceMax = 22

    private static let tables = ["registrations", "registration_pulse", "suspicions", "parcels", "plans", "messages"]

    private static func load(_ slug: String, _ count: Int) -> String {
        """
        INSERT INTO routes (app_id, provider, environment, topic)
        SELECT id, 1, 1, '\(StoreWorld.topic)' FROM apps WHERE slug = '\(slug)' ON CONFLICT DO NOTHING;
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, user_id, tags)
        SELECT app_id, routes.id, 1, 1, 'load-' || n, sha256((slug || n)::bytea), 'load-' || n / 3, '{all}'
        FROM apps JOIN routes ON app_id = apps.id, generate_series(1, \(count)) AS n
        WHERE slug = '\(slug)' AND environment = 1;
        INSERT INTO registration_pulse (registration_id, badge, registered_at) SELECT id, 0, '2026-01-01' FROM registrations ON CONFLICT DO NOTHING;
        INSERT INTO suspicions SELECT id, route_id, 1, 'BadDeviceToken', '2030-01-01' FROM registrations
        WHERE installation LIKE 'load-%' ON CONFLICT DO NOTHING;
        """
    }

    private func fill(_ world: StoreWorld, _ statistics: Statistics) async throws {
        let off = Self.tables.map { "ALTER TABLE \($0) SET (autovacuum_enabled = false);" }.joined()
        try await world.pool.script(off + "INSERT INTO apps (slug, name) VALUES ('crowd', 'Crowd')")
        switch statistics {
        case .none:
            try await world.pool.script(Self.load("crowd", Self.neighbours))
        case .ofTheNeighbourAlone:
            try await world.pool.script(Self.load("crowd", Self.neighbours) + "ANALYZE")
        case .ofTheFirstFewDevices:
            try await world.pool.script(Self.load("crowd", 3) + "ANALYZE")
            // Every statement gets its plan while the tables are nearly empty.
            for round in 0..<7 { for work in Work.allCases { try await perform(work, world, round: round) } }
            try await world.pool.script("DELETE FROM registrations;" + Self.load("crowd", Self.neighbours))
        }
        try await world.pool.script(Self.load("clock-tower", Self.own))
    }

    /// The operations on one batch of devices, in this order.
    enum Work: CaseIterable {
        case register, repeated, change, swap, planAll, planUsers, planTagged, planNamed, lease, suspicion, confirm
    }

    private func batch(_ round: Int, tokenShift: Int = 0, locale: String = "en_GB") -> [DeviceRegistration] {
        (0..<Self.batch).map { number in
            let seed = 1_000 * (round + 1) + (number + tokenShift) % Self.batch
            var registration = StoreWorld.registration("batch-\(round)-\(number)", token: seed)
            registration.profile[.locale] = .set(locale)
            registration.asOf = dawn
            registration.profile[.user] = .set("user-\(round)-\(number / 3)")
            registration.profile.tags = .set(["all", "turn-\(round)"])
            registration.profile.attributes = .set(Array(#"{"plan":"gold"}"#.utf8))
            return registration
        }
    }

    private func perform(_ work: Work, _ world: StoreWorld, round: Int) async throws {
        let number = UInt64(round + 1)
        switch work {
        case .register: try await register(batch(round), .created, world)
        case .repeated: try await register(batch(round), .unchanged, world)
        case .change: try await register(batch(round, locale: "fr_FR"), .refreshed, world)
        case .swap: try await register(batch(round, tokenShift: 1, locale: "fr_FR"), nil, world)
        case .planAll:
            #expect(try await world.stores.messages.accept([world.newMessage(number)], now: dawn) == .accepted)
            _ = try await world.stores.messages.plan(atMost: 1, idsMax: Self.batch, knownFormats: [1], now: dawn)
            try await world.pool.script("DELETE FROM messages")
        case .planUsers:
            let users = (0...Self.batch / 3).map { "user-\(round)-\($0)" }
            try await reach(.users(users), world, number + 2_000)
        case .planTagged:
            let tags = TagExpression(any: ["turn-\(round)"], all: ["all"], none: ["nobody"])
            try await reach(.tags(tags), world, number + 3_000)
        case .planNamed:
            let named = Audience.installations(batch(round).map(\.installation))
            try await world.send(world.newMessage(number + 1_000, badge: .increment, audience: named))
        case .lease:
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.count == Self.batch)
            _ = try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get()
        case .suspicion:
            let verdicts = try await members(world, round: round).map {
                GuardedVerdict(
                    registration: $0.id, generation: $0.generation, route: $0.route,
                    verdict: .suspected(reason: "BadDeviceToken"), asOf: dawn + .seconds(9))
            }
            let report = try await world.stores.parcels.applyVerdicts(verdicts, now: dawn)
            #expect(report.suspected == Self.batch)
        case .confirm:
            let rule = SuspicionRule(window: .zero, shareMax: 1, sampleMin: 0)
            #expect(try await world.stores.parcels.confirmSuspicions(rule, now: dawn).retired == Self.batch)
        }
    }

    private func reach(_ audience: Audience, _ world: StoreWorld, _ number: UInt64) async throws {
        let message = world.newMessage(number, audience: audience)
        #expect(try await world.stores.messages.accept([message], now: dawn) == .accepted)
        while try await world.stores.messages.plan(atMost: 1, idsMax: 2 * Self.batch, knownFormats: [1, 2], now: dawn)
            != .nothing
        {}
        #expect(try await world.account(message.id).audience == Int64(Self.batch))
        try await world.pool.script("DELETE FROM messages")
    }

    private func register(
        _ batch: [DeviceRegistration], _ change: RegistrationChange?, _ world: StoreWorld
    ) async throws {
        let answers = try await world.stores.registry.register(batch, app: world.app, now: dawn).map { try $0.get() }
        if let change { #expect(answers.allSatisfy { $0.change == change }, "\(answers[0].change)") }
    }

    private func members(
        _ world: StoreWorld, round: Int
    ) async throws -> [(id: RegistrationID, generation: TokenGeneration, route: RouteID)] {
        let rows = try await world.pool.read(
            query(
                """
                SELECT r.* FROM generate_series(0, \(Self.batch - 1)) AS n CROSS JOIN LATERAL (
                    SELECT id, generation, route_id FROM registrations
                    WHERE app_id = \(world.app.value) AND installation = 'batch-\(round)-' || n LIMIT 1) AS r
                """))
        return try rows.map { row throws(PostgresError) in
            (RegistrationID(try row.int64()), TokenGeneration(try row.int32()), RouteID(try row.int64()))
        }
    }

    /// Counted for this session, the only one of the pool. The server reports late unless it is asked to flush.
    private func rowsRead(_ world: StoreWorld) async throws -> Int {
        _ = try await world.pool.read(query("SELECT 1 FROM (SELECT pg_stat_force_next_flush()) AS flush"))
        return try await world.number(
            """
            SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables
            WHERE relname IN ('registrations', 'registration_pulse', 'registration_tags', 'suspicions')
            """)
    }

    @Test("reads only a few rows per device, whatever the planner's statistics say", arguments: Statistics.allCases)
    func bounded(_ statistics: Statistics) async throws {
        var settings = PoolSettings()
        settings.connectionsMax = 1
        try await withStores(pool: settings) { world in
            try await fill(world, statistics)
            // A server that plans for the given values considers a generic plan after five executions.
            for round in 10..<17 {
                for work in Work.allCases {
                    let before = try await rowsRead(world)
                    try await perform(work, world, round: round)
                    let read = try await rowsRead(world) - before
                    #expect(read <= Self.batch * Self.rowsReadPerDeviceMax, "\(work), turn \(round)")
                }
            }
        }
    }
}
