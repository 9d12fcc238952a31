import DeliveryRules
import PushModel

// What is said of messages while they are sent: pause, resume, cancel.
extension SimulatedWorld {
    /// Drawn apart from everything else, so that a world without is the same as ever.
    mutating func scheduleWishes(_ number: Int, sentAt: SimulatedTime) {
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
                queue.put(.wish(number, .pause), at: at)
                at = later(than: at)
                // One that is short-lived may never be resumed, and expires.
                let isLong = messages[number].lifetime > .seconds(90) || messages[number].localSending != nil
                if isLong || fate.happens(perMille: 500) {
                    queue.put(.wish(number, .resume), at: at)
                }
            }
        }
        if fate.happens(perMille: plan.rated) {
            messages[number].ratePerSecond = fate.pick(Self.rates)
            for _ in 1...fate.within(1...3) {
                at = later(than: at)
                queue.put(.wish(number, .rate(fate.pick(Self.rates))), at: at)
            }
            // At its slowest what is left of it would outlive the world.
            queue.put(.wish(number, .rate(fate.pick([nil, 1_000]))), at: max(at, plan.faultsEnd))
        }
        if fate.happens(perMille: plan.cancelled) { queue.put(.wish(number, .cancel), at: later(than: at)) }
    }

    static let rates: [Int32?] = [1, 5, 20, 20, 100, 1_000, nil]

    mutating func say(_ wish: LifeWish, of number: Int) {
        let id = messages[number].id
        let reply = store.wish(wish, id, now: wall)
        guard reply == .stands else { return }
        if wish == .pause { incidents.paused += 1 }
        if case .rate = wish { incidents.rated += 1 }
        noteRate(of: id)
        if store.isStopped(id) {
            if stoppedAt[id] == nil { stoppedAt[id] = now }
        } else {
            stoppedAt[id] = nil
        }
        for process in processes where process.isAlive {
            guard !(isFaulty && random.happens(perMille: plan.notificationLost)) else { continue }
            queue.put(.notified(process.addressee), at: after(.zero ... .milliseconds(50)))
        }
    }

    mutating func applyStops() {
        let lastParcel = store.lastParcel
        for (settlement, before) in store.carryOut(now: wall).settled {
            incidents.endedUnsent += 1
            book(settlement, before, newParcelsAfter: lastParcel)
        }
    }

    /// Where nothing keeps a process from hearing it, the next poll but one takes back what is left.
    mutating func checkNotStopped(_ push: WirePush) {
        guard plan.saysAtOnce, let since = stoppedAt[push.message],
            now - since > SimulatedTime(plan.settings.pollEvery) + .milliseconds(500)
        else { return }
        fail("P2", "a push leaves \(now - since) after its message was stopped")
    }
}

extension WorldPlan {
    /// Nothing keeps a process from hearing what was said.
    var saysAtOnce: Bool {
        killEvery == nil && freezeEvery == nil && outageEvery == nil && driftMax == 0
            && slownessEvery == nil && connectionTroubleEvery == nil && clockStepEvery == nil
            && storeCallLost + storeReplyLost + storeCallLate + notificationLost == 0
    }
}
