import Basis
import Model
import Postgres
import Reactor
import Store
import TestSupport
import Testing
import WakeUpRules
import WakeUpStore

/// Asks the server for its generic plan of every statement of the data tree, its subscriptions and fan-outs.
@Suite("The query plan of each statement for wake-ups")
struct WakeUpPlanTests {
    private static let crowd = """
        INSERT INTO nodes SELECT 1, '/n/' || n || '/v', '1' FROM generate_series(1, 20000) AS n;
        INSERT INTO watches (app_id, path, weight_bytes, weight_leaves)
        SELECT 1, '/n/' || n, 0, 0 FROM generate_series(1, 5000) AS n;
        INSERT INTO watch_changes SELECT id, n, 'v', true FROM watches, generate_series(1, 3) AS n ON CONFLICT DO NOTHING;
        INSERT INTO due_watches (watch_id, app_id, due_at) SELECT id, 1, '2100-01-01' FROM watches ON CONFLICT DO NOTHING;
        INSERT INTO routes (app_id, provider, environment, topic) VALUES (1, 1, 1, 't') ON CONFLICT DO NOTHING;
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
        SELECT 1, routes.id, 1, 1, 'c' || n, sha256(n::text::bytea) FROM routes, generate_series(1, 5000) AS n
        WHERE topic = 't' AND environment = 1;
        INSERT INTO subscriptions (app_id, watch_id, registration_id, version, mode, expires_at)
        SELECT 1, w.id, r.id, 1, 1, '2100-01-01'
        FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM watches) AS w
        JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM registrations) AS r USING (n) ON CONFLICT DO NOTHING;
        INSERT INTO ended_subscriptions (app_id, slug, watch_id, path, registration_id)
        SELECT 1, 'a', id, path, id FROM watches;
        INSERT INTO unproven_subscribers SELECT id, 1, '2100-01-01' FROM registrations ON CONFLICT DO NOTHING;
        INSERT INTO idle_subscribers SELECT id, '2100-01-01' FROM registrations ON CONFLICT DO NOTHING;
        INSERT INTO former_users SELECT id, 'eve', 1 FROM registrations ON CONFLICT DO NOTHING;
        INSERT INTO subscription_progress SELECT id, 0 FROM subscriptions ON CONFLICT DO NOTHING;
        INSERT INTO messages (id, app_id, format, state, priority, push_type, audience_summary, kind, horizon, accepted_at,
            expires_at, finished_at, audience, origin)
        SELECT gen_random_uuid(), 1, 1, 6, 2, 1, '{}', 1, 0, '2026-01-01', '2026-01-02', '2026-01-01', 0, 1
        FROM generate_series(1, 5000);
        INSERT INTO message_contents SELECT id, repeat('x', 300)::bytea, '' FROM messages ON CONFLICT DO NOTHING;
        ANALYZE
        """

    private static let large = [
        "nodes", "watches", "watch_changes", "due_watches", "subscriptions", "subscription_progress", "registrations",
        "idle_subscribers", "ended_subscriptions", "unproven_subscribers",
        "former_users", "messages", "parcels", "push_history_other", "message_contents",
    ]

    private static let expected = [
        ("node_read", "using nodes_pkey on nodes"), ("node_children", "using nodes_pkey on nodes"),
        ("node_subtrees", "using nodes_pkey on nodes"), ("node_neighbours", "using nodes_pkey on nodes"),
        ("node_raise", "using watches_app_id_path_key on watches"),
        ("fan_out_claim", "using due_watches_of_apps on due_watches"),
        ("fan_out_next_due", "using due_watches_next on due_watches"),
        ("fan_out_read", "using nodes_pkey on nodes"), ("fan_out_read", "using watch_changes_pkey on watch_changes"),
        ("fan_out_subscriptions", "using subscriptions_of_watch on subscriptions"),
        ("fan_out_last_reported", "using subscription_progress_pkey on subscription_progress"),
        ("fan_out_devices", "using registrations_pkey on registrations"),
        ("fan_out_progress_common", "using subscription_progress_pkey on subscription_progress"),
        ("fan_out_progress", "using subscription_progress_pkey on subscription_progress"),
        ("fan_out_end", "using watches_pkey on watches"),
        ("revocation_expired", "using subscriptions_expiring on subscriptions"),
        ("revocation_ended", "using ended_subscriptions_pkey on ended_subscriptions"),
        ("revocation_app_next", "using subscriptions_of_app on subscriptions"),
        ("revocation_watch_next", "using subscriptions_of_watch on subscriptions"),
        ("subscription_count_of_app", "using subscriptions_of_app on subscriptions"),
        ("subscription_is_former_user", "using former_users_pkey on former_users"),
        ("adoption_adopt", "using subscriptions_of_registration on subscriptions"),
        ("adoption_awaken", "using subscriptions_of_registration on subscriptions"),
        ("adoption_unite", "using subscriptions_of_registration on subscriptions"),
        ("sweep_wake_ups", "using messages_of_gateway on messages"),
        ("sweep_idle_subscribers", "using idle_subscribers_since on idle_subscribers"),
    ]

    /// Statements that run by themselves, with the server's own settings.
    private static let alone = [
        "node_read", "node_children", "fan_out_next_due", "access_values", "sweep_wake_ups", "sweep_idle",
    ]

    /// Does once each thing that wake-ups do all day.
    private func work(_ world: FanOutWorld) async throws {
        try await world.setRules(#"{"$owner": {".read": "auth.sub == $owner || root.open == true"}}"#)
        try await world.put("/open", "true")
        try await world.subscribe("six", "/alone")
        try await world.put("/alone", "1")
        try await world.fanOut()
        for (device, mode) in [("one", WakeUpMode.noData), ("two", .value), ("three", .childEvent)] {
            try await world.subscribe(device, "/ann", mode, user: "ann")
        }
        try await world.subscribe("four", "/ann/x", lifetime: .seconds(1))
        for value in 0..<2 {
            try await world.put("/ann/x", "\(value)")
            try await world.fanOut()
            try await world.put("/ann/y", "\(value)")
            try await world.fanOut()
            try await world.receive(as: TerminalStatus(.gaveUp, "retries_exhausted"))
        }
        try await world.put("/ann/y", "9")
        try await world.fanOut()
        try await world.revoke(after: .seconds(60))
        _ = try await world.unsubscribe("one", "/ann")
        try await world.retire("two")
        try await world.subscribe("two", "/ann", .value, user: "ann")
        for surface in [NodePath.root, NodePath(stored: "/ann")] {
            _ = try await world.world.wakeUpStores.nodes.read(surface, app: world.world.app)
            _ = try await world.world.wakeUpStores.nodes.surface(surface, app: world.world.app)
        }
        _ = try await world.world.wakeUpStores.access.values(at: [.root], app: world.world.app)
        let token = DeviceToken(bytes: Array(FanOutWorld.token("two").utf8))
        try await world.world.register(
            DeviceRegistration(
                installation: "phone", kind: .alert, provider: .fcm, environment: .production, topic: "", token: token))
        try await world.setRules("{}")
        try await world.revoke()
        var change = AppChange()
        change.wakeUp.weightLeavesMax = 1
        _ = try await world.world.stores.registry.changeApp(world.world.app, change)
        try await world.setRules(#"{".read": true}"#)
        try await world.subscribe("five", "/bob", leavesMax: 9)
        try await world.put("/bob", #"{"x": 1, "y": 2}"#)
        try await world.fanOut()
        try await world.revoke()
        _ = try await world.world.wakeUpStores.fanOuts.nextDue()
        _ = try await world.world.stores.sweeper.sweep(now: Clocks.wallNow() + .seconds(10 * 86_400))
    }

    @Test("scans no large table from end to end, and uses the index made for the statement")
    func plans() async throws {
        var settings = PoolSettings.patient
        settings.connectionsMax = 1
        settings.deadline = .seconds(300)
        try await withFanOuts(pool: settings) { world in
            try await work(world)
            try await world.world.pool.script(Self.crowd)
            let prefixes = [
                "node", "fan_out", "revocation", "subscription", "adoption", "access", "sweep_wake_ups", "sweep_idle",
            ]
            let prepared = try await world.world.pool.read(
                query("SELECT name, array_length(parameter_types, 1) FROM pg_prepared_statements ORDER BY name")
            ).map { row throws(PostgresError) in (name: try row.text(), count: Int(try row.int32OrNil() ?? 0)) }
            var plans: [(name: String, plan: String)] = []
            for (name, count) in prepared where prefixes.contains(where: name.contains) {
                let isAlone = Self.alone.contains { name.contains($0) }
                let setting =
                    isAlone
                    ? "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)"
                    : "EXECUTE planner_through_keys"

                plans.append((name, try await QueryPlanTests.plan(of: name, count, setting, world.world)))
            }
            for (name, plan) in plans {
                for table in Self.large {
                    let scans = ["\n", " "].map { "Seq Scan on \(table)\($0)" }
                    #expect(!scans.contains { (plan + "\n").contains($0) }, "\(name):\n\(plan)")
                }
            }
            for (name, index) in Self.expected {
                let plan = plans.first { $0.name.contains(name) }?.plan ?? "never asked"
                #expect(plan.contains(index), "\(name):\n\(plan)")
            }
        }
    }
}
