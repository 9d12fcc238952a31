import Basis
import Model
import Postgres
import Reactor
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

/// Asks the server for its generic plan of every statement about updates of items.
@Suite("The query plan of each statement for updates of items")
struct UpdatePlanTests {
    private static let crowd = """
        INSERT INTO routes (app_id, provider, environment, topic) VALUES (1, 1, 1, 't') ON CONFLICT DO NOTHING;
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
        SELECT 1, routes.id, 1, 1, 'c' || n, sha256(n::text::bytea) FROM routes, generate_series(1, 5000) AS n
        WHERE topic = 't' AND environment = 1;
        INSERT INTO items (app_id, name, updated_at) SELECT 1, 'i' || n, '2100-01-01' FROM generate_series(1, 5000) AS n;
        INSERT INTO push_templates (app_id, sha256, given, content)
        SELECT 1, sha256(n::text::bytea), '', '' FROM generate_series(1, 5000) AS n;
        INSERT INTO item_subscriptions (key, app_id, registration_id, status, items, fields, mode, trigger, template_id,
            when_paused, identity_hash)
        SELECT gen_random_uuid(), 1, id, 1 + id % 2, ARRAY['i' || id], '{last_price}', 1, 'true', id, 1,
            sha256(id::text::bytea)
        FROM registrations;
        INSERT INTO item_followers SELECT i.id, s.id, 0 FROM items i JOIN item_subscriptions s ON s.id = i.id;
        INSERT INTO armed SELECT i.id, 1, 'last_price', 1, 5, n, i.id FROM items i, generate_series(1, 3) AS n
        ON CONFLICT DO NOTHING;
        INSERT INTO armed_other SELECT id, sha256(id::text::bytea), id FROM items ON CONFLICT DO NOTHING;
        INSERT INTO held_pushes (subscription_id, app_id, registration_id, item_id, is_triggered, ready_at, due_at)
        SELECT id, 1, registration_id, 1, false, '2100-01-01', '2100-01-01' FROM item_subscriptions
        ON CONFLICT DO NOTHING;
        INSERT INTO item_due (item_id, app_id, due_at) SELECT id, 1, '2100-01-01' FROM items ON CONFLICT DO NOTHING;
        INSERT INTO update_producers SELECT 1, 'p' || n, 1 FROM generate_series(1, 5000) AS n ON CONFLICT DO NOTHING;
        ANALYZE
        """

    private static let large = [
        "items", "push_templates", "item_subscriptions", "item_followers", "armed", "armed_other", "held_pushes",
        "item_due", "update_producers", "registrations",
    ]

    private static let expected = [
        ("update_count_items", "using items_app_id_name_key on items"),
        ("update_make_items", "using items_app_id_name_key on items"),
        ("update_lock_items", "Index Cond: ((app_id = $2) AND (name = asked.name))"),
        ("update_threshold_groups", "using armed_pkey on armed"),
        ("update_threshold_groups", "Index Cond: ((ROW(item_id, mode, field, conversion, comparison) > ROW("),
        ("update_field_groups", "using armed_pkey on armed"),
        ("update_field_groups", "AND (comparison > step"),
        ("update_expressions", "Index Cond: ((ROW(item_id, expression) > ROW("),
        ("update_of_thresholds", "AND (bound >= asked.lowest) AND (bound <= asked.highest))"),
        ("update_of_expressions", "using armed_other_pkey on armed_other"),
        ("update_read_armed", "using item_subscriptions_pkey on item_subscriptions"),
        ("update_lock_armed", "using item_subscriptions_pkey on item_subscriptions"),
        ("update_lock_armed", "using held_pushes_pkey on held_pushes"),
        ("update_lock_armed", "using registrations_pkey on registrations"),
        ("update_fire", "using item_subscriptions_pkey on item_subscriptions"),
        ("update_fire", "using armed_of_subscription on armed"),
        ("update_fire", "using armed_other_of_subscription on armed_other"),
        ("items_write", "using items_pkey on items"),
        ("update_make_due", "using item_followers_pkey on item_followers"),
        ("update_lock_producer", "using update_producers_pkey on update_producers"),
        ("update_set_line", "using update_producers_pkey on update_producers"),
        ("update_last_line", "using update_producers_pkey on update_producers"),
        ("idle_items_find", "using items_pkey on items"),
        ("idle_items_lock", "using armed_pkey on armed"),
        ("idle_items_lock", "on item_subscriptions_triggered"),
        ("idle_items_remove", "on item_subscriptions_triggered"),
        ("audience_check_item_subscribers", "using item_subscriptions_of_template on item_subscriptions"),
        ("audience_check_item_subscribers", "using item_subscriptions_changed on item_subscriptions"),
    ]

    /// Statements that run under `PlannerSQL.throughKeys`; the others run under `PlannerSQL.inKeyOrder`.
    private static let throughKeys = ["update_count_items", "idle_items"]

    /// Does once each thing that updates do all day.
    private func work(_ items: ItemWorld) async throws {
        try await items.register("phone")
        let price = "Double.parseDouble(${last_price})"
        for trigger in ["\(price) > 1", "\(price) > 1 || \(price) < 0"] {
            try await items.subscribe("phone", try ItemWorld.terms(["a"], trigger: trigger))
        }
        for number in 0..<64 {
            let trigger = "Double.parseDouble(${f\(number)}) > 1"
            try await items.subscribe("phone", try ItemWorld.terms(["a"], fields: ["f\(number)"], trigger: trigger))
        }
        let follower = try await items.subscribe("phone", try ItemWorld.terms(["a"]))
        let update = try ItemWorld.update("a", #"{"last_price": 2}"#)
        let (updates, app) = (items.stores.updates, items.world.app)
        _ = try await updates.take([ProducedLine(line: 1, update: update)], producer: "feed", app: app)
        _ = try await updates.lastLine(of: "feed", app: app)
        #expect(try await items.held().count == 2)
        let route = try await items.world.route()
        let template = "SELECT template_id FROM item_subscriptions WHERE id = \(follower.id)"
        let id = PushTemplateID(Int64(try await items.world.number(template)))
        let registration = try await items.world.device("phone").id
        let message = items.world.newMessage(audience: Audience(.itemSubscribers(id)))
        _ = try await items.world.stores.messages.write(
            message, to: [ValuedReceiver(registration, on: route, value: [])], parcelMembersMax: 9)
        _ = try #require(try await items.world.lease(at: Clocks.wallNow() + .seconds(1)))
        try await items.update("idle", #"{"last_price": 2}"#)
        _ = try await updates.removeIdle(now: Clocks.wallNow() + UpdateStore.idleKept + .seconds(60))
        #expect(try await items.item("idle") == nil)
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
            for (name, count) in prepared
            where ["update_", "items_write", "idle_items", "audience_check_item"].contains(where: name.contains) {
                let isThroughKeys = Self.throughKeys.contains { name.contains($0) }
                let setting = isThroughKeys ? "EXECUTE planner_through_keys" : "EXECUTE planner_in_key_order"
                plans.append((name, try await QueryPlanTests.plan(of: name, count, setting, items.world)))
            }
            for (name, plan) in plans {
                for table in Self.large {
                    let scans = ["\n", " "].map { "Seq Scan on \(table)\($0)" }
                    #expect(!scans.contains { (plan + "\n").contains($0) }, "\(name):\n\(plan)")
                }
            }
            for (name, text) in Self.expected {
                let plan = plans.first { $0.name.contains(name) }?.plan ?? "never asked"
                #expect(plan.contains(text), "\(name):\n\(plan)")
            }
        }
    }
}
