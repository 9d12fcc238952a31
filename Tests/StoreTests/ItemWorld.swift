import Basis
import JSON
import Model
import Postgres
import Reactor
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

/// A database with an app that takes subscriptions to items, and what its updates leave there.
struct ItemWorld {
    let world: StoreWorld
    let stores: TriggerStores

    /// Registers an installation, with a token of its own or that of another one.
    /// - Parameter isOwn: the user's token does so.
    @discardableResult
    func register(
        _ installation: String, tokenOf other: String? = nil, user: String? = nil, isOwn: Bool = false,
        zone: String? = nil, app: AppID? = nil, at now: WallInstant = dawn
    ) async throws -> RegistrationID {
        var registration = DeviceRegistration(
            installation: installation, provider: .fcm,
            token: DeviceToken(bytes: Array("token-of-\(other ?? installation)".utf8)))
        registration.profile[.user] = user.map { .set($0) } ?? .clear
        registration.profile[.timeZone] = zone.map { .set($0) } ?? .keep
        registration.claimant = isOwn ? user : nil
        return try await world.stores.registry.register([registration], app: app ?? world.app, now: now)[0].get()
            .record.id
    }

    /// Retires an installation's token.
    func retire(_ installation: String) async throws {
        try await world.pool.script("UPDATE registrations SET state = 3 WHERE installation = '\(installation)'")
    }

    /// The terms of a subscription.
    static func terms(
        _ items: [String], fields: [String] = ["last_price"], _ mode: UpdateMode = .merge, trigger: String? = nil,
        text: String = "${last_price}", expiresAt: WallInstant? = nil
    ) throws -> SubscriptionTerms {
        let trigger = try trigger.map { text in
            TriggerTerms(text: text, thresholds: try TriggerExpression(parsing: text, fields: fields).thresholds)
        }
        return SubscriptionTerms(
            items: items, fields: fields, mode: mode, trigger: trigger,
            template: TemplateSource(given: Array("{}".utf8), content: Array(text.utf8)), expiresAt: expiresAt)
    }

    /// Subscribes an installation. Always makes a new subscription.
    @discardableResult
    func subscribe(
        _ installation: String, _ terms: SubscriptionTerms, app: AppID? = nil, at now: WallInstant = dawn
    ) async throws -> ItemSubscription {
        let app = app ?? world.app
        let device = try #require(try await world.stores.registry.devices(app: app, installation: installation).first)
        let reply = try await stores.subscriptions.activate(
            terms, key: UniversalID(high: Entropy.uint64(), low: Entropy.uint64()), coalescing: false,
            registration: device.id, user: nil, app: app, once: nil, now: now, answer: { _, _ in [] })
        guard case .activated(let subscription, isNew: true) = reply else {
            throw TookTooLong(description: "the subscription was refused: \(reply)")
        }
        return subscription
    }

    static func update(_ item: String, _ json: String) throws -> ItemUpdate {
        let fields = try #require(try JSONReader.read(Array(json.utf8)).object)
        return ItemUpdate(item: item, fields: try UpdateFields(fields))
    }

    /// Takes one update.
    @discardableResult
    func update(
        _ item: String, _ json: String, app: AppID? = nil, at now: WallInstant = dawn
    ) async throws -> UpdateReply {
        let result = await stores.updates.take([try Self.update(item, json)], app: app ?? world.app, now: now)
        return try result.replies[0].get()
    }

    /// An item as "name seq: field text seq, field text seq". A removed field has the text -.
    func item(_ name: String, app: AppID? = nil) async throws -> String? {
        let rows = try await world.pool.read(
            query("SELECT seq, field_names, field_texts, field_seqs FROM items WHERE app_id = :app AND name = :name") {
                $0.int64("app", (app ?? world.app).value)
                $0.text("name", name)
            })
        return try rows.first { row throws(PostgresError) in
            let seq = try row.int64()
            let (names, texts, seqs) = (try row.textArray(), try row.optionalTextArray(), try row.int64Array())
            let fields = names.indices.map { "\(names[$0]) \(texts[$0] ?? "-") \(seqs[$0])" }
            return "\(name) \(seq): " + fields.joined(separator: ", ")
        }
    }

    /// A push that waits.
    struct Held: Equatable, CustomStringConvertible {
        let subscription: Int64
        let item: String
        /// nil: they are read when the push goes.
        let texts: [String?]?

        var description: String { "\(subscription) at \(item): \(texts.map { "\($0)" } ?? "later")" }
    }

    /// The pushes that subscriptions hold, by rising id.
    func held() async throws -> [Held] {
        try await world.pool.read(
            query(
                """
                SELECT h.subscription_id, i.name, h.texts FROM held_pushes h JOIN items i ON i.id = h.item_id
                ORDER BY h.subscription_id
                """)
        ).map { row throws(PostgresError) in
            Held(
                subscription: try row.int64(), item: try row.text(),
                texts: try row.optional { row throws(PostgresError) in try row.optionalTextArray() })
        }
    }

    /// Lets the held pushes of subscriptions go, as if they had been sent.
    func releaseAll() async throws { try await world.pool.script("DELETE FROM held_pushes") }

    /// The subscriptions whose triggers have fired.
    func triggered() async throws -> [Int64] {
        try await world.pool.read(query("SELECT id FROM item_subscriptions WHERE status = 2 ORDER BY id"))
            .map(Int64.init)
    }

    func number(of table: String) async throws -> Int { try await world.number("SELECT count(*) FROM \(table)") }
}

/// Gives a test a database, and an app with triggers on.
func withItems(pool: PoolSettings = .patient, _ body: (ItemWorld) async throws -> Void) async throws {
    try await withStores(pool: pool) { stores in
        var change = AppChange()
        change.triggers.isEnabled = true
        _ = try await stores.stores.registry.changeApp(stores.app, change)
        try await body(ItemWorld(world: stores, stores: TriggerStores(beside: stores.stores)))
    }
}
