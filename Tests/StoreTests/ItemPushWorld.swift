import Basis
import Encodings
import Model
import Postgres
import Reactor
import Store
import Testing
import TriggerRules
import TriggerStore

// Pushes of subscriptions to items, in a test's database.
extension ItemWorld {
    private static func order(subscriptionsMax: Int = 20_000) -> ItemPushOrder {
        ItemPushOrder(subscriptionsMax: subscriptionsMax, parcelMembersMax: 5_000, format: 1)
    }

    /// Messages whose content is the template's, and the texts. The text "none" can't be sent.
    private static let contents = ItemPushContents { group in
        guard !group.texts.contains("none") else { return nil }
        let texts = group.texts.map { $0 ?? "-" }.joined(separator: ", ")
        let text = String(decoding: group.content, as: UTF8.self) + ": " + texts
        return ItemPushContent(
            id: MessageID(UUIDv7.make(at: Clocks.wallNow(), random: (Entropy.uint64(), Entropy.uint64()))),
            content: Array(text.utf8), pushType: .alert, badge: .increment, lifetime: .seconds(86_400),
            readsLocale: false)
    }

    /// Runs rounds of followers until no item is due at that time.
    /// - Returns: the pushes of each transaction.
    @discardableResult
    func follow(at now: WallInstant, subscriptionsMax: Int = 20_000, turnsMax: Int = 1_000) async throws -> [Int] {
        var turns: [Int] = []
        let order = Self.order(subscriptionsMax: subscriptionsMax)
        while turns.count < turnsMax,
            case .cut(_, let pushes, _) = try await stores.pushes.follow(order, now: now, contents: Self.contents)
        { turns.append(pushes) }
        return turns
    }

    /// Releases held pushes until none is due at that time.
    /// - Returns: the number of pushes.
    @discardableResult
    func release(at now: WallInstant, turnsMax: Int = 1_000) async throws -> Int {
        var (count, turns) = (0, 0)
        while turns < turnsMax,
            case .cut(_, let pushes, _) = try await stores.pushes.release(
                Self.order(), now: now, contents: Self.contents)
        {
            count += pushes
            turns += 1
        }
        return count
    }

    /// Releases held pushes, and leases them where they are cut.
    func releaseLeasing(at now: WallInstant) async throws -> WrittenParcels {
        let leases = CutOrder(owner: StoreWorld.ann, leaseFor: .seconds(60), parcelMembersMax: 5_000)
        let leasing = CutLeasing(order: leases, admit: { Set($0.keys) }, lost: { _ in })
        return try await stores.pushes.release(Self.order(), leasing: leasing, now: now, contents: Self.contents)
            .written
    }

    /// Makes a change while a round has read its followers and waits to write its messages.
    func follow(
        at now: WallInstant, beside change: @escaping @Sendable () async throws -> Void
    ) async throws -> [Int] {
        let pool = world.pool
        let waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        let round = try await pool.transaction { transaction throws(PostgresError) -> Task<[Int], any Error> in
            _ = try await transaction.run(query("LOCK TABLE messages IN SHARE MODE"))
            let round = Task { try await self.follow(at: now, turnsMax: 1) }
            while try await pool.number(waiting) < 1 { await Task.yield() }
            do { try await change() } catch { Issue.record(error) }
            return round
        }
        return try await round.value
    }

    /// Runs a round while the item's second update, whose price is 2, has written all its rows. It commits once the round
    /// waits for it, or is over.
    func followBesideUpdate(at now: WallInstant) async throws -> [Int] {
        let pool = world.pool
        let waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        let update = "UPDATE items SET seq = 2, field_texts = '{2}', field_seqs = '{2}'"
        let makeDue = """
            INSERT INTO item_due (item_id, app_id, due_at) SELECT id, app_id, updated_at FROM items ON CONFLICT DO NOTHING
            """
        let round = try await pool.transaction { transaction throws(PostgresError) -> Task<[Int], any Error> in
            _ = try await transaction.run(query(update))
            _ = try await transaction.run(query(makeDue))
            let round = Task { try await self.follow(at: now, turnsMax: 1) }
            var isWaitingOrOver = false
            while !isWaitingOrOver {
                await Task.yield()
                isWaitingOrOver = try await pool.number(waiting) + pool.number("SELECT count(*) FROM messages") > 0
            }
            return round
        }
        return try await round.value
    }

    /// The pushes that were cut since the last call, each as "installation template: texts".
    func cut() async throws -> [String] {
        let rows = try await world.pool.read(
            query(
                "SELECT p.members, c.content FROM parcels p JOIN message_contents c ON c.message_id = p.message_id"
            )
        ).map { row throws(PostgresError) in (members: try row.bytes(), content: try row.bytes()) }
        var pushes: [String] = []
        for row in rows {
            for id in try MemberList.decode(row.members) {
                let name = try await world.pool.read(query("SELECT installation FROM registrations WHERE id = \(id)"))
                pushes.append(try name.one(String.init) + " " + String(decoding: row.content, as: UTF8.self))
            }
        }
        try await world.pool.script("DELETE FROM parcels")
        return pushes.sorted()
    }

    /// Activates a subscription of an installation, and returns the reply.
    @discardableResult
    func activate(
        _ installation: String, _ terms: SubscriptionTerms, coalescing: Bool = false, user: String? = nil,
        once: IdempotencyClaim? = nil, at now: WallInstant = StoreWorld.dawn
    ) async throws -> ActivationReply {
        try await stores.subscriptions.activate(
            terms, key: UniversalID(high: Entropy.uint64(), low: Entropy.uint64()), coalescing: coalescing,
            registration: try await device(installation), user: user, app: world.app, once: once, now: now
        ) { subscription, isNew in Array("\(subscription.id) \(isNew)".utf8) }
    }

    func device(_ installation: String) async throws -> RegistrationID { try await world.device(installation).id }

    /// Sets limits and switches of the app.
    func change(at now: WallInstant? = nil, _ edit: @Sendable (inout AppChange) -> Void) async throws {
        var change = AppChange()
        edit(&change)
        _ = try await world.stores.registry.changeApp(world.app, change, now: now)
    }
}

extension SubscriptionTerms {
    /// The same terms with a pause of their own.
    func pausing(_ seconds: Int32, _ whenPaused: WhenPaused = .newest) -> SubscriptionTerms {
        var terms = self
        (terms.pauseSeconds, terms.whenPaused) = (seconds, whenPaused)
        return terms
    }
}

extension ActivationReply {
    /// The subscription; nil: the activation was refused or replayed.
    var subscription: ItemSubscription? {
        if case .activated(let subscription, _) = self { subscription } else { nil }
    }
}

extension ModificationReply {
    /// The subscription; nil: it was not modified.
    var subscription: ItemSubscription? {
        if case .modified(let subscription) = self { subscription } else { nil }
    }
}
