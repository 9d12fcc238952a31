import Basis
import Encodings
import Model
import Postgres
import QueueRules
import Reactor
import RegistryRules
import Store
import TestSupport
import Testing
import WakeUpStore

/// One test's database with one app, and the operations that tests use.
///
/// Time is an argument and starts on a fixed day. A test that passes no time happens in one instant.
struct StoreWorld {
    static let dawn = WallInstant(secondsSince1970: 1_793_448_000)
    static let topic = "com.example.app"
    static let ann = ProcessID(UniversalID(high: 1, low: 1))
    static let bob = ProcessID(UniversalID(high: 2, low: 2))

    let pool: PostgresPool
    let stores: Stores
    let wakeUpStores: WakeUpStores
    let app: AppID
    let settings: PostgresSettings

    /// A message id that rises with its number.
    static func message(_ number: UInt64) -> MessageID {
        MessageID(UniversalID(high: 0x0192_0000_0000_7000 | number, low: 0x8000_0000_0000_0000))
    }

    /// The half that all tokens share, so that a search finds them in a log.
    private static let sharedBytes: [UInt8] = (16..<32).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    static let endOfTokens = Hexadecimal.text(sharedBytes)

    static func token(_ seed: Int) -> DeviceToken {
        let own = (0..<16).map { UInt8(truncatingIfNeeded: ($0 &* 37) ^ (seed >> (($0 & 3) * 8))) }
        return DeviceToken(bytes: own + sharedBytes)
    }

    static func registration(
        _ installation: String, token seed: Int, environment: PushEnvironment = .production, kind: TokenKind = .alert
    ) -> DeviceRegistration {
        DeviceRegistration(
            installation: installation, kind: kind, provider: .apns, environment: environment, topic: topic,
            token: token(seed))
    }

    @discardableResult
    func register(
        _ registration: DeviceRegistration, app: AppID? = nil, at now: WallInstant = dawn
    ) async throws -> RegisteredDevice {
        let app = app ?? self.app
        let device = try await insisting {
            try await stores.registry.register([registration], app: app, now: now)[0].get()
        }
        // The answer equals the stored record, whichever way it was built.
        let stored = try await stores.registry.devices(app: app, installation: device.record.installation)
        #expect(stored.contains(device.record), "the answer was \(device.record), but \(stored) is stored")
        return device
    }

    /// Registers the installations "i<number>" of the range, each with the token of its number.
    @discardableResult
    func register(
        _ range: ClosedRange<Int>, environment: PushEnvironment = .production, at now: WallInstant = dawn
    ) async throws -> [RegistrationID] {
        let batch = range.map { StoreWorld.registration("i\($0)", token: $0, environment: environment) }
        return try await insisting {
            try await stores.registry.register(batch, app: app, now: now).map { try $0.get().record.id }
        }
    }

    /// Repeats a contended call, as callers do after a lock or a slow disk held it up.
    func insisting<Answer>(_ ask: () async throws -> Answer) async throws -> Answer {
        for _ in 1...20 {
            do { return try await ask() } catch StoreFault.contended {}
        }
        return try await ask()
    }

    /// Creates another app in the same database.
    func neighbour() async throws -> StoreWorld {
        let app = try await stores.registry.createApp(slug: "harbour", name: "Harbour")
        return StoreWorld(
            pool: pool, stores: stores, wakeUpStores: wakeUpStores, app: app.id, settings: settings)
    }

    func newMessage(
        _ number: UInt64 = 1, urgency: MessageUrgency = .bulk, badge: BadgeChange = .none,
        audience: Audience = .all, lifetime: Duration = .seconds(3_600), format: Int16 = 1, pushType: PushType = .alert,
        readsLocale: Bool = false, idempotency: IdempotentAnswer? = nil
    ) -> NewMessage {
        NewMessage(
            id: StoreWorld.message(number), app: app, format: format, urgency: urgency, kind: .alert, badge: badge,
            lifetime: lifetime, content: Array(#"{"push_type":1}"#.utf8), audience: audience,
            readsLocale: readsLocale, pushType: pushType, idempotency: idempotency)
    }

    /// Accepts a message and plans it completely.
    @discardableResult
    func send(
        _ message: NewMessage, parcelMembersMax: Int = 5_000, at now: WallInstant = dawn
    ) async throws -> MessageID {
        #expect(try await stores.messages.accept([message], now: now) == .accepted)
        while true {
            let reply = try await stores.messages.plan(
                atMost: 1, parcelMembersMax: parcelMembersMax, knownFormats: [1], now: now)
            guard let slice = reply.slice else { break }
            if slice.isPlanned && slice.message == message.id { break }
        }
        return message.id
    }

    func route(_ environment: PushEnvironment = .production) async throws -> RouteID {
        let rows = try await pool.read(
            query("SELECT id FROM routes WHERE app_id = :app AND environment = :environment") {
                $0.int64("app", app.value)
                $0.int16("environment", environment.rawValue)
            })
        return RouteID(try rows.one(Int64.init))
    }

    func lease(
        owner: ProcessID = ann, on environment: PushEnvironment = .production, formats: [Int16] = [1],
        scope: LeaseScope = .ordinary, at now: WallInstant = dawn
    ) async throws -> LeasedParcel? {
        let order = LeaseOrder(
            route: try await route(environment), owner: owner, leaseFor: .seconds(60), knownFormats: formats,
            scope: scope)
        return try await stores.parcels.lease(order, LeaseGroup(parcelsMax: 1, membersMax: 1), now: now).parcel
    }

    /// All members in the parcels of a message, in rising order.
    func members(of message: MessageID) async throws -> [Int64] {
        let rows = try await pool.read(
            query("SELECT members FROM parcels WHERE message_id = :message") { $0.uuid("message", message.value) })
        return try rows.map { row throws(PostgresError) in try row.bytes() }.flatMap(MemberList.decode).sorted()
    }

    func account(_ id: MessageID = message(1)) async throws -> MessageAccount {
        try #require(try await stores.messages.account(app: app, id: id))
    }

    func device(_ installation: String) async throws -> DeviceRecord {
        try #require(try await stores.registry.devices(app: app, installation: installation).first)
    }

    /// How PostgreSQL refuses a statement; nil: it does not.
    func refusal(of sql: String) async -> SQLState? {
        do {
            try await pool.script(sql)
            return nil
        } catch { return error.sqlState }
    }

    /// The same, while another transaction that ran `first` is open.
    func refusal(of sql: String, beside first: String) async throws(PostgresError) -> SQLState? {
        try await pool.transaction { transaction throws(PostgresError) -> SQLState? in
            _ = try await transaction.run(query(first))
            let refusal = await refusal(of: "SET LOCAL lock_timeout = '20ms'; \(sql)")
            return await transaction.abandon(returning: refusal)
        }
    }

    func number(_ sql: String) async throws -> Int {
        try await pool.number("SELECT (\(sql))::int8")
    }

    /// The whole feed, once no transaction that could still write to it is running.
    func feed() async throws -> [FeedbackItem] {
        let rows = try await number("SELECT count(*) FROM feedback WHERE app_id = \(app.value)")
        let limit = Clocks.monotonicNow() + .seconds(60)
        while true {
            let items = try await stores.feedback.page(app: app, limit: 10_000).items
            if items.count == rows { return items }
            try #require(Clocks.monotonicNow() < limit, "the feedback never showed its last rows")
            await Task.yield()
        }
    }
}

/// Gives a test a database and an app of its own.
func withStores(
    steps: (any StepListener)? = nil, pool: PoolSettings = .patient,
    _ body: (StoreWorld) async throws -> Void
) async throws {
    let settings = try await StoreServer.makeDatabase()
    try await withPool(settings, pool: pool) { pool in
        let stores = Stores(pool: pool, ServiceContext(steps: steps))
        let app = try await stores.registry.createApp(slug: "clock-tower", name: "Clock tower")
        try await body(
            StoreWorld(
                pool: pool, stores: stores, wakeUpStores: WakeUpStores(beside: stores), app: app.id,
                settings: settings))
    }
}

extension Lease {
    /// The first parcel, where one is expected at most.
    var parcel: LeasedParcel? { parcels.first }
}

extension PlanReply {
    /// The slice of a message that was planned alone.
    var slice: PlannedSlice? {
        if case .planned(let slices) = self, slices.count == 1 { slices[0] } else { nil }
    }
}

/// Returns the fault that the work throws.
func fault<Answer>(_ work: () async throws(StoreFault) -> Answer) async -> StoreFault? {
    do throws(StoreFault) {
        _ = try await work()
        return nil
    } catch { return error }
}

extension LeasedParcel {
    var indices: [Int32] { members.map(\.index) }

    /// A settlement of some members, by their positions in `members`.
    func settling(
        _ terminalCounts: [(Range<Int>, TerminalStatus)], remainders: [Remainder] = [], settles: Int32? = nil,
        sample: AnswerSample = AnswerSample(), complaint: MessageComplaint? = nil
    ) -> Settlement {
        var bits = MemberBitmap(bytes: settledBits, count: memberCount) ?? MemberBitmap(count: memberCount)
        var settled = 0
        for (range, _) in terminalCounts {
            for place in range { bits[Int(members[place].index)] = true }
            settled += range.count
        }
        for remainder in remainders {
            for id in remainder.members {
                if let member = members.first(where: { $0.registration == id }) { bits[Int(member.index)] = true }
            }
            settled += remainder.members.count
        }
        return Settlement(
            parcel: id, message: message, route: route, epoch: epoch, settles: settles ?? self.settles,
            terminalCounts: terminalCounts.map { TerminalCount(terminalStatus: $0.1, count: $0.0.count) },
            settledBits: bits.bytes,
            remainders: remainders, pendingAfter: members.count - settled, sample: sample,
            history: terminalCounts.map {
                HistoryEntry(.ended($0.1), attempts: attempt + 1, members: members[$0.0].map(\.registration))
            }
                + remainders.map {
                    HistoryEntry(.goesOn($0.cause), attempts: $0.attempt, members: $0.members)
                }, badgeSet: badgeSet, complaint: complaint)
    }

    func settlingAll(as terminalStatus: TerminalStatus = TerminalStatus(.accepted)) -> Settlement {
        settling([(0..<members.count, terminalStatus)])
    }

    func remainder(
        _ range: Range<Int>, route: RouteID? = nil, after: Duration = .zero, attempt: Int16 = 1
    ) -> Remainder {
        Remainder(
            route: route ?? self.route, dueAfter: after, attempt: attempt, lapses: 0, retrySpent: .seconds(3),
            answerLost: true, cause: .providerBusy, members: members[range].map(\.registration))
    }
}

extension StoreWorld {
    /// Uses the database's clock if no time is given.
    func progress(_ number: UInt64 = 1, at now: WallInstant? = nil) async throws -> MessageProgress {
        try #require(try await stores.messages.progress(app: app, id: StoreWorld.message(number), now: now))
    }

    func waits(_ number: UInt64 = 1, at now: WallInstant? = nil) async throws -> [PushWait] {
        try await progress(number, at: now).waits
    }
}

extension MessageStore {
    /// Plans with the sizes of the default settings, unless a test names others.
    func plan(
        atMost limit: Int = plannedTogetherMax, idsMax: Int? = nil, parcelMembersMax: Int? = nil,
        knownFormats: [Int16], _ urgencies: PlannedUrgencies = PlannedUrgencies(), now: WallInstant? = nil
    ) async throws(StoreFault) -> PlanReply {
        try await plan(
            atMost: limit, idsMax: idsMax ?? 20_000, parcelMembersMax: parcelMembersMax ?? 5_000,
            knownFormats: knownFormats, urgencies, now: now)
    }
}

extension Retention {
    /// The default settings.
    init() { self.init(historyDays: 30, contentDays: 30, feedbackDays: 365) }
}

extension Sweeper {
    func sweep(now: WallInstant? = nil) async throws(StoreFault) -> Int { try await sweep(Retention(), now: now) }
}

extension ParcelStore {
    /// Judges by the default settings.
    func applyVerdicts(
        _ verdicts: [GuardedVerdict], now: WallInstant? = nil
    ) async throws(StoreFault) -> VerdictReport {
        let rule = SuspicionRule(window: .seconds(600), shareMax: 0.2, sampleMin: 50)
        return try await applyVerdicts(verdicts, under: rule, now: now)
    }
}
