import Basis
import Encodings
import JSON
import Model
import Postgres
import QueueRules
import Reactor
import RegistryRules
import Signing
import Store
import Synchronization
import TestSupport
import Testing
import WakeUpRules
import WakeUpStore

/// A database with subscriptions, and what its fan-outs tell them.
struct FanOutWorld {
    let world: StoreWorld
    private let clock = LaterClock()

    init(world: StoreWorld) { self.world = world }

    /// A clock that is ahead of the writes, long before a subscription expires.
    private final class LaterClock: Sendable {
        private let last = Mutex(Clocks.wallNow() + .seconds(86_400))

        /// Longer than any watch waits for its next round.
        private static let wait: Duration = .seconds(10)

        var now: WallInstant { last.withLock { $0 } }

        func next(after wait: Duration = wait) -> WallInstant {
            last.withLock { last in
                last = last + wait
                return last
            }
        }
    }

    var now: WallInstant { clock.now }
    /// Longer than the clock goes on in any step of a test, and shorter than a push lives.
    static let longestWait: Duration = .seconds(3_600)
    func waitLongest() { _ = clock.next(after: Self.longestWait) }

    func put(_ path: String, _ json: String) async throws {
        try await write(TreeWrite.put(JSONReader.read(Array(json.utf8)), at: NodePath(stored: path)))
    }

    func patch(_ path: String, _ json: String) async throws {
        guard case .object(let members) = try JSONReader.read(Array(json.utf8)) else { return }
        try await write(TreeWrite.patch(members, at: NodePath(stored: path)))
    }

    private func write(_ write: TreeWrite) async throws {
        let policy = NodeStore.WritePolicy(gather: .seconds(1))
        let result = await world.wakeUpStores.nodes.write([write], app: world.app, policy, sha256: Hashes.sha256)
        #expect(try result.replies.map { try $0.get() } == [.written])
    }

    /// Leases the next parcel, and never settles it: its devices can't be reached.
    func hold() async throws { _ = try await world.lease(at: clock.next()) }

    @discardableResult
    func subscribe(
        _ device: String, _ path: String, _ mode: WakeUpMode = .noData, lifetime: Duration = .seconds(30 * 86_400),
        leavesMax: Int64 = 10_000, perAppMax: Int64? = nil, user: String? = nil, rulesRevision: Int64? = nil
    ) async throws -> SubscriptionStore.Reply {
        var request = SubscriptionStore.Request(
            app: world.app, path: NodePath(stored: path), token: Self.token(device), installation: device,
            mode: mode, lifetime: lifetime, weightBytesMax: 1 << 20, weightLeavesMax: leavesMax)
        request.rulesRevision = rulesRevision
        if let perAppMax { request.perAppMax = perAppMax }
        if let user { (request.user, request.claims) = (user, Array(#"{"sub":"\#(user)"}"#.utf8)) }
        return try await world.wakeUpStores.subscriptions.subscribe(request)
    }

    func unsubscribe(_ device: String, _ path: String, user: String = "") async throws -> Bool {
        try await world.wakeUpStores.subscriptions.unsubscribe(
            app: world.app, path: NodePath(stored: path), token: Self.token(device), installation: device, user: user)
    }

    /// Registers a device with the token with which it subscribes.
    func register(_ device: String) async throws {
        let registration = DeviceRegistration(
            installation: device, provider: .fcm, token: DeviceToken(bytes: Array(Self.token(device).utf8)))
        _ = try await world.stores.registry.register([registration], app: world.app)[0].get()
    }

    /// Retires a device's token, as after an answer that it is dead.
    func retire(_ device: String) async throws {
        let found = "SELECT id, generation, route_id FROM registrations WHERE installation = '\(device)'"
        let verdict = try await world.pool.read(query(found)).one { row throws(PostgresError) in
            let (id, generation) = (RegistrationID(try row.int64()), TokenGeneration(try row.int32()))
            return GuardedVerdict(
                registration: id, generation: generation, route: RouteID(try row.int64()),
                verdict: .unregistered(since: nil, reason: "UNREGISTERED"), asOf: Clocks.wallNow() + .seconds(60))
        }
        _ = try await world.stores.parcels.applyVerdicts([verdict])
    }

    static func token(_ device: String) -> String { "token-of-\(device)" }

    /// Runs fan-outs until no watch is due at that time.
    @discardableResult
    func fanOut(subscriptionsMax: Int = 20_000, turnsMax: Int = .max) async throws -> Int {
        let order = FanOutOrder(subscriptionsMax: subscriptionsMax, parcelMembersMax: 5_000, format: 1)
        var count = 0
        let now = clock.next()
        for _ in 0..<turnsMax {
            let reply = try await world.wakeUpStores.fanOuts.fanOut(order, now: now, contents: Self.contents)
            guard case .notified(let messages, _, _) = reply else { break }
            count += messages
        }
        return count
    }

    /// Runs one fan-out that leases its parcels where it cuts them, on the routes that are admitted.
    func fanOutLeasing(_ admit: @escaping CutAdmission) async throws -> WrittenParcels {
        let order = FanOutOrder(subscriptionsMax: 20_000, parcelMembersMax: 5_000, format: 1)
        let leases = CutOrder(owner: StoreWorld.ann, leaseFor: .seconds(60), parcelMembersMax: 5_000)
        let leasing = CutLeasing(order: leases, admit: admit, lost: { _ in })
        return try await world.wakeUpStores.fanOuts.fanOut(
            order, leasing: leasing, now: clock.next(), contents: Self.contents
        ).written
    }

    /// Makes a change while one round of a fan-out has read its subscriptions and waits to write its messages.
    ///
    /// - Returns: the number of messages.
    func fanOut(beside change: @escaping @Sendable () async throws -> Void) async throws -> Int {
        let pool = world.pool
        let waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        let fanOut = try await pool.transaction { transaction throws(PostgresError) -> Task<Int, any Error> in
            _ = try await transaction.run(query("LOCK TABLE messages IN SHARE MODE"))
            let fanOut = Task { try await self.fanOut(turnsMax: 1) }
            while try await pool.number(waiting) < 1 { await Task.yield() }
            do { try await change() } catch { Issue.record(error) }
            return fanOut
        }
        return try await fanOut.value
    }

    /// Ends the subscriptions that are to end, with their notices.
    @discardableResult
    func revoke(after wait: Duration = .zero) async throws -> Int {
        let order = FanOutOrder(subscriptionsMax: 20_000, parcelMembersMax: 5_000, format: 1)
        var count = 0
        while case .notified(_, let subscriptions, _) = try await world.wakeUpStores.fanOuts.revoke(
            order, now: Clocks.wallNow() + wait, contents: Self.contents)
        { count += subscriptions }
        return count
    }

    func setRules(_ rules: String) async throws {
        try await world.wakeUpStores.access.setRules(rules, of: world.app)
    }

    private static let contents = FanOutContents(change: content) { group in
        message("\(group.address.app): \(group.reason.name) \(group.address.path.text)")
    }

    private static func message(_ text: String) -> FanOutContent {
        let id = MessageID(UUIDv7.make(at: Clocks.wallNow(), random: (Entropy.uint64(), Entropy.uint64())))
        return FanOutContent(
            id: id, content: Array(text.utf8), pushType: .background, lifetime: .seconds(30 * 86_400))
    }

    /// A message whose content says in words what its receivers are told.
    private static let content: @Sendable (FanOutGroup) -> FanOutContent? = { group in
        let text: String
        switch group.mode {
        case .noData: text = "changed"
        case .value:
            guard case .json(let json) = group.watch.data else { return nil }
            text = String(decoding: json, as: UTF8.self)
        case .childEvent:
            guard let changes = group.changes else {
                text = "too big"
                break
            }
            if changes.isEmpty { return nil }
            let parts = changes.added.map { "+" + $0.key } + changes.changed.map { "~" + $0.key }
            text = (parts + changes.removed.map { "-" + $0 }).joined(separator: " ")
        }
        return message(text)
    }

    /// The texts that were cut for devices and have not ended, each as "device: text".
    func waiting() async throws -> [String] {
        let rows = try await world.pool.read(
            query(
                """
                SELECT p.members, p.settled, p.member_count, c.content
                FROM parcels p JOIN message_contents c ON c.message_id = p.message_id ORDER BY p.id
                """))
        var told: [String] = []
        for place in 0..<rows.rowCount {
            var row = rows.row(place)
            let ids = try MemberList.decode(try row.bytes())
            row.skip(2)
            let text = String(decoding: try row.bytes(), as: UTF8.self)
            for id in ids {
                let name = try await world.pool.read(query("SELECT installation FROM registrations WHERE id = \(id)"))
                told.append(try name.one { row throws(PostgresError) in try row.text() } + ": " + text)
            }
        }
        return told.sorted()
    }

    /// Ends all pushes that are under way, as accepted unless the test says otherwise.
    func receive(as status: TerminalStatus = TerminalStatus(.accepted)) async throws {
        let now = clock.next()
        while let parcel = try await world.lease(at: now) {
            let settled = await world.stores.parcels.settle([parcel.settlingAll(as: status)], now: now)
            #expect(try settled[0].get() == .settled)
        }
    }

    /// Lets the provider answer all pushes that wait, and judges their tokens.
    func answer(_ outcome: Outcome) async throws {
        let rule = SuspicionRule(window: .seconds(3_600), shareMax: 0.2, sampleMin: 50)
        let now = clock.next()
        var parcels: [LeasedParcel] = []
        while let parcel = try await world.lease(at: now) { parcels.append(parcel) }
        for parcel in parcels {
            let leasedAt = MonotonicInstant(nanoseconds: 0)
            var run = ParcelRun(parcel: parcel, leasedAt: leasedAt, policy: RetryPolicy(), isRepeatable: true)
            for position in parcel.members.indices where parcel.members[position].status == .present {
                run.record(outcome, for: position, now: leasedAt)
            }
            let settlement = run.takeSettlement()
            let pending = try #require(settlement)
            _ = try await world.stores.parcels.applyVerdicts(pending.verdicts, under: rule, now: now)
            let replies = await world.stores.parcels.settle([pending.settlement], now: now)
            #expect(try replies[0].get() == .settled)
        }
    }

    /// Sends all pushes that wait. Returns what devices get, each as "device: text": none whose subscription has ended.
    func send() async throws -> [String] {
        let now = clock.next()
        var sent: [String] = []
        while let parcel = try await world.lease(at: now) {
            let content = try await world.pool.read(
                query("SELECT content FROM message_contents WHERE message_id = '\(parcel.message.value.text)'"))
            let text = String(decoding: try content.one { row throws(PostgresError) in try row.bytes() }, as: UTF8.self)
            for member in parcel.members where member.status == .present {
                let name = "SELECT installation FROM registrations WHERE id = \(member.registration.value)"
                let found = try await world.pool.read(query(name))
                sent.append(try found.one { row throws(PostgresError) in try row.text() } + ": " + text)
            }
            _ = await world.stores.parcels.settle([parcel.settlingAll(as: TerminalStatus(.accepted))], now: now)
        }
        return sent
    }

    func dueWatches() async throws -> Int { try await world.number("SELECT count(*) FROM due_watches") }
}

func withFanOuts(
    pool: PoolSettings = .patient, _ body: (FanOutWorld) async throws -> Void
) async throws {
    try await withStores(pool: pool) { stores in
        let world = FanOutWorld(world: stores)
        try await world.setRules(#"{".read": true}"#)
        var change = AppChange()
        change.wakeUp.isEnabled = true
        _ = try await stores.stores.registry.changeApp(stores.app, change)
        try await body(world)
    }
}
