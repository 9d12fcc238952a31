import Basis
import Model

// Pauses, resumes, cancellations and rates while messages are being sent.
extension SimulatedWorld {
    /// Draws the controls of a message from a generator of their own, so that other worlds stay the same.
    mutating func scheduleControls(_ number: Int, sentAt: SimulatedTime) {
        var fate = SeededRandom(seed: plan.seed &* 31 &+ UInt64(number))
        let latest = max(plan.faultsEnd, sentAt + .seconds(1))
        func later(than time: SimulatedTime) -> SimulatedTime {
            // Mostly while it is being sent.
            let soon = min(latest, time + .milliseconds(fate.pick([100, 500, 5_000, 60_000])))
            return max(time, fate.within(min(time, soon)...soon))
        }
        var at = sentAt
        if fate.happens(perMille: plan.paused) {
            for _ in 1...fate.within(1...3) {
                at = later(than: at)
                queue.put(.control(number, .pause), at: at)
                at = later(than: at)
                // A short-lived message may never be resumed, and expires.
                let isLong = messages[number].lifetime > .seconds(90) || messages[number].localSending != nil
                if isLong || fate.happens(perMille: 500) {
                    queue.put(.control(number, .resume), at: at)
                }
            }
        }
        if fate.happens(perMille: plan.rated) {
            messages[number].ratePerSecond = fate.pick(Self.rates)
            for _ in 1...fate.within(1...3) {
                at = later(than: at)
                queue.put(.control(number, .rate(fate.pick(Self.rates))), at: at)
            }
            // At its slowest rate the remaining pushes would outlive the world.
            queue.put(.control(number, .rate(fate.pick([nil, 1_000]))), at: max(at, plan.faultsEnd))
        }
        if fate.happens(perMille: plan.cancelled) { queue.put(.control(number, .cancel), at: later(than: at)) }
    }

    static let rates: [Int32?] = [1, 5, 20, 20, 100, 1_000, nil]

    mutating func write(_ control: ControlRequest, of number: Int) {
        let id = messages[number].id
        let reply = store.control(control, id, now: wall)
        guard reply == .done else { return }
        if control == .pause { incidents.paused += 1 }
        if control == .cancel { cancelled.insert(id) }
        if case .rate = control { incidents.rated += 1 }
        noteRate(of: id)
        if store.isStopped(id) {
            if stoppedAt[id] == nil { stoppedAt[id] = now }
            // Some process could still send the remaining pushes, and receives this in time.
            let canReceive = processes.contains { $0.isAlive && !$0.isFrozen && !$0.isPollTroubled }
            if canReceive, store.parcels.contains(where: { $0.message == id }) { judge(.atOnce) }
        } else {
            stoppedAt[id] = nil
        }
        for process in processes where process.isAlive {
            guard !(isFaulty && random.happens(perMille: plan.notificationLost)) else { continue }
            queue.put(.stopsNotified(process.addressee), at: after(.zero ... .milliseconds(50)))
        }
    }

    /// Marks leases whose message the process now knows to be stopped. Only leases with pushes that wait for a stream
    /// give the checker something to judge.
    mutating func noteStopped(_ stopped: [StoppedMessage], _ index: Int) {
        for place in processes[index].leases.indices {
            let lease = processes[index].leases[place]
            guard !lease.isSilenced, stopped.contains(where: { $0.message == lease.parcel.message }) else { continue }
            processes[index].leases[place].isSilenced = true
            let isWaiting = processes[index].lanes.contains { $0.waiting.contains { $0.lease == lease.name } }
            guard isWaiting else { continue }
            judge(.silenced)
        }
    }

    /// The time for which the process could have known that the message is stopped. nil: it is not stopped, or
    /// something keeps the process from its database.
    private func lateness(of message: MessageID, _ index: Int) -> SimulatedTime? {
        guard let since = stoppedAt[message], !processes[index].isPollTroubled else { return nil }
        return now - max(since, processes[index].receivesSince)
    }

    /// Checks that no push of a stopped message leaves, judged by what each process could know. The next poll but one
    /// withdraws the waiting pushes, and withdrawn pushes never leave.
    mutating func checkNotStopped(_ push: WirePush) {
        let index = push.from.process
        if processes[index].lease(push.lease)?.isSilenced == true {
            fail("P2", "a push leaves although its process knows that its message was stopped")
        }
        guard let late = lateness(of: push.message, index),
            late > SimulatedTime(plan.settings.pollEvery) + .milliseconds(500)
        else { return }
        fail("P2", "a push leaves \(late) after its process could know that its message was stopped")
    }
}

extension WorldPlan {
    /// Whether nothing keeps a process from its notifications, or delays what it sends.
    var reportsAtOnce: Bool {
        killEvery == nil && freezeEvery == nil && outageEvery == nil && driftMax == 0
            && slownessEvery == nil && connectionTroubleEvery == nil && clockStepEvery == nil
            && storeCallLost + storeReplyLost + storeCallLate + notificationLost + poisonous == 0
    }
}
