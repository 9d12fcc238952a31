import Postgres
import TestSupport
import Testing

/// Checks each table for its dead rows before a vacuum, at ten million rows, and for what else its use needs.
/// The migrations and docs/operations/database.md give the reasons. Each new table gets its line here.
@Suite("The storage settings of each table")
struct TableSettingsTests {
    /// The use of a table.
    private enum Use {
        /// Its size is bounded by apps, credentials, keys or routes: the server's defaults are enough.
        case small
        /// Rows are registered once, seldom changed, and read by index only.
        case registry
        /// Rows change with every push, within their page.
        case activity
        /// Rows live for seconds.
        case queue
        /// Rows are kept for ever; only the latest ones change.
        case account
        /// Old rows are deleted, row by row.
        case swept
        /// Rows are written once, and the whole partition is dropped.
        case day
    }

    private static let uses: [String: Use] = [
        "apps": .small, "routes": .small, "credentials": .small, "lane_blocks": .small, "lane_outages": .small,
        "project_senders": .small,
        "provider_tokens": .small, "master_key_proof": .small, "api_keys": .small,
        "feedback_swept": .small, "schema_migrations": .small,
        "registrations": .registry, "registration_tags": .registry, "registration_pulse": .activity,
        "parcels": .queue, "own_values": .queue, "message_rates": .queue, "plans": .queue, "stops": .queue,
        "schedules": .queue, "suspicions": .queue, "due_watches": .queue, "watch_changes": .queue,
        "revocations": .queue, "ended_subscriptions": .queue, "node_removals": .queue, "subscriptions": .registry,
        "subscription_progress": .activity,
        "node_rules": .small, "user_token_keys": .small, "wake_days": .small,
        "nodes": .registry, "former_users": .registry, "watches": .swept,
        "messages": .account, "message_reasons": .account,
        "message_providers": .account, "message_provider_reasons": .account, "message_paces": .account,
        "message_contents": .swept, "inline_targets": .swept, "feedback": .swept, "idempotency_keys": .swept,
        "route_minutes": .swept, "push_history_other": .swept, "user_days": .swept,
        "idle_subscribers": .swept, "unproven_subscribers": .swept,
        "items": .swept, "update_producers": .swept, "push_templates": .registry, "item_subscriptions": .registry,
        "armed": .registry, "armed_other": .registry, "item_followers": .activity, "device_windows": .activity,
        "held_pushes": .queue, "item_due": .queue,
    ]
    /// The prefix of partition names.
    private static let days = "push_history_d"

    private struct Table {
        let name: String
        let options: [String: String]
        /// The options of its TOAST table.
        let outside: [String: String]

        /// Dead rows before a vacuum starts, at the given number of live rows.
        func dead(of rows: Double) -> Double {
            let share = options["autovacuum_vacuum_scale_factor"].flatMap(Double.init) ?? 0.2
            return (options["autovacuum_vacuum_threshold"].flatMap(Double.init) ?? 50) + share * rows
        }

        /// New rows that no vacuum has seen yet, at the given number of live rows.
        func unseen(of rows: Double) -> Double {
            1_000 + (options["autovacuum_vacuum_insert_scale_factor"].flatMap(Double.init) ?? 0.2) * rows
        }
    }

    private func tables(_ world: StoreWorld) async throws -> [Table] {
        let rows = try await world.pool.read(
            query(
                """
                SELECT c.relname::text, coalesce(c.reloptions, '{}'), coalesce(t.reloptions, '{}')
                FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
                WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1
                """))
        return try rows.map { row throws(PostgresError) in
            Table(
                name: try row.text(), options: Self.options(try row.textArray()),
                outside: Self.options(try row.textArray()))
        }
    }

    private static func options(_ texts: [String]) -> [String: String] {
        let pairs = texts.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") })
    }

    @Test("fit the table's use at ten million registrations")
    func considered() async throws {
        try await withStores { world in
            _ = try await world.stores.sweeper.sweep()
            let tables = try await tables(world)
            #expect(tables.count { $0.name.hasPrefix(Self.days) } == 4, "the history's partitions are created ahead")
            for table in tables {
                guard let use = table.name.hasPrefix(Self.days) ? .day : Self.uses[table.name] else {
                    Issue.record(
                        "\(table.name) is not in the table of uses: choose its vacuum settings, see migrations/0001_registry.sql"
                    )
                    continue
                }
                Self.check(table, use)
            }
        }
    }

    private static func check(_ table: Table, _ use: Use) {
        let name = Comment(rawValue: table.name)
        let million = 1_000_000.0
        switch use {
        case .small: break
        case .registry:
            #expect(table.dead(of: 10 * million) <= 0.25 * million, name)
            #expect(table.unseen(of: 10 * million) <= 0.6 * million, name)
        case .activity:
            #expect(table.options["fillfactor"] == "50", name)
            // A broadcast to all devices leaves one dead version of each row, and starts no vacuum.
            #expect(table.dead(of: 10 * million) >= 15 * million, name)
        case .queue:
            #expect(table.dead(of: 10 * million) <= 10_000, name)
            for options in [table.options] + (["parcels", "own_values"].contains(table.name) ? [table.outside] : []) {
                #expect(options["vacuum_truncate"] == "off", name)
                #expect(options["autovacuum_vacuum_cost_delay"] == "0", name)
                #expect(options["autovacuum_vacuum_scale_factor"] == "0", name)
            }
            #expect(table.options["vacuum_index_cleanup"] == "on", name)
        case .account:
            #expect(table.dead(of: 10 * million) <= 0.15 * million, name)
            #expect(table.options["fillfactor"] == "80", name)
        case .swept:
            #expect(table.dead(of: 10 * million) <= 0.25 * million, name)
            #expect(table.options["vacuum_index_cleanup"] == "on", name)
        case .day:
            #expect(table.options["autovacuum_freeze_min_age"] == "0", name)
            #expect(table.outside["autovacuum_freeze_min_age"] == "0", name)
        }
    }

    @Test("leave room in a page for a new locale or app version, so that no index is written")
    func roomInPages() async throws {
        try await withStores { world in
            try await world.register(1...400)
            var batch = (1...400).map { StoreWorld.registration("i\($0)", token: $0) }
            for place in batch.indices where place % 20 == 0 { batch[place].profile[.locale] = .set("fr") }
            for answer in await world.stores.registry.register(batch, app: world.app) { _ = try answer.get() }
            // An update that stays in its page and changes no indexed column writes no index.
            let stayed = """
                WITH moved AS (
                    UPDATE registrations r SET app_version = '2' FROM registrations old
                    WHERE old.id = r.id AND r.id % 20 = 3 RETURNING old.ctid AS before, r.ctid AS after)
                SELECT count(*) FILTER (WHERE (before::text::point)[0] = (after::text::point)[0]), count(*) FROM moved
                """
            let counts = try await world.pool.run(query(stayed)).one { row throws(PostgresError) in
                [try row.int64(), try row.int64()]
            }
            #expect(counts == [20, 20])
        }
    }
}
