import Basis
import Model
import Postgres
import QueueRules

/// A process's request for parcels.
package struct LeaseOrder: Equatable, Sendable {
    package let route: RouteID
    package let service: TopicService
    package let owner: ProcessID
    package let leaseFor: Duration
    /// The content formats that this process can encode.
    package let knownFormats: [Int16]
    package let scope: LeaseScope

    package init(
        route: RouteID, service: TopicService = .app, owner: ProcessID, leaseFor: Duration, knownFormats: [Int16],
        scope: LeaseScope = .ordinary
    ) {
        self.route = route
        self.service = service
        self.owner = owner
        self.leaseFor = leaseFor
        self.knownFormats = knownFormats
        self.scope = scope
    }
}

/// The result of a request for parcels.
package struct Lease: Equatable, Sendable {
    /// The leased parcels in their order; at most one if a quantum was asked for.
    package var parcels: [LeasedParcel] = []
    /// The time until a quantum of the route's rate-limited parcels may be leased. If a quantum was asked for, nil
    /// means that none waits. Otherwise it is zero if some parcels were found to be rate-limited, else nil.
    package var again: Duration?

    package init(_ parcel: LeasedParcel? = nil, again: Duration? = nil) {
        parcels = parcel.map { [$0] } ?? []
        self.again = again
    }

    /// The first of them.
    package var parcel: LeasedParcel? { parcels.first }
}

extension LeaseOrder {
    /// Returns the query that claims several parcels at once: ordinary ones, or only urgent ones.
    func claim(_ size: LeaseGroup, now: WallInstant?) -> Query {
        var parameters = claiming(now)
        parameters.int64(Int64(size.parcelsMax))
        parameters.int64(Int64(size.membersMax))
        return Query(scope == .urgent ? ParcelSQL.claimUrgentGroup : ParcelSQL.claimGroup, parameters)
    }

    private func claiming(_ now: WallInstant?) -> Parameters {
        var parameters = Parameters()
        parameters.int64(route.value)
        parameters.uuid(owner.value)
        parameters.int64(leaseFor.wholeMicroseconds)
        parameters.int16Array(knownFormats)
        parameters.instant(now)
        parameters.int16(service.rawValue)
        return parameters
    }

    func queries(_ passing: [MessageID], now: WallInstant?) -> [Query] {
        var parameters = claiming(now)
        if scope == .rateLimited { parameters.uuidArray(passing.map(\.value)) }
        let claim = Query(scope.claim, parameters)
        guard scope == .rateLimited else { return [Query(PlannerSQL.inKeyOrder), claim] }
        return [Query(PlannerSQL.inKeyOrder), claim, next(passing, now: now)]
    }

    /// Returns the query for the time until the route's next quantum.
    func next(_ passing: [MessageID], now: WallInstant?) -> Query {
        Query(RateSQL.next) {
            $0.int64(route.value)
            $0.instant(now)
            $0.int16Array(knownFormats)
            $0.uuidArray(passing.map(\.value))
            $0.int16(service.rawValue)
        }
    }

    /// Returns the query that moves a message's parcels out of the way of leases; nil if they may be leased.
    ///
    /// - Parameter state: the state of the claimed parcel, which has been moved already.
    func keeping(_ message: UniversalID, _ state: Int16, now: WallInstant?) -> Query? {
        if isForRate(state) { return .moving(message, by: RateSQL.wait, now: now) }
        return state == ParcelStore.onHoldState ? .holding(message) : nil
    }

    /// Whether the claimed parcel is rate-limited from now on.
    func isForRate(_ state: Int16) -> Bool { scope != .rateLimited && state == ParcelStore.rateLimitedState }
}

extension LeaseScope {
    fileprivate var claim: Statement {
        switch self {
        case .ordinary: ParcelSQL.claimOrdinary
        case .urgent: ParcelSQL.claimUrgent
        case .lapsed: ParcelSQL.claimLapsed
        case .expired: ParcelSQL.claimExpired
        case .rateLimited: ParcelSQL.claimRateLimited
        }
    }
}
