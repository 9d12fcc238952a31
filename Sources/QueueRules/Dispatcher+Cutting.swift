import Basis
import Model

/// Names one cut of parcels that may be leased at once, from its admission to its end.
package struct CutID: Hashable, Sendable {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
}

/// New members of a service route that could be leased at once.
package struct CutDemand: Equatable, Sendable {
    package let serviceRoute: ServiceRoute
    package let members: Int
    package init(_ serviceRoute: ServiceRoute, members: Int) {
        (self.serviceRoute, self.members) = (serviceRoute, members)
    }
}

/// Room on a lane that a cut under way may use.
struct CutReservation: Sendable {
    let cut: CutID
    let serviceRoute: ServiceRoute
    let exit: LaneTarget
    let members: Int
}

// Parcels that are cut and leased in one transaction: those of direct messages (decision 0031) and of fan-outs.
extension Dispatcher {
    /// Returns the lane for each demand on which its pushes may be leased at once. nil: the parcels stay ready for any
    /// process, and are leased in their turn.
    ///
    /// A route's pushes are admitted together or not at all, and count as leased until the cut's `cut` event. It must
    /// follow, whatever becomes of the cut. Older transactional parcels of a route go first, until a lease asks for them:
    /// if cuts waited for its end too, a busy route would never come back to them.
    package mutating func admit(_ cut: CutID, _ demands: [CutDemand], now: MonotonicInstant) -> [LaneKey?] {
        demands.map { demand in
            guard !isDraining, case .off = quarantine, let place = placeOfRoute(demand.serviceRoute),
                !routes[place].hasUrgentUnasked, let exit = routes[place].exit,
                permission(for: .transactional, on: routes[place]).room >= demand.members,
                laneHolds(demand.members, exit.lane)
            else { return nil }
            routes[place].noteCut(now)
            cuts.append(
                CutReservation(cut: cut, serviceRoute: demand.serviceRoute, exit: exit, members: demand.members))
            return exit.lane
        }
    }

    private func laneHolds(_ members: Int, _ key: LaneKey) -> Bool {
        guard let place = lanes.known(key) else { return false }
        let held = lanes[place].load.urgentMembers
        let reserved = cuts.reduce(0) { $0 + ($1.exit.lane == key ? $1.members : 0) }
        let all = lanes.load.urgentMembers + cuts.reduce(0) { $0 + $1.members }
        return held + reserved + members <= urgentMax(on: place) && all + members <= settings.urgentMax
    }

    mutating func noteCut(
        _ id: CutID, _ leased: [CutParcels], _ now: MonotonicInstant, _ actions: inout [DispatchAction]
    ) {
        let admitted = cuts.filter { $0.cut == id }
        cuts.removeAll { $0.cut == id }
        for cut in leased {
            let exit = admitted.first { $0.serviceRoute == cut.serviceRoute }?.exit
            let request = LeaseRequest(
                serviceRoute: cut.serviceRoute, exit: exit, startedAt: cut.startedAt, scope: .urgent)
            for read in cut.parcels { begin(read.parcel, request, read.reading, now, &actions) }
        }
    }

    var holdsNothing: Bool { runs.isEmpty && leasesOutstanding == 0 && cuts.isEmpty }
}
