import Basis
import Model

// How long pushes wait that somebody waits for: beside broadcasts, and beside whatever goes wrong on other routes.
extension SimulatedWorld {
    /// Something keeps the routes of a provider from sending, or did until then.
    mutating func noteTrouble(_ provider: Provider, until: SimulatedTime) {
        troubledUntil[provider] = max(troubledUntil[provider] ?? .zero, until)
    }

    /// A transactional push leaves within a bound from when its parcel was due, where its own route had no trouble since
    /// and nothing kept processes from their work.
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
        if now - since > bound { fail("P7", "a transactional push waits \(now - since), at most \(bound) it may") }
    }

    private mutating func isFirst(_ push: WirePush) -> Bool {
        firstLeft.insert(PushPair(message: push.message, registration: push.registration)).inserted
    }

    /// By hand: what may stand before it in its lane, and what that takes. nil: so much that nothing is said.
    private func latencyMax(_ app: AppID) -> SimulatedTime? {
        var (bulk, transactional) = (0, 0)
        for message in store.messages where message.app == app {
            if message.urgency == .transactional {
                transactional += Int(message.plannedMembers)
            } else {
                bulk += Int(message.plannedMembers)
            }
        }
        // Whatever is leased already: its lane is no lane for one more.
        let ahead = min(bulk, plan.settings.laneMembersMax + plan.parcelMembersMax) + transactional
        let deadline = Double(plan.settings.requestDeadline.components.seconds)
        let lost = Double(plan.answerLost + plan.silent + plan.requestLost) / 1_000
        let perPush = 0.15 + 0.01 * deadline + lost * deadline
        // A round to the database, beside the other routes; where a lane has room for one parcel, until that is settled.
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
    /// No quota, and always a token: nothing but its answers slows Google down.
    fileprivate var hasSteadyGoogle: Bool {
        requestsPerMinute == nil && accessSeconds > 3_000 && accessFailed == 0 && revocationEvery == nil
    }
}

extension ParcelRow {
    /// It has been leased before, or waits for something else than its turn.
    fileprivate var isHeldUp: Bool { isRateLimited || uncounted != nil || origin != nil || lapses > 0 }
}
