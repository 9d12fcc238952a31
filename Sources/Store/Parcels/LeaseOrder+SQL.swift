import Basis
import Model
import Postgres
import QueueRules

extension LeaseOrder {
    /// Returns the queries that claim parcels. The second one's answer has their rows. A third one follows if a quantum
    /// is asked for: the time until the next one.
    func claim(_ size: LeaseGroup, now: WallInstant?) -> [Query] {
        var parameters = Parameters()
        parameters.int64(route.value)
        parameters.uuid(owner.value)
        parameters.int64(leaseFor.wholeMicroseconds)
        parameters.int16Array(knownFormats)
        parameters.instant(now)
        parameters.int16(service.rawValue)
        guard scope != .rateLimited else {
            parameters.uuidArray(passing.map(\.value))
            return [Query(PlannerSQL.inKeyOrder), Query(scope.claim, parameters), next(now: now)]
        }
        parameters.int64(Int64(size.parcelsMax))
        parameters.int64(Int64(size.membersMax))
        return [Query(PlannerSQL.inKeyOrder), Query(scope.claim, parameters)]
    }

    /// Returns the query for the time until the route's next quantum.
    func next(now: WallInstant?) -> Query {
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
