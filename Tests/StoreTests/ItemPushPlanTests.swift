import Basis
import Model
import Postgres
import Reactor
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

/// Asks the server for its generic plan of every statement about subscriptions to items and their pushes.
@Suite("The query plan of each statement for subscriptions to items")
struct ItemPushPlanTests {
    private static let crowd = """
        INSERT INTO routes (app_id, provider, environment, topic) VALUES (1, 1, 1, 't') ON CONFLICT DO NOTHING;
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
        SELECT 1, routes.id, 1, 1, 'c' || n, sha256(n::text::bytea) FROM routes, generate_series(1, 5000) AS n
        WHERE topic = 't' AND environment = 1;
        INSERT INTO items (app_id, name) SELECT 1, 'i' || n FROM generate_series(1, 5000) AS n;
        INSERT INTO push_templates (app_id, sha256, given, content)
        SELECT 1, sha256(n::text::bytea), '', '' FROM generate_series(1, 5000) AS n;
        INSERT INTO item_subscriptions (key, app_id, registration_id, status, items, fields, mode, template_id,
            when_paused, identity_hash, expires_at)
        SELECT gen_random_uuid(), 1, id, 1 + id % 2, ARRAY['i' || id], '{last_price}', 1, id, 1,
            sha256(id::text::bytea), '2100-01-01'
        FROM registrations;
        INSERT INTO item_followers SELECT 1 + id % 100, id, 0 FROM item_subscriptions ON CONFLICT DO NOTHING;
        INSERT INTO armed SELECT 1 + id % 100, 1, 'last_price', 1, 5, id, id FROM item_subscriptions
        ON CONFLICT DO NOTHING;
        INSERT INTO armed_other SELECT 1 + id % 100, sha256(id::text::bytea), id FROM item_subscriptions
        ON CONFLICT DO NOTHING;
        INSERT INTO held_pushes (subscription_id, app_id, registration_id, item_id, is_triggered, ready_at, due_at)
        SELECT id, 1, registration_id, 1, false, '2100-01-01', '2100-01-01' FROM item_subscriptions
        ON CONFLICT DO NOTHING;
        INSERT INTO device_windows SELECT id, '2100-01-01' FROM registrations ON CONFLICT DO NOTHING;
        INSERT INTO item_due (item_id, app_id, due_at) SELECT id, 1, '2100-01-01' FROM items ON CONFLICT DO NOTHING;
        ANALYZE
        """

    private static let large = [
        "items", "push_templates", "item_subscriptions", "item_followers", "armed", "armed_other", "held_pushes",
        "device_windows", "item_due", "registrations",
    ]

    private static let expected = [
        ("item_subscription_add_items", "using items_app_id_name_key on items"),
        ("item_subscription_keep_items", "using items_app_id_name_key on items"),
        ("item_subscription_keep_template", "using push_templates_app_id_sha256_key on push_templates"),
        ("item_subscription_alike", "using item_subscriptions_alike on item_subscriptions"),
        ("item_subscription_lock", "using item_subscriptions_key_key on item_subscriptions"),
        ("item_subscription_count", "using item_subscriptions_of_device on item_subscriptions"),
        ("item_subscription_remove_all", "using item_subscriptions_of_device on item_subscriptions"),
        ("item_subscription_find_expired", "using item_subscriptions_expiring on item_subscriptions"),
        ("item_subscription_remove_expired", "using item_subscriptions_pkey on item_subscriptions"),
        ("item_subscription_lock_own", "using registrations_pkey on registrations"),
        ("item_subscription_lock_own_windows", "using device_windows_pkey on device_windows"),
        ("item_subscription_forget_devices", "using registrations_pkey on registrations"),
        ("item_subscriptions_page", "using item_subscriptions_of_device on item_subscriptions"),
        ("item_arming_is_full", "using armed_other_pkey on armed_other"),
        ("item_arming_disarm", "using armed_of_subscription on armed"),
        ("item_arming_lock_items", "using items_pkey on items"),
        ("push_templates_find", "using item_subscriptions_of_template on item_subscriptions"),
        ("push_templates_remove", "using item_subscriptions_of_template on item_subscriptions"),
        ("item_adoption_make_windows", "using registrations_pkey on registrations"),
        ("item_adoption_lock", "using item_subscriptions_pkey on item_subscriptions"),
        ("item_adoption_lock_windows", "using device_windows_pkey on device_windows"),
        ("item_adoption_move", "using item_subscriptions_of_device on item_subscriptions"),
        ("item_adoption_move", "using item_subscriptions_pkey on item_subscriptions"),
        ("item_adoption_move", "using held_pushes_pkey on held_pushes"),
        ("item_push_next_due", "using item_due_next on item_due"),
        ("item_push_next_due", "using held_pushes_next on held_pushes"),
        ("item_push_items", "using items_pkey on items"),
        ("item_push_keep_subscriptions", "using item_subscriptions_pkey on item_subscriptions"),
        ("item_pushes_cut", "using device_windows_pkey on device_windows"),
        ("item_push_note", " on item_followers"),
        ("item_push_quiet_hours", "using registrations_pkey on registrations"),
        ("limits_wake_held", "using held_pushes_of_apps on held_pushes"),
        ("follower_claim", "using item_due_of_apps on item_due"),
        ("follower_next", "using item_followers_pkey on item_followers"),
        ("follower_make_windows", "using registrations_pkey on registrations"),
        ("follower_lock_windows", "using device_windows_pkey on device_windows"),
        ("follower_first_held", "using held_pushes_of_device_due on held_pushes"),
        ("follower_read", "using held_pushes_pkey on held_pushes"),
        ("follower_others", "using item_followers_of_subscription on item_followers"),
        ("follower_others", "using item_subscriptions_pkey on item_subscriptions"),
        ("follower_others", "using items_pkey on items"), ("follower_hold", "using items_pkey on items"),
        ("follower_end", "using items_pkey on items"), ("follower_end", "using item_due_pkey on item_due"),
        ("release_make_windows", "using held_pushes_of_apps on held_pushes"),
        ("release_claim", "using held_pushes_of_apps on held_pushes"),
        ("release_claim", "using device_windows_pkey on device_windows"),
        ("release_keep_subscriptions", "using held_pushes_of_device on held_pushes"),
        ("release_read", "using held_pushes_of_device on held_pushes"),
        ("release_put_off", "using held_pushes_of_device on held_pushes"),
        ("release_drop", "using held_pushes_of_device on held_pushes"),
        ("release_keep_held", "using held_pushes_of_device on held_pushes"),
    ]

    private static let prefixes = [
        "item_subscription", "item_arming", "item_adoption", "push_templates", "item_push", "follower", "release_",
        "limits_wake_held",
    ]
    /// Statements that run under `PlannerSQL.inKeyOrder`; the others run under `PlannerSQL.throughKeys`.
    private static let inKeyOrder = ["item_push", "follower", "release_"]
    /// Statements that run by themselves, with the server's own settings.
    private static let alone = ["item_push_next_due", "item_subscription_app"]

    /// Does once each thing that subscriptions to items do all day.
    private func work(_ items: ItemWorld) async throws {
        let store = items.stores.subscriptions
        let price = "Double.parseDouble(${last_price})"
        for phone in ["one", "two", "three"] { try await items.register(phone) }
        let phone = try await items.device("one")
        let follower = try ItemWorld.terms(["a"])
        try await items.activate("one", follower, coalescing: true)
        let made = try await items.subscribe("one", try ItemWorld.terms(["a"], trigger: "\(price) > 1"))
        try await items.subscribe("one", try ItemWorld.terms(["a"], trigger: "${last_price}.equals(\"2\")"))
        for other in ["two", "three"] { try await items.subscribe(other, follower) }
        try await items.subscribe("two", try ItemWorld.terms(["a", "b"]))
        try await items.update("a", #"{"last_price": 2}"#)
        try await items.world.spare(quiet: (1, 2))
        try await items.release(at: StoreWorld.dawn)
        try await items.follow(at: StoreWorld.dawn + .seconds(1))
        try await items.retire("three")
        try await items.world.pool.script(
            "UPDATE held_pushes SET registration_id = (SELECT max(id) FROM registrations) WHERE is_triggered")
        try await items.release(at: StoreWorld.dawn + .seconds(40))
        _ = try await items.stores.pushes.nextDue()
        _ = try await store.reactivate(made.key, of: phone)
        _ = try await store.subscriptions(of: phone, status: nil, after: 0, limit: 9)
        _ = try await store.remove(made.key, of: phone)
        _ = try await store.removeAll(of: phone, status: nil)
        let own = try await items.register("own", user: "ann", isOwn: true)
        try await items.subscribe("own", follower)
        _ = try await store.removeAll(of: own, status: nil)
        try await items.subscribe("two", try ItemWorld.terms(["a"], expiresAt: StoreWorld.dawn + .seconds(1)))
        _ = try await store.removeExpired(now: StoreWorld.dawn + .seconds(2))
        try await items.register("four", tokenOf: "two", at: StoreWorld.dawn + .seconds(3))
        try await items.world.pool.script(
            "INSERT INTO push_templates (app_id, sha256, given, content) VALUES (1, sha256(''), '', '')")
        _ = try await store.removeUnusedTemplates()
    }

    @Test("scans no large table from end to end, and uses the index made for the statement")
    func plans() async throws {
        var settings = PoolSettings.patient
        settings.connectionsMax = 1
        settings.deadline = .seconds(300)
        try await withItems(pool: settings) { items in
            try await work(items)
            try await items.world.pool.script(Self.crowd)
            let prepared = try await items.world.pool.read(
                query("SELECT name, array_length(parameter_types, 1) FROM pg_prepared_statements ORDER BY name")
            ).map { row throws(PostgresError) in (name: try row.text(), count: Int(try row.int32OrNil() ?? 0)) }
            var plans: [(name: String, plan: String)] = []
            for (name, count) in prepared where (Self.prefixes.contains { name.hasPrefix($0) }) {
                let isInKeyOrder = Self.inKeyOrder.contains { name.hasPrefix($0) }
                let setting =
                    if Self.alone.contains(name) {
                        "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)"
                    } else { isInKeyOrder ? "EXECUTE planner_in_key_order" : "EXECUTE planner_through_keys" }
                plans.append((name, try await QueryPlanTests.plan(of: name, count, setting, items.world)))
            }
            for (name, plan) in plans {
                for table in Self.large {
                    let scans = ["\n", " "].map { "Seq Scan on \(table)\($0)" }
                    #expect(!scans.contains { (plan + "\n").contains($0) }, "\(name):\n\(plan)")
                }
            }
            for (name, text) in Self.expected {
                let plan = plans.first { $0.name.hasPrefix(name) }?.plan ?? "never asked"
                #expect(plan.contains(text), "\(name):\n\(plan)")
            }
        }
    }
}
