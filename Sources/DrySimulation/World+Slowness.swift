import DeliveryRules
import PushModel

// Providers that tell a whole lane to slow down.
extension SimulatedWorld {
    /// Nothing may leave now.
    mutating func isSlowed(_ place: Int, _ index: Int) -> Bool {
        let lane = processes[index].lanes[place]
        let mono = processes[index].clock.read(at: now)
        if processes[index].lanes[place].throttle.room(inFlight: lane.open.count, mono) > 0 { return false }
        if let until = processes[index].lanes[place].throttle.restsUntil {
            ringLater(place, index, at: processes[index].clock.time(of: until))
        }
        return true
    }

    mutating func slowDown(by answer: ProviderAnswer, _ place: Int, _ index: Int) {
        let mono = processes[index].clock.read(at: now)
        if answer.word.status < 429 { processes[index].lanes[place].throttle.taken() }
        let pause = pauseForTheLane(answer, index)
        processes[index].lanes[place].slowness.hear(pause, at: mono)
        let rest = processes[index].lanes[place].throttle.heard(
            pause == nil ? 0 : 1, of: 1, pause: pause ?? .zero, mono, entropy: UInt64(streams))
        if rest != nil { incidents.note(.laneSlowed) }
        guard let until = processes[index].lanes[place].throttle.restsUntil else { return }
        // Then one request at a time, whose answer may be lost.
        let deadline = plan.settings.requestDeadline
        noteTrouble(
            processes[index].lanes[place].provider,
            until: processes[index].clock.time(of: until) + SimulatedTime(deadline + deadline))
    }

    /// nil: it says nothing of the lane.
    private func pauseForTheLane(_ answer: ProviderAnswer, _ index: Int) -> Duration? {
        let outcome = answer.verdict(now: processes[index].wallClock.read(at: now)).outcome
        guard case .deferred(let after, let reason) = outcome, reason == .laneThrottled || reason == .providerBusy
        else { return nil }
        return after ?? .zero
    }

    /// Where most answers say so, the provider is left alone for as long as the latest of them asks.
    mutating func checkSlowness(_ place: Int, _ index: Int) {
        guard let until = processes[index].lanes[place].slowness.until else { return }
        judge(.slowedDown)
        if processes[index].clock.read(at: now) < until {
            fail("P7", "a push leaves although most of its lane's answers tell it to slow down")
        }
        processes[index].lanes[place].slowness = HeardSlowness()
    }
}

/// What the answers to a lane's pushes say of the lane, one after the other: the checkers' count.
struct HeardSlowness: Sendable {
    private var answers = 0
    private var words = 0
    private var heardAt: MonotonicInstant?
    /// nil: as much may be sent as there are streams for.
    private(set) var until: MonotonicInstant?

    private static let wordsMin = 16
    /// Of more answers the older ones count less, and how much less is not said here.
    private static let answersMax = 63
    private static let memory: Duration = .seconds(10)
    private static let longestPause: Duration = .seconds(600)

    /// - Parameter pause: nil: the answer says nothing of the lane.
    mutating func hear(_ pause: Duration?, at mono: MonotonicInstant) {
        if let heardAt, mono - heardAt > Self.memory { (answers, words) = (0, 0) }
        heardAt = mono
        answers += 1
        guard let pause else { return }
        words += 1
        guard words >= Self.wordsMin, words * 2 > answers, answers <= Self.answersMax else { return }
        until = max(until ?? mono, mono + min(pause, Self.longestPause))
    }
}
