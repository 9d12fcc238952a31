import Basis
import LaneRules

// Lanes whose providers ask for less (`LaneThrottle`).
extension Dispatcher {
    /// Applies a provider's answers to their lane's circuit breaker. If it opens, pushes without a stream come back.
    /// That costs no attempt and frees the process's bounds for other lanes (P7).
    mutating func apply(_ lease: AnsweredLease, _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard let place = placeOfRun(lease.name), let key = runs.states[place].lane else { return }
        let (message, leasedAt) = (runs.states[place].run.parcel.message, runs.states[place].run.leasedAtMonotonic)
        let answers = LaneAnswers(accepted: lease.accepted.count, others: lease.others)
        let openBreaker = lanes[placeOfLane(key)].throttle.record(
            answers, of: message, leasedAt: leasedAt, now, entropy: runs.states[place].run.entropy)
        guard openBreaker != nil else { return }
        for state in runs.states where state.lane == key { actions.append(.withdraw(state.name, key)) }
    }

    /// Reports each open breaker when it opens and when it stays open a second longer, and once when it is closed. A
    /// half-open breaker is not closed yet.
    mutating func reportBreakers(_ actions: inout [DispatchAction]) {
        for place in lanes.indices {
            let (key, reported) = (lanes[place].key, lanes[place].reportedBreaker)
            if let openBreaker = lanes[place].throttle.openBreaker {
                if let reported, reported.since == openBreaker.since, openBreaker.until - reported.until < .seconds(1) {
                    continue
                }
                lanes[place].reportedBreaker = openBreaker
                actions.append(.reportOpenBreaker(key, openBreaker))
            } else if reported != nil, lanes[place].throttle.phase == .closed {
                lanes[place].reportedBreaker = nil
                actions.append(.reportClosedBreaker(key))
            }
        }
    }

    /// The number of pushes of a newly written lease that may be handed to its lane.
    func admit(_ count: Int, of run: ParcelRun, on key: LaneKey) -> Int {
        guard let lane = lanes.first(where: { $0.key == key }), lane.throttle.phase != .closed else { return count }
        // The request left before the breaker opened.
        guard run.leasedAtMonotonic >= lane.throttle.since else { return 0 }
        return min(count, lane.throttle.room(isUrgent: run.parcel.urgency == .transactional))
    }

    /// Notes that `count` pushes of a lease are no longer with its lane.
    mutating func noteReturned(_ count: Int, to key: LaneKey?, leasedAt: MonotonicInstant) {
        guard count > 0, let key else { return }
        lanes[placeOfLane(key)].throttle.returned(count, leasedAt: leasedAt)
    }
}
