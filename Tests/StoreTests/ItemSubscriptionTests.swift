import Basis
import Model
import Postgres
import Store
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

@Suite("Subscriptions to items")
struct ItemSubscriptionTests {
    private static func above(_ bound: Int, text: String = "price") throws -> SubscriptionTerms {
        try ItemWorld.terms(["anduct"], trigger: "Double.parseDouble(${last_price}) > \(bound)", text: text)
    }

    /// Terms whose trigger no threshold orders.
    private static func beside(_ bound: Int) throws -> SubscriptionTerms {
        try ItemWorld.terms(["anduct"], trigger: "${last_price}.equals(\"\(bound)\")")
    }

    private static func bounds(_ items: ItemWorld) async throws -> [Int] {
        let rows = try await items.world.pool.read(query("SELECT bound::bigint FROM armed ORDER BY bound"))
        return try rows.map(Int64.init).map { Int($0) }
    }

    @Test("make the items that don't exist, and are found as they were made")
    func made() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.update("b", #"{"last_price": 1}"#)
            var terms = try ItemWorld.terms(["c", "a", "b"], fields: ["last_price", "bid"], .distinct)
            (terms.pauseSeconds, terms.whenPaused, terms.expiresAt) = (7, .drop, dawn + .seconds(60))
            let made = try await items.subscribe("phone", terms)
            let phone = try await items.device("phone")
            let store = items.stores.subscriptions
            #expect(try await store.subscription(made.key, of: phone, now: dawn) == made)
            #expect(made.terms == terms && made.status == .active && made.revision == 1)
            #expect(try await items.number(of: "items") == 3)
            #expect(try await items.world.number("SELECT max(sent_seq) FROM item_followers") == 1)
            #expect(try await store.subscription(made.key, of: phone, now: dawn + .seconds(60)) == nil)
            try await items.register("tablet")
            #expect(try await store.subscription(made.key, of: items.device("tablet"), now: dawn) == nil)
        }
    }

    @Test("come page by page and by status, without expired ones")
    func listed() async throws {
        try await withItems { items in
            try await items.register("phone")
            let phone = try await items.device("phone")
            var ids: [Int64] = []
            for bound in 1...5 { ids.append(try await items.subscribe("phone", try Self.above(bound)).id) }
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], expiresAt: dawn + .seconds(1)))
            try await items.update("anduct", #"{"last_price": 3}"#)
            func list(_ status: SubscriptionStatus?, after: Int64 = 0, limit: Int = 9) async throws -> [Int64] {
                try await items.stores.subscriptions.subscriptions(
                    of: phone, status: status, after: after, limit: limit, now: dawn + .seconds(1)
                ).map(\.id)
            }
            #expect(try await list(nil) == ids)
            #expect(try await list(.triggered) == Array(ids[..<2]))
            #expect(try await list(.active) == Array(ids[2...]))
            #expect(try await list(nil, limit: 3) == Array(ids[..<3]))
            #expect(try await list(nil, after: ids[2], limit: 3) == Array(ids[3...]))
        }
    }

    @Test("overwrite the device's oldest equal one if they coalesce, and arm it again")
    func coalescing() async throws {
        try await withItems { items in
            for phone in ["phone", "tablet"] { try await items.register(phone) }
            try await items.subscribe("tablet", try Self.above(1))
            let oldest = try await items.subscribe("phone", try Self.above(1))
            try await items.subscribe("phone", try Self.above(1))
            try await items.update("anduct", #"{"last_price": 2}"#)
            try await items.releaseAll()
            var terms = try Self.above(1, text: "new")
            (terms.mode, terms.pauseSeconds) = (.distinct, 5)
            let reply = try await items.activate("phone", terms, coalescing: true, at: dawn + .seconds(1))
            guard case .activated(let known, isNew: false) = reply else {
                Issue.record("\(reply)")
                return
            }
            #expect(known.id == oldest.id && known.key == oldest.key && known.createdAt == oldest.createdAt)
            #expect(known.status == .active && known.terms == terms && known.revision == 2)
            #expect(try await Self.bounds(items) == [1])
            #expect(try await items.triggered().count == 2)
            let others = [
                try Self.above(2), try ItemWorld.terms(["anduct"]),
                try ItemWorld.terms(["anduct"], fields: ["last_price", "bid"], trigger: terms.trigger?.text),
            ]
            for other in others {
                let reply = try await items.activate("phone", other, coalescing: true)
                #expect(reply.subscription?.revision == 1)
            }
        }
    }

    @Test("go on with what they hold and have not been notified of, if they are overwritten")
    func progress() async throws {
        try await withItems { items in
            try await items.register("phone")
            let terms = try ItemWorld.terms(["anduct"], text: "old")
            try await items.activate("phone", terms, coalescing: true)
            try await items.update("anduct", #"{"last_price": 1}"#)
            let new = try ItemWorld.terms(["anduct"], text: "new")
            try await items.activate("phone", new, coalescing: true)
            #expect(try await items.follow(at: dawn + .seconds(1)) == [1])
            #expect(try await items.cut() == ["phone new: 1"])
            try await items.update("anduct", #"{"last_price": 2}"#, at: dawn + .seconds(2))
            try await items.follow(at: dawn + .seconds(3))
            try await items.activate("phone", terms, coalescing: true)
            #expect(try await items.release(at: dawn + .seconds(31)) == 1)
            #expect(try await items.cut() == ["phone old: 2"])
        }
    }

    @Test("become one if two coalescing activations come at once")
    func atOnce() async throws {
        try await withItems { items in
            try await items.register("phone")
            let terms = try Self.above(1)
            for _ in 1...5 {
                async let first = items.activate("phone", terms, coalescing: true)
                async let second = items.activate("phone", terms, coalescing: true)
                let (one, other) = try await (first, second)
                #expect(one.subscription != nil && one.subscription?.id == other.subscription?.id)
                #expect(try await items.number(of: "item_subscriptions") == 1)
                #expect(try await items.number(of: "armed") == 1)
                try await items.world.pool.script("DELETE FROM item_subscriptions")
            }
        }
    }

    @Test("repeat the first answer to a request with the same idempotency key")
    func once() async throws {
        try await withItems { items in
            try await items.register("phone")
            func activate(_ body: UInt8) async throws -> ActivationReply {
                let claim = IdempotencyClaim(
                    operation: "POST subscriptions", key: "k", bodySHA256: [UInt8](repeating: body, count: 32))
                return try await items.activate("phone", try Self.above(1), once: claim)
            }
            let id = try #require(try await activate(1).subscription?.id)
            #expect(try await activate(1) == .replayed(answer: Array("\(id) true".utf8)))
            #expect(try await activate(2) == .mismatch)
            #expect(try await items.number(of: "item_subscriptions") == 1)
        }
    }

    @Test("leave nothing behind, not even an idempotency key, if they are refused")
    func refused() async throws {
        try await withItems { items in
            try await items.register("phone", user: "ann")
            try await items.subscribe("phone", try ItemWorld.terms(["known"]))
            let copies = """
                INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, template_id, when_paused,
                    identity_hash)
                SELECT gen_random_uuid(), app_id, registration_id, items, fields, 1, template_id, 1, identity_hash
                FROM item_subscriptions, generate_series(1, 999)
                """
            let claim = IdempotencyClaim(
                operation: "POST subscriptions", key: "k", bodySHA256: [UInt8](repeating: 1, count: 32))
            #expect(try await items.activate("phone", try Self.above(1), user: "eve") == .unknownDevice)
            try await items.world.pool.script(copies)
            #expect(try await items.activate("phone", try Self.above(1), user: "ann", once: claim) == .tooMany)
            #expect(try await items.number(of: "items") == 1)
            #expect(try await items.number(of: "push_templates") == 1)
            #expect(try await items.number(of: "idempotency_keys") == 0)
            let known = try ItemWorld.terms(["known"])
            #expect(try await items.activate("phone", known, coalescing: true).subscription?.revision == 2)
        }
    }

    @Test("have a hundred different triggers without a threshold at an item, and share equal ones")
    func expressions() async throws {
        try await withItems { items in
            try await items.register("phone")
            let last = ItemSubscriptionStore.expressionsPerItemMax
            for bound in 1...last { try await items.subscribe("phone", try Self.beside(bound)) }
            let known = try await items.subscribe("phone", try Self.beside(last))
            let phone = try await items.device("phone")
            #expect(try await items.activate("phone", try Self.beside(last + 1)) == .tooManyExpressions)
            func modify(_ bound: Int) async throws -> ModificationReply {
                try await items.stores.subscriptions.modify(
                    known.key, of: phone, from: 1, to: try Self.beside(bound), rearms: true, now: dawn)
            }
            #expect(try await modify(last + 1) == .tooManyExpressions)
            #expect(try await items.activate("phone", try Self.above(1)).subscription != nil)
            try await items.world.pool.script("DELETE FROM item_subscriptions WHERE id = \(known.id - 1)")
            #expect(try await modify(last + 1).subscription?.revision == 2, "its own former one is free")
        }
    }

    @Test("change from the revision that was read, and are armed again if that is asked")
    func modified() async throws {
        try await withItems { items in
            try await items.register("phone")
            let phone = try await items.device("phone")
            let store = items.stores.subscriptions
            let made = try await items.subscribe("phone", try Self.above(1))
            try await items.update("anduct", #"{"last_price": 2}"#)
            try await items.releaseAll()
            func modify(_ terms: SubscriptionTerms, from revision: Int32, rearms: Bool) async throws
                -> ModificationReply
            {
                try await store.modify(made.key, of: phone, from: revision, to: terms, rearms: rearms, now: dawn)
            }
            let renamed = try await modify(try Self.above(1, text: "new"), from: 1, rearms: false)
            #expect(renamed.subscription?.status == .triggered && renamed.subscription?.revision == 2)
            #expect(try await Self.bounds(items) == [])
            #expect(try await modify(try Self.above(3), from: 1, rearms: true) == .changedMeanwhile)
            #expect(try await modify(try Self.above(3), from: 2, rearms: true).subscription?.status == .active)
            #expect(try await Self.bounds(items) == [3])
            var read = try #require(try await store.subscription(made.key, of: phone, now: dawn)).terms
            read.mode = .distinct
            #expect(try await modify(read, from: 3, rearms: false).subscription?.revision == 4)
            #expect(try await items.world.number("SELECT count(*) FROM armed WHERE mode = 2 AND bound = 3") == 1)
            let other = UniversalID(high: 1, low: 1)
            #expect(
                try await store.modify(other, of: phone, from: 1, to: read, rearms: true, now: dawn) == .unknown)
        }
    }

    @Test("follow other items after a modification, without what came before")
    func moved() async throws {
        try await withItems { items in
            try await items.register("phone")
            let phone = try await items.device("phone")
            let made = try await items.subscribe("phone", try ItemWorld.terms(["a", "b"], text: "price").pausing(0))
            for item in ["a", "b", "c"] { try await items.update(item, #"{"last_price": 1}"#) }
            let terms = try ItemWorld.terms(["b", "c"], text: "price").pausing(0)
            _ = try await items.stores.subscriptions.modify(
                made.key, of: phone, from: 1, to: terms, rearms: true, now: dawn)
            #expect(try await items.follow(at: dawn + .seconds(1)).reduce(0, +) == 0)
            #expect(try await items.number(of: "item_due") == 0)
            for item in ["a", "c"] {
                try await items.update(item, #"{"last_price": "\#(item)"}"#, at: dawn + .seconds(2))
            }
            #expect(try await items.follow(at: dawn + .seconds(3)).reduce(0, +) == 1)
            #expect(try await items.cut() == ["phone price: c"])
        }
    }

    @Test("come back with the threshold that their trigger's text has")
    func reactivated() async throws {
        try await withItems { items in
            try await items.register("phone")
            let phone = try await items.device("phone")
            let made = try await items.subscribe("phone", try Self.above(1))
            let store = items.stores.subscriptions
            let before = try await store.reactivate(made.key, of: phone, now: dawn)
            #expect(before.subscription?.revision == 1, "it is active")
            try await items.update("anduct", #"{"last_price": 2}"#)
            #expect(try await Self.bounds(items) == [])
            #expect(try await store.reactivate(made.key, of: phone, now: dawn).subscription?.status == .active)
            #expect(try await Self.bounds(items) == [1])
            #expect(try await items.held().count == 1)
            #expect(try await store.reactivate(UniversalID(high: 1, low: 1), of: phone, now: dawn) == .unknown)
        }
    }

    @Test("end one by one, by status, and when they have expired")
    func removed() async throws {
        try await withItems { items in
            for phone in ["phone", "tablet"] { try await items.register(phone) }
            let (phone, tablet) = (try await items.device("phone"), try await items.device("tablet"))
            let store = items.stores.subscriptions
            let first = try await items.subscribe("phone", try Self.above(9))
            for bound in [1, 8] { try await items.subscribe("phone", try Self.above(bound)) }
            try await items.subscribe("phone", try Self.beside(2))
            try await items.subscribe("tablet", try ItemWorld.terms(["anduct"], expiresAt: dawn + .seconds(1)))
            try await items.update("anduct", #"{"last_price": 2}"#)
            #expect(try await store.remove(first.key, of: tablet, now: dawn) == false)
            #expect(try await store.remove(first.key, of: phone, now: dawn))
            #expect(try await store.remove(first.key, of: phone, now: dawn) == false)
            #expect(try await store.removeAll(of: phone, status: .triggered, now: dawn) == 2)
            #expect(try await items.held() == [])
            #expect(try await Self.bounds(items) == [8])
            #expect(try await store.removeAll(of: phone, status: nil, now: dawn) == 1)
            #expect(try await store.removeExpired(now: dawn) == false)
            #expect(try await store.removeExpired(now: dawn + .seconds(1)))
            #expect(try await store.removeExpired(now: dawn + .seconds(1)) == false)
            for table in ["item_subscriptions", "item_followers", "armed", "armed_other", "held_pushes"] {
                #expect(try await items.number(of: table) == 0, "\(table)")
            }
        }
    }

    @Test("share templates, which go with the last of them")
    func templates() async throws {
        try await withItems { items in
            try await items.register("phone")
            let phone = try await items.device("phone")
            for text in ["a", "a", "b"] {
                try await items.subscribe("phone", try ItemWorld.terms(["anduct"], text: text))
            }
            let store = items.stores.subscriptions
            #expect(try await items.number(of: "push_templates") == 2)
            #expect(try await store.removeUnusedTemplates() == false)
            #expect(try await items.number(of: "push_templates") == 2)
            #expect(try await store.removeAll(of: phone, status: nil, now: dawn) == 3)
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], text: "b"))
            #expect(try await store.removeUnusedTemplates() == false)
            #expect(try await items.number(of: "push_templates") == 1)
        }
    }

    @Test("lock an item before the subscription that is to follow it, as updates do", arguments: [false, true])
    func lockOrder(isCoalescing: Bool) async throws {
        try await withItems { items in
            let phone = try await items.register("phone")
            let terms = try ItemWorld.terms(["anduct"])
            let known = try await items.subscribe("phone", isCoalescing ? terms : try Self.above(1))
            let pool = items.world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let change = try await pool.transaction { transaction throws(PostgresError) -> Task<Int32?, any Error> in
                _ = try await transaction.run(query("SELECT FROM items FOR NO KEY UPDATE"))
                let change = Task { () async throws -> Int32? in
                    if isCoalescing {
                        return try await items.activate("phone", terms, coalescing: true).subscription?.revision
                    }
                    return try await items.stores.subscriptions.modify(
                        known.key, of: phone, from: 1, to: terms, rearms: true, now: dawn
                    ).subscription?.revision
                }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                // An update whose trigger fires locks the subscription here.
                _ = try await transaction.run(query("SELECT FROM item_subscriptions FOR NO KEY UPDATE NOWAIT"))
                return change
            }
            #expect(try await change.value == 2)
        }
    }

    @Test("fail if the device gets another user while they are activated")
    func nextUser() async throws {
        try await withItems { items in
            try await items.register("phone", user: "ann")
            let pool = items.world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let terms = try Self.above(1)
            let activation = try await pool.transaction {
                transaction throws(PostgresError) -> Task<ActivationReply, any Error> in
                _ = try await transaction.run(query("UPDATE registrations SET user_id = 'bob'"))
                let activation = Task { try await items.activate("phone", terms, user: "ann") }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                return activation
            }
            #expect(try await activation.value == .unknownDevice)
            #expect(try await items.number(of: "item_subscriptions") == 0)
        }
    }
}
