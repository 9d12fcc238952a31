import Basis
import Model
import Postgres
import QueueRules
import RegistryRules
import Store
import Testing
import TriggerStore
import WakeUpStore
import Worlds

/// A random sequence of operations, performed on the simulated store and on PostgreSQL with the same times.
struct ConformanceRun {
    let seed: UInt64
    let pool: PostgresPool
    let stores: Stores
    let wakeUpStores: WakeUpStores
    let triggerStores: TriggerStores
    var random: SeededRandom
    var simulated = SimulatedStore()
    var now = WallInstant(secondsSince1970: 1_793_448_000)
    let apps: [AppID]
    var messages: [MessageID] = []
    /// Leases that an owner holds, or believes it holds.
    var runs: [HeldRun] = []
    var pastSettlements: [Settlement] = []
    /// The number of leases that took several parcels and deferred some members by limits.
    var groupsDeferred = 0
    /// The number of settles of several parcels that left members to a remainder.
    var groupsLeavingSome = 0
    /// The active credentials. Never iterated.
    var credentials: [SenderName: CredentialID] = [:]
    var cursors: [(real: FeedbackCursor?, simulated: Int64)]
    /// The messages of the gateway so far.
    var wakeUps: UInt64 = 0
    /// The number of wake-ups that told somebody something.
    var told = 0
    /// The number of watches that fan-outs left in the middle of their subscriptions.
    var slices = 0
    /// The keys of subscriptions to items, by their ids. Never iterated.
    var itemKeys: [Int64: UniversalID] = [:]
    /// The number of triggers that fired, of pushes of items that were cut, and of pushes that were held at some step.
    var fired = 0
    var itemPushes = 0
    var held = 0
    /// The operations so far, for the report.
    var pushHistory: [String] = []

    struct HeldRun: Sendable {
        var run: ParcelRun
        let owner: ProcessID
    }

    struct SenderName: Hashable, Sendable {
        let app: AppID
        let environment: PushEnvironment
        let service: TopicService?
    }

    static let stepsPerRun = 270
    static let leaseFor: Duration = .seconds(60)
    static let rule = SuspicionRule(window: .seconds(120), shareMax: 0.3, sampleMin: 3)

    /// Empties the database first and restarts its identities, so that ids match those of the simulated store.
    init(seed: UInt64, pool: PostgresPool) async throws {
        self.seed = seed
        self.pool = pool
        random = SeededRandom(seed: seed)
        stores = Stores(pool: pool)
        wakeUpStores = WakeUpStores(beside: stores)
        triggerStores = TriggerStores(beside: stores)
        try await pool.script(
            """
            TRUNCATE apps, registrations, registration_pulse, registration_tags, messages, message_contents,
            message_providers, parcels, push_history, user_days, project_senders, nodes, watches, watch_changes,
            due_watches, subscriptions, subscription_progress, idle_subscribers, unproven_subscribers,
            former_users, own_values, items, push_templates, item_subscriptions, item_followers, armed, armed_other,
            held_pushes, device_windows, item_due
            RESTART IDENTITY CASCADE
            """)
        var made: [AppID] = []
        for slug in ["alpha", "beta"] { made.append(try await stores.registry.createApp(slug: slug, name: slug).id) }
        apps = made
        cursors = made.map { _ in (nil, 0) }
        try await enableWakeUps()
    }

    /// Returns nil where the two stores agree to the end, otherwise the first difference and the steps before it.
    mutating func run() async throws -> String? {
        for _ in 1...4 { _ = try await changeSender() }
        for _ in 1...2 where random.happens(perMille: 500) { _ = try await changeLimits() }
        for number in 1...Self.stepsPerRun {
            now =
                now
                + random.pick([.zero, .microseconds(1), .milliseconds(300), .seconds(1), .seconds(31), .seconds(70)])
            if let difference = try await step() { return report(number, difference) }
            if let difference = try await compareStates() { return report(number, difference) }
        }
        return nil
    }

    private func report(_ step: Int, _ difference: String) -> String {
        (["seed \(seed), step \(step): \(difference)"] + pushHistory.suffix(12)).joined(separator: "\n")
    }

    private mutating func step() async throws -> String? {
        switch random.below(100) {
        case _ where random.happens(perMille: 260): try await useItems()
        case _ where random.happens(perMille: 300): try await wake()
        case 0..<19: try await register()
        case 19..<20: try await askQuota()
        case 20..<21: try await changeSender()
        case 21..<22: try await changeLimits()
        case 22..<25: try await remove()
        case 25..<27: try await crowd()
        case 27..<28: try await changeBadge()
        case 28..<30: try await undo()
        case 30..<35: try await accept()
        case 35..<37: try await cut()
        case 37..<48: try await plan()
        case 48..<64: try await lease()
        case 64..<74: try await answerAndSettle()
        case 74..<78: try await settleTogether()
        case 78..<82: try await settleAgain()
        case 82..<85: try await renew()
        case 85..<90: try await rescue()
        case 90..<93: try await judge()
        case 93..<95: try await confirm()
        case 95..<97: try await control()
        case 97..<98: try await carryOut()
        case 98..<99: try await fallDue()
        default: try await compare()
        }
    }

    private func compareStates() async throws -> String? {
        let real = try await StateText.lines(of: pool)
        let expected = StateText.lines(of: simulated)
        guard real != expected else { return nil }
        for place in 0..<max(real.count, expected.count) {
            let stored = place < real.count ? real[place] : "nothing"
            let wanted = place < expected.count ? expected[place] : "nothing"
            if stored != wanted { return "the states differ\n  PostgreSQL: \(stored)\n  simulated:  \(wanted)" }
        }
        return nil
    }

    /// Compares two replies in full.
    func differ<Reply: Equatable>(_ operation: String, _ real: Reply, _ expected: Reply) -> String? {
        real == expected ? nil : "\(operation) answers differ\n  PostgreSQL: \(real)\n  simulated:  \(expected)"
    }
}
