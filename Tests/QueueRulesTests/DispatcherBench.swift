import Basis
import LaneRules
import Model
import QueueRules

/// A dispatcher with a test clock, and short functions for the events that tests report.
struct DispatcherBench {
    static let lane = LaneKey(CredentialID(1))
    static let exit = LaneTarget(lane, PushTarget(.apns, "com.example.app"))
    static let settings = bounded(laneMembersMax: 5, membersMax: 8, membersReserve: 0, pollEvery: .seconds(5))

    static func bounded(
        laneMembersMax: Int, membersMax: Int, membersReserve: Int, pollEvery: Duration = .seconds(1)
    ) -> DispatcherSettings {
        var settings = usual
        settings.pollEvery = pollEvery
        (settings.laneMembersMax, settings.membersMax) = (laneMembersMax, membersMax)
        settings.membersReserve = membersReserve
        return settings
    }

    /// The limits used in production.
    static let usual = DispatcherSettings(leaseLength: .seconds(60), requestDeadline: .seconds(20))

    var dispatcher: Dispatcher
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// Lanes whose providers can't be reached.
    var blocked: [LaneKey] = []

    init(settings: DispatcherSettings = settings) {
        dispatcher = Dispatcher(settings: settings, now: now)
    }

    static func route(
        _ id: Int64, app: Int64 = 1, hasOrdinary: Bool = true, hasUrgent: Bool = false, hasLapsed: Bool = false
    ) -> ReadyRoute {
        ReadyRoute(
            route: RouteID(id), app: AppID(app), provider: .apns, environment: .production, topic: "",
            hasOrdinary: hasOrdinary, hasUrgent: hasUrgent, hasLapsed: hasLapsed)
    }

    @discardableResult
    mutating func report(_ event: DispatchEvent) -> [DispatchAction] { dispatcher.handle(event, now: now) }

    @discardableResult
    mutating func pass(_ time: Duration) -> [DispatchAction] {
        now = now + time
        return report(.timer)
    }

    /// Polls and finds work on these routes, which all use the lane. Returns the actions that follow.
    @discardableResult
    mutating func find(_ routes: [ReadyRoute], lane: LaneKey? = lane) -> [DispatchAction] {
        report(.timer)
        var actions = report(.polled(routes))
        for lane in blocked { actions += report(Self.blocked(lane)) }
        for route in routes { actions += report(Self.resolved(route.serviceRoute, lane)) }
        return actions
    }

    static func resolved(_ serviceRoute: ServiceRoute, _ lane: LaneKey?) -> DispatchEvent {
        .resolved(serviceRoute, lane.map { .leaves(LaneTarget($0, exit.target)) } ?? .uncovered)
    }

    static func blocked(_ lane: LaneKey = lane) -> DispatchEvent {
        .lane(lane, .blocked(.unreachable, reason: "name not known"))
    }

    /// Finds one route and leases this parcel from it.
    @discardableResult
    mutating func lease(
        _ parcel: LeasedParcel = ParcelRunSamples.parcel(), isRepeatable: Bool = true
    ) -> [DispatchAction] {
        let route = DispatcherBench.route(parcel.route.value, app: parcel.app.value)
        guard let request = find([route]).leaseRequests.last else { return [] }
        return report(.leased([ReadParcel(parcel, isRepeatable ? .repeatable : .unrepeatable)], asked: request))
    }

    /// Reports that the provider accepted these positions.
    @discardableResult
    mutating func accept(_ positions: [Int32], of name: LeaseName = name) -> [DispatchAction] {
        report(.answered([AnsweredLease(name, accepted: positions, others: [])]))
    }

    func request(_ route: Int64, lane: LaneKey? = lane, _ scope: LeaseScope = .ordinary) -> LeaseRequest {
        LeaseRequest(
            serviceRoute: ServiceRoute(RouteID(route)), exit: lane.map { LaneTarget($0, Self.exit.target) },
            startedAt: now, scope: scope)
    }

    static let name = LeaseName(parcel: ParcelID(1), epoch: 1)
}

extension [DispatchAction] {
    var leaseRequests: [LeaseRequest] {
        compactMap { action in
            if case .lease(let request) = action { request } else { nil }
        }
    }

    var settles: [(name: LeaseName, pending: PendingSettle, withVerdicts: Bool)] {
        compactMap { action in
            if case .settle(let name, let pending, let withVerdicts) = action {
                (name, pending, withVerdicts)
            } else {
                nil
            }
        }
    }

    var submitted: [Int32] {
        flatMap { action in
            if case .submit(_, _, let positions, _) = action { positions } else { [Int32]() }
        }
    }

    var withdrawn: [LeaseName] {
        compactMap { action in
            if case .withdraw(let name, _) = action { name } else { nil }
        }
    }

    var reportedBreakers: [MonotonicInstant] {
        compactMap { action in
            if case .lane(_, .report(let wait?, before: _)) = action { wait.until } else { nil }
        }
    }
}
