import Basis
import Model
import Postgres
import QueueRules

/// What a process asks for when it wants a parcel.
package struct LeaseOrder: Equatable, Sendable {
    package let route: RouteID
    package let service: TopicService
    package let owner: ProcessID
    package let leaseFor: Duration
    /// Of the contents that this process can encode.
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

/// What came of asking for parcels.
package struct Lease: Equatable, Sendable {
    /// In their order. Of a share one at most.
    package var parcels: [LeasedParcel] = []
    /// How long it is until a share may be leased of what waits on the route for its message's rate; nil: where shares were
    /// asked for, nothing waits. Of other parcels: nought where some of them were found to wait, else nil.
    package var again: Duration?

    package init(_ parcel: LeasedParcel? = nil, again: Duration? = nil) {
        parcels = parcel.map { [$0] } ?? []
        self.again = again
    }

    /// The first.
    package var parcel: LeasedParcel? { parcels.first }
}

extension LeaseOrder {
    /// Of several at once: ordinary ones, or urgent ones alone.
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

    /// When the route's next share may leave.
    func next(_ passing: [MessageID], now: WallInstant?) -> Query {
        Query(RateSQL.next) {
            $0.int64(route.value)
            $0.instant(now)
            $0.int16Array(knownFormats)
            $0.uuidArray(passing.map(\.value))
            $0.int16(service.rawValue)
        }
    }

    /// What takes the parcels of a message out of the way of leases, where the claim found that they are not to be leased.
    ///
    /// - Parameter state: of the claimed one, which is among them already.
    func keeping(_ message: UniversalID, _ state: Int16, now: WallInstant?) -> Query? {
        if isForRate(state) { return .moving(message, by: RateSQL.wait, now: now) }
        return state == ParcelStore.onHoldState ? .holding(message) : nil
    }

    /// Whether it is to wait for its message's rate from now on.
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
