import Basis
import Model
import QueueRules
import RegistryRules
import Testing
import Worlds

/// Scenarios that a world once found, replayed on the simulated store. `ConformanceTests` proves that PostgreSQL does
/// the same.
@Suite("The simulated registry and queue")
struct SimulatedStoreTests {
    @Test("retire no token for a message that fails entirely as BadDeviceToken")
    func wave() {
        var store = SimulatedStore()
        for number in 1...40 { store.register(.sample(number), app: AppID(1), now: Self.dawn) }
        let victims = store.registrations.map { suspicion(of: $0) }
        let wave = AnswerSample(answered: 40, suspected: 40)
        store.count(wave, on: RouteID(1), Self.dawn + .seconds(5))
        _ = store.applyVerdicts(victims, under: Self.rule, now: Self.dawn + .seconds(5))
        for hour in Int64(1)...48 {
            let now = Self.dawn + .seconds(hour * 3_600 + 120)
            store.count(AnswerSample(answered: 500), on: RouteID(1), now)
            #expect(store.confirmSuspicions(Self.rule, now: now).retired == 0)
        }
    }

    @Test("confirm a single suspicion among good answers at the end of its window")
    func lonelyDoubt() {
        var store = SimulatedStore()
        store.register(.sample(1), app: AppID(1), now: Self.dawn)
        store.count(AnswerSample(answered: 50, suspected: 1), on: RouteID(1), Self.dawn)
        _ = store.applyVerdicts(store.registrations.map { suspicion(of: $0) }, under: Self.rule, now: Self.dawn)
        #expect(store.confirmSuspicions(Self.rule, now: Self.dawn + .seconds(3_599)).retired == 0)
        #expect(store.confirmSuspicions(Self.rule, now: Self.dawn + .seconds(3_600)).retired == 1)
    }

    /// Seed 409 of the first worlds found the bug: the badge was raised for live members only, the badge mark set for
    /// all.
    @Test("give a device that returns between two leases its badge with the push")
    func badgeOfReturned() throws {
        var store = SimulatedStore()
        store.register(.sample(1), app: AppID(1), now: Self.dawn)
        let message = SimulatedMessage(
            id: MessageID(UniversalID(high: 1, low: 1)), app: AppID(1), urgency: .bulk, badge: .increment,
            lifetime: .seconds(3_600), audience: .all)
        store.accept(message, now: Self.dawn)
        _ = store.plan(atMost: 1, idsMax: 10, parcelMembersMax: 10, knownFormats: [1], now: Self.dawn)
        let gone = GuardedVerdict(
            registration: RegistrationID(1), generation: TokenGeneration(1), route: RouteID(1),
            verdict: .unregistered(since: nil, reason: "Unregistered"), asOf: Self.dawn)
        _ = store.applyVerdicts([gone], under: Self.rule, now: Self.dawn)
        let first = try #require(lease(&store, at: Self.dawn))
        #expect(first.members.map(\.status) == [.retired])
        store.register(.sample(1), app: AppID(1), now: Self.dawn + .seconds(30))
        store.rescue(now: Self.dawn + .seconds(61))
        let second = try #require(lease(&store, at: Self.dawn + .seconds(62)))
        #expect(second.members.map(\.status) == [.present])
        #expect(second.members.map(\.badge) == [1])
    }

    @Test("keep a later message's increment of a badge that was set after the first one's")
    func setBetween() throws {
        var store = SimulatedStore()
        store.register(.sample(1), app: AppID(1), now: Self.dawn)
        var leased: [LeasedParcel] = []
        for number in UInt64(1)...2 {
            let message = SimulatedMessage(
                id: MessageID(UniversalID(high: 1, low: number)), app: AppID(1), urgency: .bulk, badge: .increment,
                lifetime: .seconds(3_600), audience: .all)
            store.accept(message, now: Self.dawn)
            _ = store.plan(atMost: 1, idsMax: 10, parcelMembersMax: 10, knownFormats: [1], now: Self.dawn)
            leased.append(try #require(lease(&store, at: Self.dawn)))
            if number == 1 { store.setBadge(0, app: AppID(1), installation: "phone-1") }
        }
        for parcel in leased {
            let start = MonotonicInstant(nanoseconds: 0)
            var run = ParcelRun(parcel: parcel, leasedAt: start, policy: RetryPolicy(), isRepeatable: true)
            run.record(.rejected(Rejection(fault: .message, reason: "PayloadTooLarge")), for: 0, now: start)
            let pending = run.takeSettlement()
            let settlement = try #require(pending).settlement
            let replies = store.settle([settlement], now: Self.dawn)
            #expect(replies == [.settled])
            #expect(store.registrations.map(\.badge) == [parcel == leased[0] ? 1 : 0])
        }
    }

    private static let rule = SuspicionRule(window: .seconds(3_600), shareMax: 0.2, sampleMin: 20)
    private static let dawn = WallInstant(secondsSince1970: 1_800_000_000)

    private func lease(_ store: inout SimulatedStore, at now: WallInstant) -> LeasedParcel? {
        let order = LeaseOrder(
            route: RouteID(1), owner: ProcessID(UniversalID(high: 1, low: 1)), leaseFor: .seconds(60),
            knownFormats: [1])
        return store.lease(order, now: now).parcels.first
    }

    private func suspicion(of row: RegistrationRow) -> GuardedVerdict {
        GuardedVerdict(
            registration: row.id, generation: row.stored.generation, route: row.stored.route,
            verdict: .suspected(reason: "BadDeviceToken"), asOf: row.registeredAt)
    }
}

extension DeviceRegistration {
    fileprivate static func sample(_ number: Int) -> DeviceRegistration {
        DeviceRegistration(
            installation: "phone-\(number)", provider: .apns, token: DeviceToken(bytes: [UInt8(number), 1, 2, 3]))
    }
}
