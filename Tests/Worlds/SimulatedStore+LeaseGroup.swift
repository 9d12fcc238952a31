import Basis
import Model
import QueueRules

extension SimulatedStore {
    /// Leases the due parcels that `lease` would bring one after the other. It takes several only where all are small,
    /// transactional and not cross-environment.
    package mutating func leaseGroup(
        route: RouteID, service: TopicService = .app, owner: ProcessID, leaseFor: Duration, knownFormats: [Int16],
        scope: LeaseScope = .ordinary, size: LeaseGroup = .standard, now: WallInstant
    ) -> [LeasedParcel] {
        while true {
            let claimed = group(inOrder(route, service, knownFormats, scope, now), size)
            guard !claimed.isEmpty else { return [] }
            // Evaluated before any parcel changes. A stopped or rate-limited parcel does not affect those of other
            // messages.
            let kept = claimed.filter { isStopped(parcels[$0].message) || waitsForRate($0, now) }
            let free = claimed.filter { !kept.contains($0) }
            for place in kept {
                if isStopped(parcels[place].message) {
                    _ = putOnHold(parcels[place].message)
                } else {
                    pace(parcels[place].message, now)
                }
            }
            guard free.isEmpty else {
                return free.map { place in
                    let leased = lease(place, service, owner, leaseFor, now)
                    charge(leased, now)
                    return leased
                }
            }
        }
    }

    /// - Parameter due: in the order of leases.
    private func group(_ due: [Int], _ size: LeaseGroup) -> [Int] {
        guard let first = due.first else { return [] }
        var taken = [first]
        guard parcels[first].urgency == .transactional, parcels[first].origin == nil else { return taken }
        var members = parcels[first].members.count
        for place in due.dropFirst() {
            members += parcels[place].members.count
            guard taken.count < size.parcelsMax, members <= size.membersMax,
                parcels[place].urgency == .transactional, parcels[place].origin == nil
            else { break }
            taken.append(place)
        }
        return taken
    }
}
