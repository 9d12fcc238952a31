import Basis
import CAllocationCounter
import Model
import QueueRules
import Reactor
import Testing

/// Measures the cost of an event while the dispatcher holds many parcels, in allocations. They are counted, so the limit
/// holds on every machine.
@Suite("A dispatcher that holds thousands of small parcels", .timeLimit(.minutes(5)))
struct DispatcherCostTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private static let lane = LaneKey(CredentialID(1))

    private static func name(_ id: Int) -> LeaseName { LeaseName(parcel: ParcelID(Int64(id)), epoch: 1) }

    private static func parcel(_ id: Int) -> LeasedParcel {
        let member = LeasedMember(
            index: 0, registration: RegistrationID(Int64(id)), status: .present, generation: TokenGeneration(1),
            badge: 1, tokenStart: 0, tokenCount: 8, isSuspected: false)
        return LeasedParcel(
            id: ParcelID(Int64(id)), message: MessageID(UniversalID(high: 1, low: UInt64(id))), app: AppID(1),
            route: RouteID(1), epoch: 1, settles: 0, attempt: 0, lapses: 0, retrySpent: .zero, answerLost: false,
            urgency: .transactional, expiresAt: WallInstant(secondsSince1970: 1_800_086_400),
            leasedAt: WallInstant(secondsSince1970: 1_800_000_000), memberCount: 1, members: [member],
            tokens: [UInt8](repeating: 0xAB, count: 8), settledBits: [])
    }

    /// Makes a dispatcher that holds `count` parcels, all of them sent.
    private static func dispatcher(_ count: Int) throws -> Dispatcher {
        var settings = DispatcherSettings(leaseLength: .seconds(60), requestDeadline: .seconds(20))
        (settings.laneParcelsMax, settings.parcelsMax) = (20_000, 20_000)
        var dispatcher = Dispatcher(settings: settings, now: start)
        let route = ReadyRoute(
            route: RouteID(1), app: AppID(1), provider: .apns, environment: .production, topic: "")
        _ = dispatcher.handle(.timer, now: start)
        _ = dispatcher.handle(.polled([route]), now: start)
        let actions = dispatcher.handle(
            .resolved(route.serviceRoute, .leaves(LaneTarget(lane, PushTarget(.apns, "garden")))), now: start)
        let request = actions.compactMap { if case .lease(let request) = $0 { request } else { nil } }
        let parcels = (1...count).map { ReadParcel(parcel($0), .repeatable) }
        _ = dispatcher.handle(.leased(parcels, asked: try #require(request.first)), now: start)
        return dispatcher
    }

    /// Counts the allocations of one answer, its settle, and the queries for the next wake-up.
    private static func allocations(for id: Int, _ dispatcher: inout Dispatcher) -> Int {
        let before = allocations_of_this_thread()
        let settles = dispatcher.handle(.answered([AnsweredLease(name(id), accepted: [0], others: [])]), now: start)
        var wake = dispatcher.nextWake()
        _ = dispatcher.handle(.settled([SettledLease(name(id), .settled)]), now: start)
        wake = min(wake, dispatcher.nextWake())
        let after = allocations_of_this_thread()
        #expect(settles.count == 1 && !dispatcher.runningLeases.contains(name(id)) && wake > start)
        return after - before
    }

    @Test("handles an answer and its settle with as few allocations as beside few parcels")
    func events() throws {
        func cost(_ count: Int) throws -> Int {
            var dispatcher = try Self.dispatcher(count)
            // Parcels from the middle favour neither end of the list.
            let ids = (count / 2 - 2)...(count / 2 + 2)
            return ids.map { Self.allocations(for: $0, &dispatcher) }.sorted()[ids.count / 2]
        }
        let few = try cost(40)
        let many = try cost(4_000)
        #expect(few > 0, "the machine counted no allocations")
        #expect(many <= few, "\(few) allocations beside 40 parcels, \(many) beside 4,000")
    }
}
