import PushModel

// Lanes whose providers ask for less (`LaneThrottle`).
extension Dispatcher {
    /// What a provider's answers say of their lane. Where it is to rest, what has no stream yet comes back: it costs no
    /// attempt, and keeps none of the process's bounds from other lanes (P7).
    mutating func heed(_ lease: AnsweredLease, _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard let place = placeOfRun(lease.name), let key = runs.states[place].lane else { return }
        let (message, leasedAt) = (runs.states[place].run.parcel.message, runs.states[place].run.leasedAtMonotonic)
        let answers = LaneAnswers(accepted: lease.accepted.count, others: lease.others)
        let rest = lanes[placeOfLane(key)].throttle.heard(
            answers, of: message, leasedAt: leasedAt, now, entropy: runs.states[place].run.entropy)
        guard rest != nil else { return }
        for state in runs.states where state.lane == key { actions.append(.withdraw(state.name, key)) }
    }

    /// Each rest when it begins, when it has become a second longer, and once that the lane is as ever. While a few pushes
    /// are tried it is not over yet.
    mutating func tellRests(_ actions: inout [DispatchAction]) {
        for place in lanes.indices {
            let (key, told) = (lanes[place].key, lanes[place].restTold)
            if let rest = lanes[place].throttle.rest {
                if let told, told.since == rest.since, rest.until - told.until < .seconds(1) { continue }
                lanes[place].restTold = rest
                actions.append(.tellRest(key, rest))
            } else if told != nil, lanes[place].throttle.phase == .flowing {
                lanes[place].restTold = nil
                actions.append(.tellRestOver(key))
            }
        }
    }

    /// How many pushes of a lease that was just written may be handed to its lane.
    func admit(_ count: Int, of run: ParcelRun, on key: LaneKey) -> Int {
        guard let lane = lanes.first(where: { $0.key == key }), lane.throttle.phase != .flowing else { return count }
        // What was asked for before knows nothing of the rest.
        guard run.leasedAtMonotonic >= lane.throttle.since else { return 0 }
        return min(count, lane.throttle.room(isUrgent: run.parcel.urgency == .transactional))
    }

    /// So many of a lease are with its lane no more, whatever became of them.
    mutating func noteReturned(_ count: Int, to key: LaneKey?, leasedAt: MonotonicInstant) {
        guard count > 0, let key else { return }
        lanes[placeOfLane(key)].throttle.returned(count, leasedAt: leasedAt)
    }
}
