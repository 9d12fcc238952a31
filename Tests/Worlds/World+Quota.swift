import Basis
import LaneRules
import Model
import QueueRules

// Google's quota. It belongs to a project, whichever credential or process sends.
extension SimulatedWorld {
    /// The project of a lane's credential; a rotation keeps it. In some worlds all service accounts belong to one
    /// project.
    func project(of lane: LaneKey) -> Int64 { plan.isOneProject ? 0 : lane.credential.value / 10_000 }

    /// Asks whether a push may leave. nil: it may; otherwise the time at which this lane asks again.
    mutating func askPace(_ place: Int, _ index: Int) -> MonotonicInstant? {
        guard let quota = processes[index].lanes[place].quota else { return nil }
        let mono = processes[index].clock.read(at: now)
        let meter = placeOfMeter(quota, index)
        meters[meter].ask(at: now)
        guard let share = quota.share,
            let allowance = processes[index].projects[quota.project].pace?.allowance(share, mono)
        else { return nil }
        tellOthers(quota, index, mono)
        guard allowance < 1 else { return nil }
        incidents.rateLimited += 1
        let isBeginning = meters[meter].began.map { now - $0 <= .seconds(10) } ?? false
        if isBeginning { judge(.rampUp) }
        if processes[index].lanes.contains(where: {
            $0.key != processes[index].lanes[place].key && isRateLimited($0, quota)
        }) {
            incidents.rateLimitedGroup += 1
        }
        return processes[index].projects[quota.project].pace?.nextAt(share, mono)
    }

    private func isRateLimited(_ lane: SimulatedLane, _ quota: LaneQuota) -> Bool {
        lane.quota?.project == quota.project && !lane.waiting.isEmpty
    }

    /// Gives the lane's part to the others of its project while something other than the pace keeps it from sending.
    mutating func idlePace(_ place: Int, _ index: Int) {
        let lane = processes[index].lanes[place]
        guard let quota = lane.quota, let share = quota.share else { return }
        if lane.waiting.isEmpty || lane.isBlocked || placeForStream(lane) == nil || lane.unusableSince != nil {
            processes[index].projects[quota.project].pace?.idle(share)
        }
    }

    mutating func countAgainstQuota(_ place: Int, _ index: Int) {
        guard let quota = processes[index].lanes[place].quota else { return }
        if let share = quota.share { processes[index].projects[quota.project].pace?.took(share, 1) }
        let meter = placeOfMeter(quota, index)
        meters[meter].leave(from: processes[index].addressee, at: now)
        checkPace(meters[meter])
    }

    mutating func giveBackToQuota(_ place: Int, _ index: Int) {
        guard let quota = processes[index].lanes[place].quota else { return }
        let meter = placeOfMeter(quota, index)
        meters[meter].throwBack(at: now)
        guard let share = quota.share else { return }
        processes[index].projects[quota.project].pace?.giveBack(share, 1)
        checkGivenBack(quota, index)
    }

    private mutating func placeOfMeter(_ quota: LaneQuota, _ index: Int) -> Int {
        let project = processes[index].projects[quota.project].number
        if let place = meters.firstIndex(where: { $0.project == project }) { return place }
        meters.append(QuotaMeter(project: project))
        return meters.count - 1
    }
}

// The processes of a project, which divide its quota.
extension SimulatedWorld {
    private mutating func tellOthers(_ quota: LaneQuota, _ index: Int, _ mono: MonotonicInstant) {
        guard processes[index].projects[quota.project].pace?.beginsHeartbeat(mono) == true else { return }
        call(.heartbeat(project: processes[index].projects[quota.project].number), index)
    }

    mutating func applyHeartbeat(_ project: Int64, _ owner: ProcessID) -> StoreReply {
        let count = store.countSenders(to: "project-\(project)", with: owner, now: wall)
        if count > 1 { incidents.dividedQuotas += 1 }
        return .senders(count)
    }

    /// - Parameter count: nil where no answer came.
    mutating func hear(_ count: Int?, _ project: Int64, _ index: Int) {
        guard let place = processes[index].projects.firstIndex(where: { $0.number == project }) else { return }
        let mono = processes[index].clock.read(at: now)
        processes[index].projects[place].pace?.heartbeatEnded(count, mono)
    }
}

// Checks of the quota as Google counts it.
extension SimulatedWorld {
    /// Checks Google's count of the last minute, and of the first seconds after a quiet time.
    private mutating func checkPace(_ meter: QuotaMeter) {
        guard let perMinute = plan.requestsPerMinute else { return }
        // The savings of a second's idleness come on top; clocks are wrong by a few parts in a thousand. Each process
        // that joins may use one push and a second's quota before the others have heard of it. If heartbeats are lost
        // or late, or the database's clock is set forward, each process may take the others to be gone.
        let aSecond = max(1, perMinute / 60)
        let joins = meter.senders(within: 60, at: now) * (1 + aSecond)
        let alone = plan.mayLoseHeartbeats ? plan.processes : 1
        let bound = alone * (perMinute + perMinute / 100 + aSecond) + joins
        let counted = meter.counted(within: 60, at: now)
        // A world must send this much before it can be too much.
        if counted > perMinute / 10 { judge(.minuteQuota) }
        if counted > bound { fail("P7", "\(counted) pushes count toward a minute's quota of \(perMinute)") }
        guard let began = meter.began, now - began <= .seconds(10) else { return }
        // The rate begins at a tenth and grows for a minute: a quarter after ten seconds.
        let starts = meter.senders(within: 10, at: now) * (1 + aSecond / 10)
        let ramp = alone * (10 * aSecond / 4 + aSecond) + starts
        let first = meter.counted(within: 10, at: now)
        if first > ramp {
            fail("P7", "\(first) pushes leave in the first ten seconds of a quota of \(perMinute) a minute")
        }
    }

    /// Checks that a throttled push is not counted: another may leave in its place, where no other lane wants to send.
    private mutating func checkGivenBack(_ quota: LaneQuota, _ index: Int) {
        guard let share = quota.share, var pace = processes[index].projects[quota.project].pace else { return }
        for lane in processes[index].lanes where lane.quota?.project == quota.project && lane.quota?.share != share {
            if let other = lane.quota?.share { pace.idle(other) }
        }
        judge(.givenBack)
        let allowance = pace.allowance(share, processes[index].clock.read(at: now))
        if allowance < 1 { fail("P7", "a push that was answered 429 counts toward the quota") }
    }
}

extension WorldPlan {
    /// Whether the database may forget a process that still sends.
    fileprivate var mayLoseHeartbeats: Bool {
        clockStepEvery != nil || outageEvery != nil || slownessEvery != nil
            || storeCallLost + storeReplyLost + storeCallLate > 0
    }
}
