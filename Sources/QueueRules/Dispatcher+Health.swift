import Basis
import LaneRules
import Model

extension Dispatcher {
    func permission(for urgency: MessageUrgency, on route: RouteState) -> LaneHealth.Permission {
        guard let place = lanes.known(route.lane) else { return .mayNot(.credentialUnknown, until: nil) }
        return lanes[place].health.permission(for: urgency, on: route.ready.serviceRoute)
    }

    mutating func note(
        _ event: LaneHealth.Event, of key: LaneKey, _ now: MonotonicInstant, _ actions: inout [DispatchAction]
    ) {
        let place = lanes.place(of: key)
        if let action = lanes[place].health.note(event, now) { actions.append(.lane(key, action)) }
        // The transport is not blocked, but only one push at a time may try the credential.
        if case .credentialSuspected = event { withdrawAll(from: key, &actions) }
    }

    /// Takes back all pushes of a lane that have no stream. That costs no attempt.
    private mutating func withdrawAll(from key: LaneKey, _ actions: inout [DispatchAction]) {
        for place in runs.indices where runs[place].lane == key { withdraw(place, &actions) }
    }

    /// Applies a provider's answers to their lane's circuit breaker. If it opens, pushes without a stream come back,
    /// which frees the process's bounds for other lanes (P7).
    mutating func apply(_ lease: AnsweredLease, _ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        guard let place = runs.place(of: lease.name), let key = runs.states[place].lane else { return }
        let answers = LaneAnswers(accepted: lease.accepted.count, others: lease.others)
        let (lane, message) = (lanes.place(of: key), runs.states[place].run.parcel.message)
        let (leasedAt, entropy) = (runs.states[place].run.leasedAtMonotonic, runs.states[place].run.entropy)
        guard lanes[lane].health.record(answers, of: message, leasedAt: leasedAt, now, entropy: entropy) else { return }
        withdrawAll(from: key, &actions)
    }

    /// Applies what time changed, and reports what people are to be told.
    mutating func passHealth(_ now: MonotonicInstant, _ actions: inout [DispatchAction]) {
        for place in lanes.states.indices where !lanes[place].health.isQuiet {
            lanes[place].health.pass(now)
            for report in lanes[place].health.takeReports() { actions.append(.lane(lanes[place].key, report)) }
        }
    }

    mutating func noteReturned(_ count: Int, to key: LaneKey?, leasedAt: MonotonicInstant) {
        guard count > 0, let key else { return }
        let place = lanes.place(of: key)
        lanes[place].health.returned(count, leasedAt: leasedAt)
    }

    package var waits: [LaneWait] {
        lanes.states.flatMap { lane in
            let routes = lane.health.routeWaits.map { LaneWait(lane.key, $0.wait, of: $0.route) }
            return (lane.health.wait.map { [LaneWait(lane.key, $0)] } ?? []) + routes
        }
    }

    /// Whether pushes that wait to be encoded must not be handed to their lane any more.
    package func refusesTopic(of route: ServiceRoute, on key: LaneKey) -> Bool {
        lanes.known(key).map { lanes[$0].health.refusesTopic(of: route) } ?? false
    }

    /// Whether the provider accepted the lane's credential a while ago.
    package func isProven(_ key: LaneKey, now: MonotonicInstant) -> Bool {
        lanes.known(key).map { lanes[$0].health.isProven(now) } ?? false
    }

    /// Records what one delivery of answers says about the lane's credential. It counts for the next delivery, so it
    /// can't wait for the event that reports both.
    package mutating func noteProof(_ key: LaneKey, accepted: Int, refused: Int, now: MonotonicInstant) {
        let place = lanes.place(of: key)
        lanes[place].health.noteProof(accepted: accepted, refused: refused, now)
    }
}
