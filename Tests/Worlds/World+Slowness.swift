import Basis
import Model
import QueueRules

// Providers that ask a whole lane to slow down.
extension SimulatedWorld {
    /// Notes that the lane's process has opened its circuit breaker.
    mutating func noteOpenBreaker(_ key: LaneKey, until end: MonotonicInstant, _ index: Int) {
        incidents.note(.laneSlowed)
        let place = placeOfLane(key, index)
        let mono = processes[index].clock.read(at: now)
        if let fault = processes[index].lanes[place].slowness.objection(to: end - mono, at: mono) { fail("P7", fault) }
        processes[index].lanes[place].slowness.begin(openUntil: end)
        // The half-open breaker lets a few through, whose answers may be lost.
        let deadline = plan.settings.requestDeadline
        noteTrouble(
            processes[index].lanes[place].provider,
            until: processes[index].clock.time(of: end) + SimulatedTime(deadline + deadline))
    }

    /// Records the answers that the Dispatcher is about to receive.
    mutating func noteSlowness(_ batch: AnswerBatch, _ index: Int) {
        guard let lease = processes[index].lease(batch.lease), let key = lease.lane else { return }
        let place = placeOfLane(key, index)
        let mono = processes[index].clock.read(at: now)
        var (taken, signals, pause) = (batch.accepted.count, 0, Duration.zero)
        for other in batch.others {
            switch other.outcome {
            case .deferred(let after, .laneThrottled), .deferred(let after, .providerUnavailable):
                signals += 1
                pause = max(pause, after ?? .zero)
            case .accepted, .rejected: taken += 1
            default: break
            }
        }
        processes[index].lanes[place].slowness.record(
            taken: taken, signals: signals, pause, of: lease.parcel.message, askedAt: lease.askedAt, at: mono)
    }

    /// Checks that no bulk push leaves for as long as the provider asks, where most answers ask to slow down. A
    /// transactional push may be tried.
    mutating func checkSlowness(_ place: Int, _ parcel: LeasedParcel, _ index: Int) {
        guard parcel.urgency == .bulk, let until = processes[index].lanes[place].slowness.until else { return }
        judge(.slowedDown)
        if processes[index].clock.read(at: now) < until {
            fail("P7", "a push leaves although most answers on its lane are throttle signals")
        }
        processes[index].lanes[place].slowness.restart()
    }
}

/// The throttle signals in the answers to a lane's pushes, as the checkers count them.
struct ThrottleSignals: Sendable {
    /// The end of the open breaker. Answers to earlier leases no longer count.
    private var openEnds = MonotonicInstant(nanoseconds: .min)
    private var answers = 0
    private var signals = 0
    private var signalsOf: Set<MessageID> = []  // lookup only
    private var taken: [MessageID: MonotonicInstant] = [:]  // lookup only
    private var signalAt: MonotonicInstant?
    /// Throttle signals with less than ten seconds between two of them, whatever else was answered.
    private var inARow = 0
    /// The longest pause that these signals asked for.
    private var longest = Duration.zero
    /// nil: as much may be sent as there are streams for.
    private(set) var until: MonotonicInstant?

    /// The fewest signals that open a breaker in these worlds, which send little.
    static let signalsMin = 16
    /// The most answers judged. Among more, older ones count less, which the checkers don't model.
    private static let answersMax = 63
    private static let memory: Duration = .seconds(10)
    private static let longestPause: Duration = .seconds(600)
    private static let longestByItself: Duration = .seconds(60)

    /// The reason why the breaker should not be open for so long; nil: it may.
    func objection(to length: Duration, at mono: MonotonicInstant) -> String? {
        guard let signalAt, signalAt == mono else { return "a circuit breaker is open without a throttle signal" }
        if length > max(longest, Self.longestByItself) {
            return "a circuit breaker is open for \(length), longer than any answer requested"
        }
        // A breaker that was open not long ago is half-open: it tries a few pushes, and each signal counts.
        guard openEnds + Self.memory + Self.memory < mono, inARow < Self.signalsMin else { return nil }
        return "a circuit breaker opened after only \(inARow) throttle signals"
    }

    mutating func begin(openUntil end: MonotonicInstant) {
        openEnds = end
        forget()
    }

    mutating func restart() {
        until = nil
        forget()
    }

    private mutating func forget() {
        (answers, signals, signalsOf) = (0, 0, [])
    }

    /// Records answers that were read together.
    ///
    /// - Parameters:
    ///   - taken: how many pushes the provider had time for.
    ///   - signals: how many answers ask the lane to slow down.
    ///   - pause: the longest that these ask for.
    mutating func record(
        taken: Int, signals: Int, _ pause: Duration, of message: MessageID, askedAt: MonotonicInstant,
        at mono: MonotonicInstant
    ) {
        if taken > 0 {
            self.taken[message] = mono
            // A push that the provider took may close the breaker.
            until = nil
        }
        let isNew = signalAt.map { mono - $0 > Self.memory } ?? true
        if signals > 0 {
            (inARow, longest) = isNew ? (signals, pause) : (inARow + signals, max(longest, pause))
            signalAt = mono
        }
        guard until == nil, askedAt >= openEnds else { return }
        if signals > 0 {
            if isNew { restart() }
            signalsOf.insert(message)
        }
        answers += taken + signals
        self.signals += signals
        let isTakenBeside = self.taken.contains { !signalsOf.contains($0.key) && mono - $0.value <= Self.memory }
        guard signals > 0, self.signals >= Self.signalsMin, self.signals * 2 > answers, answers <= Self.answersMax,
            signalsOf.count > 1 || !isTakenBeside
        else { return }
        until = mono + min(pause, Self.longestPause)
    }
}
