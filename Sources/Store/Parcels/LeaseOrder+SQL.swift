import Basis
import Model
import Postgres
import QueueRules

extension LeaseOrder {
    /// Returns the queries that claim parcels. The second one's answer has their rows. A third one follows if a quantum
    /// is asked for: the time until the next one.
    func claim(_ size: LeaseGroup, now: WallInstant?) -> [Query] {
        let claim = Query(scope.claim) {
            $0.int64("route", route.value)
            $0.int16("service", service.rawValue)
            $0.int16Array("formats", knownFormats)
            $0.uuid("owner", owner.value)
            $0.int64("lease_us", leaseFor.wholeMicroseconds)
            $0.instant("now", now)
            if scope == .rateLimited {
                $0.uuidArray("skipped", passing.map(\.value))
            } else {
                $0.int64("parcels_max", Int64(size.parcelsMax))
                $0.int64("members_max", Int64(size.membersMax))
            }
        }
        return [Query(PlannerSQL.inKeyOrder), claim] + (scope == .rateLimited ? [next(now: now)] : [])
    }

    /// Returns the query for the time until the route's next quantum.
    func next(now: WallInstant?) -> Query {
        Query(RateSQL.next) {
            $0.int64("route", route.value)
            $0.int16("service", service.rawValue)
            $0.int16Array("formats", knownFormats)
            $0.uuidArray("skipped", passing.map(\.value))
            $0.instant("now", now)
        }
    }

    /// Returns the query that moves a message's parcels out of the way of leases; nil if they may be leased.
    ///
    /// - Parameter parcel: the claimed parcel, which has been moved already.
    func keeping(_ parcel: ParcelRow, now: WallInstant?) -> Query? {
        if isForRate(parcel.state) { return .moving(parcel.message.value, by: RateSQL.wait, now: now) }
        return parcel.state == .onHold ? .holding(parcel.message.value) : nil
    }

    /// Whether the claimed parcel is rate-limited from now on.
    func isForRate(_ state: ParcelState?) -> Bool { scope != .rateLimited && state == .rateLimited }
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
