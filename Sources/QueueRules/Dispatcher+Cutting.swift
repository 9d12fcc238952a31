import Basis
import Model

// Direct messages: their parcels are cut and leased in the transaction that accepts them (decision 0031).
extension Dispatcher {
    /// Announces a cut. A `cut` event must follow, whatever becomes of it.
    package mutating func beginCut() { cutsOutstanding += 1 }

    /// The lane on which new direct pushes of a service route may be leased at once; nil: their parcels stay ready for
    /// any process, and are leased in their turn.
    ///
    /// Older transactional parcels of the route that wait for a lease go first.
    package mutating func laneForCut(_ serviceRoute: ServiceRoute, now: MonotonicInstant) -> LaneKey? {
        guard !isDraining, case .off = quarantine, let place = placeOfRoute(serviceRoute),
            routes[place].work != .transactional, let lane = routes[place].lane, laneHasUrgentRoom(lane)
        else { return nil }
        routes[place].noteCut(now)
        return lane
    }

    mutating func noteCut(_ leased: [CutParcels], _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        cutsOutstanding -= 1
        for cut in leased {
            let request = LeaseRequest(
                serviceRoute: cut.serviceRoute, lane: cut.lane, startedAt: cut.startedAt, scope: .urgent)
            for read in cut.parcels { begin(read.parcel, request, read.reading, now, &actions) }
        }
    }

    /// Whether nothing is leased here, or will be by a call under way.
    var holdsNothing: Bool { runs.isEmpty && leasesOutstanding == 0 && cutsOutstanding == 0 }
}
