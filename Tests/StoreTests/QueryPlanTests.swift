import Basis
import Model
import Postgres
import QueueRules
import Reactor
import RegistryRules
import Store
import TestSupport
import Testing

private let dawn = StoreWorld.dawn

/// Asks the server for its generic plan of every statement of a day's work, at a size where a wrong plan would be
/// slow.
@Suite("The query plan of each statement")
struct QueryPlanTests {
    private static let crowd = """
        INSERT INTO apps (slug, name) VALUES ('crowd', 'Crowd');
        INSERT INTO routes (app_id, provider, environment, topic)
        SELECT id, 1, 1, 't' || n FROM apps, generate_series(1, 3) AS n;
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
        SELECT routes.app_id, routes.id, 1, 1, 'c' || n || '-' || routes.id, sha256((n || '-' || routes.id)::bytea)
        FROM routes, generate_series(1, 5000) AS n WHERE environment = 1;
        INSERT INTO registration_pulse (registration_id, badge, registered_at) SELECT id, 0, '2026-01-01' FROM registrations ON CONFLICT DO NOTHING;
        UPDATE registrations SET user_id = 'u' || id / 4, tags = ARRAY['t' || id % 50, 'u' || id / 4],
            state = CASE id % 1000 WHEN 0 THEN 3 WHEN 1 THEN 2 ELSE 1 END WHERE installation LIKE 'c%';
        INSERT INTO messages (id, app_id, format, priority, push_type, audience_summary, kind, horizon, accepted_at, expires_at)
        SELECT gen_random_uuid(), 1, 1, 2, 1, '{}', 1, 0, '2026-01-01', '2026-01-02' FROM generate_series(1, 300);
        INSERT INTO inline_targets SELECT 1000000 + row_number() OVER (), id, 1, sha256('x')
        FROM messages, generate_series(1, 30);
        INSERT INTO own_values SELECT id, 10 * n, 10 * n + 9, 1, '\\x8101', '\\x0000'
        FROM messages, generate_series(1, 30) AS n ON CONFLICT DO NOTHING;
        INSERT INTO plans (message_id, app_id, format, priority) SELECT id, 1, 9, 2 FROM messages ON CONFLICT DO NOTHING;
        INSERT INTO parcels (message_id, app_id, route_id, format, priority, due_at, expires_at, members, member_count,
            pending)
        SELECT m.id, routes.app_id, routes.id, 1, 1 + n % 2, timestamptz '2027-01-01' + n * interval '1 second',
            '2028-01-01', '\\x0001', 1, 1
        FROM messages m, routes, generate_series(1, 10) AS n WHERE environment = 1;
        UPDATE parcels SET format = 9 WHERE id % 10 > 0;
        INSERT INTO messages (id, app_id, format, state, priority, push_type, audience_summary, kind, horizon, accepted_at,
            expires_at, finished_at, audience)
        SELECT gen_random_uuid(), 1, 1, 6, 2, 1, '{}', 1, 0, '2026-01-01', '2026-01-02', '2026-01-01', 0
        FROM generate_series(1, 5000);
        INSERT INTO push_history SELECT id, n, 0, 1, 1, 1 + n % 2, 'BadTopic', 1, '2026-01-01', 1, 1, 1, '\\x8101'
        FROM (SELECT id FROM messages LIMIT 300) AS m, generate_series(1, 10) AS n ON CONFLICT DO NOTHING;
        INSERT INTO message_contents SELECT id, repeat('x', 300)::bytea, '' FROM messages ON CONFLICT DO NOTHING;
        INSERT INTO suspicions SELECT id, route_id, 1, 'BadDeviceToken', timestamptz '2026-01-01'
            + id * interval '1 hour' FROM registrations WHERE id % 3 = 0;
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, number)
        SELECT 1, id, 1, installation, 1, 1, 1, 'Unregistered', nullif(id, id / 50 * 50) FROM registrations LIMIT 5000;
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
        SELECT 1, 'POST', 'k' || n, sha256(''), '' FROM generate_series(1, 5000) AS n;
        INSERT INTO route_minutes SELECT routes.id, timestamptz '2026-01-01' + n * interval '1 minute'
        FROM routes, generate_series(1, 3000) AS n;
        INSERT INTO user_days SELECT date '2026-01-01' + n % 3, 1, 'device:' || n, '{}'
        FROM generate_series(1, 5000) AS n;
        INSERT INTO message_provider_reasons (message_id, provider, state, reason, count)
        SELECT m.id, 1, 2, 'r' || n, 1 FROM (SELECT id FROM messages ORDER BY id DESC LIMIT 50) AS m,
            generate_series(1, 100) AS n;
        INSERT INTO message_paces (message_id, provider, ended, settled_at, seen_at, seen)
        SELECT id, 1, 1, '2026-01-01', '2026-01-01', 1 FROM messages WHERE state = 6
        ON CONFLICT DO NOTHING;
        ANALYZE
        """

    /// Tables that grow with devices, messages or time.
    private static let large = [
        "registrations", "registration_pulse", "messages", "message_contents", "plans", "parcels", "suspicions",
        "feedback", "idempotency_keys", "registration_tags", "push_history_other", "inline_targets",
        "own_values",
        "route_minutes", "user_days", "message_provider_reasons", "message_paces",
    ]

    /// Does once each thing that a gateway does all day.
    private func work(_ world: StoreWorld) async throws {
        var registration = StoreWorld.registration("i1", token: 1)
        registration.asOf = dawn
        registration.profile.attributes = .set(Array("{}".utf8))
        try await world.register(registration)
        registration.profile[.locale] = .set("en_GB")
        try await world.register(registration)
        try await world.register(StoreWorld.registration("i2", token: 1))
        let ids = try await world.register(1...6)
        _ = try await world.stores.registry.badge(app: world.app, installation: "i1")
        _ = try await world.stores.registry.setBadge(2, app: world.app, installation: "i1")
        _ = try await world.stores.registry.consumeBadge(1, app: world.app, installation: "i1")
        _ = try await world.stores.registry.setBadge(1, app: world.app, user: "ann")
        _ = try await world.device("i1")
        try await deliver(world, ids)
        let route = try await world.route()
        let verdicts = [(TokenVerdict.suspected(reason: "BadDeviceToken"), ids[0])].map {
            GuardedVerdict(
                registration: $1, generation: TokenGeneration(1), route: route, verdict: $0,
                asOf: dawn + .seconds(9))
        }
        _ = try await world.stores.parcels.applyVerdicts(verdicts, now: dawn)
        let rule = SuspicionRule(window: .zero, shareMax: 1, sampleMin: 0)
        _ = try await world.stores.parcels.confirmSuspicions(rule, now: dawn)
        _ = try await world.stores.parcels.refusedRoutes(rule, within: .seconds(600), now: dawn)
        _ = try await world.stores.feedback.page(app: world.app, limit: 100)
        _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i6")
        try await maintain(world)
        _ = try await world.stores.sweeper.sweep(now: dawn)
        var brief = Retention()
        brief.feedbackDays = 1
        while try await world.stores.sweeper.sweep(brief, now: Clocks.wallNow() + .seconds(2 * 86_400)) > 0 {}
        try await carryOwnValues(world, to: ids[0])
    }

    /// Writes a message with values of its members' own, and reads them as for a lease.
    private func carryOwnValues(_ world: StoreWorld, to id: RegistrationID) async throws {
        let receiver = ValuedReceiver(id, on: try await world.route(), value: [1])
        _ = try await world.stores.messages.write(world.newMessage(50), to: [receiver], parcelMembersMax: 9, now: dawn)
        _ = try await world.stores.parcels.values(of: [id], [.own], in: StoreWorld.message(50))
    }

    /// Does what operators do to devices and apps.
    private func maintain(_ world: StoreWorld) async throws {
        let registry = world.stores.registry
        for change: @Sendable (inout DeviceFilter) -> Void in [
            { _ in }, { $0.user = "u1" }, { $0.tag = "t1" }, { $0.state = .retired }, { $0.state = .active },
            { $0.staleCutoffs = AppSettings.initial.stale.staleCutoffs(now: dawn) },
        ] {
            var filter = DeviceFilter()
            change(&filter)
            _ = try await registry.devices(app: world.app, filter, limit: 2)
        }
        let reading = TokenReading(place: 0, provider: .apns, token: StoreWorld.token(1))
        _ = try await registry.holders(app: world.app, of: [reading])
        _ = try await registry.setBadge(1, app: world.app, ofToken: [(.apns, reading.token)])
        _ = try await registry.consumeBadge(1, app: world.app, ofToken: [(.apns, reading.token)], idempotency: nil) {
            _ in []
        }
        var patch = DevicePatch()
        patch.profile[.user] = .set("ada")
        let limits = DevicePatchLimits(tagsMax: 9, attributesBytesMax: 99, attributesMembersMax: 9)
        _ = try await registry.patch(patch, app: world.app, installation: "i1", kind: nil, limits: limits)
        for item in try await world.stores.feedback.page(app: world.app, limit: 9).items {
            _ = try await registry.undo(feedback: item.id, app: world.app)
        }
        _ = try await registry.erase(user: "ada", app: world.app)
        let doomed = try await registry.createApp(slug: "doomed", name: "Doomed").id
        try await world.register(StoreWorld.registration("i1", token: 1), app: doomed)
        _ = try await registry.deleteApp(doomed)
        while try await world.stores.sweeper.sweep(now: dawn) > 0 {}
    }

    private func reach(_ world: StoreWorld) async throws {
        let audiences: [Audience] = [
            .users(["ann", "nobody"]), Audience(.all, providers: [.apns]),
            .stale([StaleCutoffs(provider: .apns, instant: dawn)]),
            .tags(TagExpression(any: ["t1", "t2"], all: ["t3"], none: ["t4"])),
            .tokens([
                InlineTarget(
                    provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token(99))
            ]),
        ]
        for (place, audience) in audiences.enumerated() {
            let message = world.newMessage(UInt64(place + 10), audience: audience)
            #expect(try await world.stores.messages.accept([message], now: dawn) == .accepted)
            _ = try await world.stores.messages.count(
                CountedMessage(app: world.app, audience: audience, kind: .alert), now: dawn)
        }
        var local = world.newMessage(30)
        local.localSending = LocalSending(hour: LocalHour(inUTC: dawn + .seconds(3_600)))
        #expect(try await world.stores.messages.accept([local], now: dawn) == .accepted)
        while try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2, 3, 5], now: dawn) != .nothing {}
    }

    /// Delivers in the same way for an app with quiet hours and a daily cap.
    private func deliverSparing(_ world: StoreWorld) async throws {
        var change = AppChange()
        change.limits.quietHours = QuietHours(from: 0, to: 1).map { .set($0) } ?? .clear
        change.limits.dailyCap = .set(1)
        for number in UInt64(3)...4 {
            _ = try await world.stores.registry.changeApp(world.app, change)
            try await world.send(world.newMessage(number, badge: .increment))
            let parcel = try #require(try await world.lease())
            _ = try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get()
        }
        try await world.sendEach(["i1", "i1"], from: 905)
        let parcels = try await world.leaseGroup()
        #expect(parcels.count > 1)
        let asleep = parcels.map { parcel in
            parcel.settling(
                [],
                remainders: [
                    Remainder(
                        route: parcel.route, dueAfter: .zero, dueAt: dawn + .seconds(86_400), attempt: 0, lapses: 0,
                        retrySpent: .zero, answerLost: false, cause: .quietHours,
                        members: parcel.members.map(\.registration))
                ])
        }
        let replies = await world.stores.parcels.settle(asleep, now: dawn)
        #expect(replies.allSatisfy { $0 == .success(.settled) })
        change.limits = AppLimitChange()
        (change.limits.quietHours, change.limits.dailyCap) = (.clear, .clear)
        _ = try await world.stores.registry.changeApp(world.app, change)
    }

    private func deliver(_ world: StoreWorld, _ ids: [RegistrationID]) async throws {
        let claim = IdempotencyClaim(
            operation: "POST messages", key: "k1", bodySHA256: [UInt8](repeating: 1, count: 32))
        let answer = IdempotentAnswer(claim: claim, answer: [])
        // Tokens that production does not know are looked for in the sandbox.
        let elsewhere = NewCredential(
            id: try await world.stores.credentials.nextIDs(1)[0], app: world.app, provider: .apns,
            environment: .sandbox, kind: .token, topics: [], facts: Array("{}".utf8), sealed: [1])
        _ = try await world.stores.credentials.insert(elsewhere, activate: true)
        try await world.send(
            world.newMessage(
                1, urgency: .transactional, badge: .increment, readsLocale: true, idempotency: answer))
        try await world.send(world.newMessage(2, urgency: .transactional, audience: .installations(["i1", "x"])))
        try await reach(world)
        try await revise(world)
        _ = try await world.stores.parcels.readyRoutes(knownFormats: [1], now: dawn)
        let parcel = try #require(try await world.lease())
        _ = try await world.lease(scope: .urgent)
        _ = try await world.stores.parcels.settle([parcel.settling([(0..<1, TerminalStatus(.expired))])], now: dawn)[0]
            .get()
        _ = try await world.stores.parcels.rescue(now: dawn + .seconds(61))
        while let next = try await world.lease(formats: [1, 2], at: dawn + .seconds(61)) {
            _ = try await world.stores.parcels.settle([next.settlingAll()], now: dawn)[0].get()
        }
        try await deliverTogether(world)
        try await deliverSparing(world)
        _ = try await world.account()
        _ = try await world.progress(at: dawn)
        _ = try await world.stores.messages.failures(app: world.app, id: StoreWorld.message(1), limit: 10)
        _ = try await world.stores.messages.pushHistory(app: world.app, id: StoreWorld.message(1), installation: "i1")
        for state in [nil, MessageState.finished, .sending] {
            _ = try await world.stores.messages.list(app: world.app, limit: 10, state: state)
        }
        _ = try await world.stores.messages.contents([StoreWorld.message(1)])
        _ = try await world.stores.messages.status(of: world.app, .bulk, countingTo: 10)
        _ = try await world.stores.credentials.countSenders(to: "bells", with: StoreWorld.ann, now: dawn)
    }

    /// Changes a message that is held, and starts it.
    private func revise(_ world: StoreWorld) async throws {
        var message = world.newMessage(40)
        message.isHeld = true
        #expect(try await world.stores.messages.accept([message], now: dawn) == .accepted)
        let held = message
        let reply = try await world.stores.messages.revise(held.id, of: world.app, beforeStart: true, now: dawn) {
            _ -> Result<MessageRevision, StoreFault> in
            var revision = MessageRevision()
            (revision.rewritten, revision.isRedated, revision.name) = (held, true, .set("Noon"))
            return .success(revision)
        }
        guard case .revised = reply else { return #expect(Bool(false), "\(reply)") }
        #expect(try await world.stores.messages.control(.resume, app: world.app, id: held.id, now: dawn) == .done)
    }

    private func deliverTogether(_ world: StoreWorld) async throws {
        for number in 901...902 as ClosedRange<UInt64> {
            let message = world.newMessage(
                number, urgency: .transactional, badge: .increment, audience: .installations(["i1"]))
            _ = try await world.stores.messages.accept([message], now: dawn)
        }
        _ = try await world.stores.messages.plan(knownFormats: [1], now: dawn)
        func order(_ scope: LeaseScope) async throws -> LeaseOrder {
            LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1],
                scope: scope)
        }
        let parcels = try await world.stores.parcels.lease(order(.ordinary), now: dawn).parcels
        #expect(parcels.count > 1)
        _ = try await world.stores.parcels.lease(order(.urgent), now: dawn)
        _ = try await world.stores.messages.contents(parcels.map(\.message))
        let names = parcels.map { LeaseName(parcel: $0.id, epoch: $0.epoch) }
        let renewed = await world.stores.parcels.renew(
            names, owner: StoreWorld.ann, for: .seconds(60), now: dawn)
        #expect(renewed == names.map { _ in .success(true) })
        try await withPool(world.settings) { pool in
            let other = StoreWorld(
                pool: pool, stores: world.stores, wakeUpStores: world.wakeUpStores, app: world.app,
                settings: world.settings)
            try await other.holding("messages WHERE id = '\(StoreWorld.message(901).value.text)'") { () async throws in
                _ = await world.stores.parcels.settle(parcels.map { $0.settlingAll() }, now: dawn)
            }
        }
        _ = await world.stores.parcels.settle(parcels.map { $0.settlingAll() }, now: dawn)
    }

    /// Returns each prepared statement of the pool's only connection, with its generic plan.
    private func plans(_ world: StoreWorld) async throws -> [(name: String, plan: String)] {
        let prepared = try await world.pool.read(
            query("SELECT name, array_length(parameter_types, 1), statement FROM pg_prepared_statements ORDER BY name")
        ).map { row throws(PostgresError) in
            (name: try row.text(), count: Int(try row.int32OrNil() ?? 0), sql: try row.text())
        }
        var plans: [(name: String, plan: String)] = []
        for (name, count, sql) in prepared where !sql.contains("pg_prepared_statements") {
            // Statements that run under the settings of batches, which already matter at this size.
            let isOfBatches = name.contains("app_removal") || name.contains("limits_wake") || name == "plan_end"
            let seqscan = isOfBatches ? "off" : "on"
            let bitmapscan = name.hasPrefix("member_") ? "off" : "on"
            let setting = """
                SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
                    set_config('enable_seqscan', '\(seqscan)', true),
                    set_config('enable_bitmapscan', '\(bitmapscan)', true)
                """
            let isSettle = name.hasPrefix("parcel_settle")
            plans.append(
                (name, try await Self.plan(of: name, count, isSettle ? "EXECUTE planner_through_keys" : setting, world))
            )
        }
        return plans
    }

    static func plan(
        of name: String, _ count: Int, _ setting: String, _ world: StoreWorld
    ) async throws -> String {
        let values = count == 0 ? "" : "(" + Array(repeating: "NULL", count: count).joined(separator: ", ") + ")"
        let lines = try await world.pool.run(
            [query(setting), query("EXPLAIN (COSTS OFF) EXECUTE \"\(name)\"\(values)")],
            transaction: TransactionOptions())[1]
        return try lines.map(String.init).joined(separator: "\n")
    }

    @Test("scans no large table from end to end, and uses the index made for the statement")
    func plans() async throws {
        var settings = PoolSettings.patient
        settings.connectionsMax = 1
        // One script inserts all rows, which takes a while on a busy machine.
        settings.deadline = .seconds(300)
        try await withStores(pool: settings) { world in
            try await work(world)
            try await world.pool.script(Self.crowd)
            let plans = try await plans(world)
            #expect(plans.count > 35, "too few plans were recorded: \(plans.map(\.name))")
            for (name, plan) in plans {
                for table in Self.large {
                    let scans = ["\n", " "].map { "Seq Scan on \(table)\($0)" }
                    #expect(!scans.contains { (plan + "\n").contains($0) }, "\(name):\n\(plan)")
                }
            }
            // A hundred settlements that are compared all with all take as long as writing them.
            let ending = plans.first { $0.name == "parcel_settle_ending" }?.plan ?? "never asked: Join Filter"
            #expect(!ending.contains("Join Filter"), "\(ending)")
            for (name, index) in Self.expected {
                let plan = plans.first { $0.name.contains(name) }?.plan ?? "never asked"
                #expect(plan.contains(index), "\(name):\n\(plan)")
            }
        }
    }
}
