import Basis
import Model

// The latency of transactional pushes beside broadcasts, and beside trouble on other routes.
extension SimulatedWorld {
    /// Notes that something keeps the routes of a provider from sending until then.
    mutating func noteTrouble(_ provider: Provider, until: SimulatedTime) {
        troubledUntil[provider] = max(troubledUntil[provider] ?? .zero, until)
    }

    /// Lets nobody reach a provider until then, for scenario tests.
    package mutating func cutOff(_ provider: Provider, until: SimulatedTime) {
        weather.unreachable.append((provider, until))
        // Pushes that have waited for hours leave little by little.
        noteTrouble(provider, until: until + .minutes(3))
    }

    /// Checks that a transactional push leaves within a bound after its parcel was due. It counts only where its route
    /// had no trouble since, and nothing kept processes from their work.
    mutating func checkLatency(_ push: WirePush, _ parcel: ParcelRow) {
        guard parcel.urgency == .transactional, plan.reportsAtOnce, parcel.epoch == 1, parcel.waitsFor == nil,
            !parcel.isHeldUp, isFirst(push),
            let message = store.message(push.message), message.ratePerSecond == nil, stoppedAt[push.message] == nil
        else { return }
        let since = SimulatedTime(parcel.dueAt - Self.wall(at: .zero))
        guard since > max(troubledUntil[push.provider] ?? .zero, troubledUntilByProcesses),
            push.provider == .apns || plan.hasSteadyGoogle, let bound = latencyMax(message.app)
        else { return }
        judge(.latency)
        if now - since > bound { fail("P7", "a transactional push waits \(now - since); the limit is \(bound)") }
    }

    private mutating func isFirst(_ push: WirePush) -> Bool {
        firstLeft.insert(PushPair(message: push.message, registration: push.registration)).inserted
    }

    /// The bound, estimated by hand: what may be ahead of the push in its lane, and how long that takes. nil: too long
    /// to judge.
    private func latencyMax(_ app: AppID) -> SimulatedTime? {
        var (bulk, transactional) = (0, 0)
        for message in store.messages where message.app == app {
            if message.urgency == .transactional {
                transactional += Int(message.plannedMembers)
            } else {
                bulk += Int(message.plannedMembers)
            }
        }
        // Members that are leased already; their lane takes no more.
        let ahead = min(bulk, plan.settings.laneMembersMax + plan.parcelMembersMax) + transactional
        let deadline = Double(plan.settings.requestDeadline.components.seconds)
        let lost = Double(plan.answerLost + plan.silent + plan.requestLost) / 1_000
        let perPush = 0.15 + 0.01 * deadline + lost * deadline
        // A round trip to the database beside the other routes. Where a lane has room for one parcel, it lasts until
        // that is settled.
        let isNarrow = plan.settings.laneMembersMax <= 100
        let perParcel = isNarrow ? 1.5 + min(1, lost * Double(plan.parcelMembersMax)) * deadline : 0.25
        let atOnce = min(plan.streamsMax, plan.settings.laneMembersMax)
        let poll = Double(plan.settings.pollEvery.components.seconds)
        let seconds =
            2 * poll + 3 + 2 * deadline + 2 * Double(ahead) * perPush / Double(atOnce)
            + Double(ahead) * perParcel
        return seconds > 120 ? nil : .milliseconds(Int64(seconds * 1_000))
    }
}

extension WorldPlan {
    /// Whether nothing but its answers slows Google down: no quota, and always an access token.
    fileprivate var hasSteadyGoogle: Bool {
        requestsPerMinute == nil && accessSeconds > 3_000 && accessFailed == 0 && revocationEvery == nil
    }
}

extension ParcelRow {
    /// Whether it was leased before, or waits for something other than its place in the queue.
    fileprivate var isHeldUp: Bool { isRateLimited || uncounted != nil || origin != nil || lapses > 0 }
}
