import Basis
import Model
import QueueRules

extension SimulatedStore {
    /// Accepts messages of one app to named receivers, and cuts each into parcels at once. The parcels of the service
    /// routes in `leasing` are leased to the owner.
    ///
    /// - Returns: the leased parcels, by service route and then by id.
    package mutating func cut(
        _ messages: [SimulatedMessage], owner: ProcessID, for leaseFor: Duration, parcelMembersMax: Int,
        leasing: (ServiceRoute) -> Bool, now: WallInstant
    ) -> [LeasedParcel] {
        let before = lastParcel
        for message in messages {
            accept(message, now: now)
            if let place = plans.indices.last(where: { plans[$0].message == message.id }) {
                _ = planSlice(at: place, 1_000, parcelMembersMax, now)
            }
        }
        let leased = putLeasedLast(after: before, leasing)
        let sorted = leased.sorted { left, right in
            let (one, other) = (ServiceRoute(left.route, left.service), ServiceRoute(right.route, right.service))
            return one == other ? left.id < right.id : one < other
        }
        return sorted.compactMap { parcel in
            let order = LeaseOrder(
                route: parcel.route, service: parcel.service, owner: owner, leaseFor: leaseFor,
                knownFormats: [parcel.format], scope: .urgent)
            return placeOfParcel(parcel.id).map { lease($0, order, now) }
        }
    }

    /// Numbers new parcels as the database does, which writes the leased ones last. Returns these.
    private mutating func putLeasedLast(after before: Int64, _ leasing: (ServiceRoute) -> Bool) -> [ParcelRow] {
        let first = parcels.firstIndex { $0.id.value > before } ?? parcels.endIndex
        var new = Array(parcels[first...])
        func isLeased(_ parcel: ParcelRow) -> Bool { leasing(ServiceRoute(parcel.route, parcel.service)) }
        new = new.filter { !isLeased($0) } + new.filter(isLeased)
        for place in new.indices { new[place].id = ParcelID(before + 1 + Int64(place)) }
        parcels.replaceSubrange(first..., with: new)
        return new.filter(isLeased)
    }
}
