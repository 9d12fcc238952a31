import PushModel

// Lanes whose providers ask for less (`LaneThrottle`).
extension Dispatcher {
    /// What answers say of their lane. Where it is to rest, what has no stream yet comes back: it costs no attempt, and
    /// keeps none of the process's bounds from other lanes (P7).
    mutating func heed(
        _ lease: AnsweredLease, on key: LaneKey, _ run: ParcelRun, _ now: MonotonicInstant,
        _ actions: inout [DispatchAction]
    ) {
        let answers = LaneAnswers(accepted: lease.accepted.count, others: lease.others)
        let rest = lanes[placeOfLane(key)].throttle.heard(
            answers, of: run.parcel.message, leasedAt: run.leasedAtMonotonic, now, entropy: run.entropy)
        guard let rest else { return }
        for state in runs.states where state.lane == key { actions.append(.withdraw(state.name, key)) }
        actions.append(.tellRest(key, rest))
    }

    /// How many pushes of a lease that was just written may be handed to its lane.
    func admit(_ count: Int, of run: ParcelRun, on key: LaneKey, _ now: MonotonicInstant) -> Int {
        guard let lane = lanes.first(where: { $0.key == key }), lane.throttle.phase != .flowing else { return count }
        // What was asked for before knows nothing of the rest.
        guard run.leasedAtMonotonic >= lane.throttle.since else { return 0 }
        return min(count, room(of: lane, isUrgent: run.parcel.urgency == .transactional))
    }

    func room(of lane: LaneState, isUrgent: Bool) -> Int {
        if lane.throttle.phase == .flowing { return .max }
        let tries = runs.states.reduce(0) { sum, state in
            let isTry = state.lane == lane.key && state.run.leasedAtMonotonic >= lane.throttle.since
            return isTry ? sum + state.run.openCount : sum
        }
        return lane.throttle.room(tries: tries, isUrgent: isUrgent)
    }
}
