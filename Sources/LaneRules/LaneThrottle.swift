import Basis
import Model

/// A lane's circuit breaker on its provider's answers. It opens if most of the latest answers are throttle signals
/// ("too many", "not now").
///
/// One signal concerns its push only. If most answers are signals, further pushes would fail and lose an attempt each.
/// So the lane stops for as long as the provider asks, at least for about one second, then two, four and so on. Then it
/// sends one push, and seven more for each accepted one. While the breaker is open, one transactional push per second
/// is tried, because users wait for it. If it is accepted, the breaker is half-open.
///
/// closed → (most answers are signals) → open → (pause over, or a try accepted) → half-open → (accepted) → closed
///                                           ↖ (most answers since are signals) ↙
///
/// A refused credential makes it half-open, too: one push shows whether the credential is accepted by now.
package struct LaneThrottle: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// Pushes are limited only by the lane's room.
        case closed
        /// `triesFrom`: no transactional push before this; nil: one may be tried.
        case open(until: MonotonicInstant, triesFrom: MonotonicInstant?)
        /// At most `limit` pushes are in flight.
        case halfOpen(limit: Int)
    }

    /// The breaker's openings in a row: it was not closed in between.
    package struct Opening: Equatable, Sendable {
        /// When the breaker opened first, and when last.
        package let began: MonotonicInstant
        package let latest: MonotonicInstant
        package fileprivate(set) var until: MonotonicInstant
        fileprivate let count: Int
    }

    /// Fewer signals say nothing about other pushes.
    private let signalsMin: Int
    /// Signals are forgotten after this time without a new one. A half-open breaker closes after it, unless most
    /// answers are signals.
    package static let memory: Duration = .seconds(10)
    /// How long an accepted push of another message shows that the signals concern their own message only.
    package static let beside: Duration = .seconds(1)
    /// Such a push stops counting after this many signals per `signalsMin`: the provider may have failed just after it.
    private static let besideForEach = 8
    /// The limit beyond which a half-open breaker closes.
    package static let halfOpenMax = 512
    package static let tryEvery: Duration = .seconds(1)
    /// The longest pause, whatever is asked for.
    package static let openMax: Duration = .seconds(600)
    private static let growth = 8
    /// At this many answers per `signalsMin`, the counts are halved.
    private static let answersForEach = 4
    /// The pause if the provider asks for less. Source: APNs and FCM ask for exponential backoff, and name no numbers
    /// for a lane.
    private static let backoff = Backoff(floor: .seconds(1), ceiling: .seconds(60))

    package private(set) var phase = Phase.closed
    /// When the phase began. Earlier leases say nothing about the provider now.
    package private(set) var since = MonotonicInstant(nanoseconds: .min)
    /// Pushes leased since then that are with the lane.
    private var tries = 0
    /// The latest answers, and the throttle signals among them.
    private var answered = 0
    private var signals = 0
    private var signalsTotal = 0
    private var signalAt: MonotonicInstant?
    /// The end of the longest pause that the signals ask for.
    private var asked: MonotonicInstant?
    /// The message whose pushes got the signals; nil: several.
    private var signalsOf: MessageID?
    /// The message whose pushes were accepted last, and the other message before it.
    private var taken: Taken?
    private var takenBefore: Taken?
    /// nil: the breaker is closed, or half-open only because of a refused credential.
    package private(set) var opening: Opening?
    /// The credential was refused, and no accepted push since shows that it is accepted. The breaker stays half-open.
    package private(set) var isSuspected = false

    private struct Taken: Equatable, Sendable {
        let message: MessageID
        let at: MonotonicInstant
        /// The value of `signalsTotal` at that time.
        let signals: Int
    }

    /// - Parameter signalsMin: fewer signals concern their pushes only. A higher value lets a lane go on longer with
    ///   one bad connection among others, or with a provider that throttles.
    package init(signalsMin: Int) {
        precondition(signalsMin > 0)
        self.signalsMin = signalsMin
    }

    /// No recent throttling; the state can be discarded.
    package var isCalm: Bool { phase == .closed && signals == 0 }

    /// The number of pushes that may be handed to the lane now.
    package func room(isUrgent: Bool) -> Int {
        switch phase {
        case .closed: .max
        case .open(_, let triesFrom): isUrgent && triesFrom == nil ? 1 : 0
        case .halfOpen(let limit): max(0, limit - tries)
        }
    }

    /// Notes that the provider refused the credential. One push is tried at a time, until one is accepted.
    package mutating func suspect(_ now: MonotonicInstant) {
        isSuspected = true
        if case .open = phase { return }
        halfOpen(1, now)
    }

    /// Forgets the refusal, because the credential is not used any more.
    package mutating func trust() { isSuspected = false }

    package mutating func admitted(_ count: Int, _ now: MonotonicInstant) {
        guard phase != .closed, count > 0 else { return }
        tries += count
        if case .open(let until, nil) = phase { phase = .open(until: until, triesFrom: now + Self.tryEvery) }
    }

    /// Notes that `count` pushes of one lease are no longer with the lane.
    package mutating func returned(_ count: Int, leasedAt: MonotonicInstant) {
        if phase != .closed, leasedAt >= since { tries = max(0, tries - count) }
    }

    /// Applies what time alone changes.
    package mutating func pass(_ now: MonotonicInstant) {
        switch phase {
        case .closed: if let signalAt, now - signalAt > Self.memory { forget() }
        case .open(let until, _) where until <= now: halfOpen(1, now)
        case .open(let until, let triesFrom?) where triesFrom <= now: phase = .open(until: until, triesFrom: nil)
        case .open: break
        case .halfOpen: if !isSuspected, now - since >= Self.memory { close() }
        }
    }

    /// When `pass` next changes anything.
    package var wakeAt: MonotonicInstant? {
        switch phase {
        case .closed: nil
        case .open(let until, let triesFrom): triesFrom.map { min($0, until) } ?? until
        case .halfOpen: isSuspected ? nil : since + Self.memory
        }
    }

    /// Records answers that were read together, all of one lease.
    /// - Parameter entropy: randomness, to spread a pause that the provider did not ask for.
    /// - Returns: the length of the pause if this opens the breaker, else nil.
    package mutating func record(
        _ answers: LaneAnswers, of message: MessageID, leasedAt: MonotonicInstant, _ now: MonotonicInstant,
        entropy: UInt64
    ) -> Duration? {
        if answers.taken > 0 {
            noteTaken(message, now)
            if leasedAt >= since { isSuspected = false }
        }
        switch phase {
        case .open(let until, let triesFrom):
            if answers.taken > 0, leasedAt >= since {
                halfOpen(1 + (Self.growth - 1) * answers.taken, now)
            } else if answers.signals > 0 {
                let later = max(until, now + min(answers.pause, Self.openMax))
                phase = .open(until: later, triesFrom: triesFrom)
                opening?.until = later
            }
            return nil
        case .halfOpen(let limit):
            guard leasedAt >= since else { return nil }
            let more = min(limit + (Self.growth - 1) * answers.taken, Self.halfOpenMax + 1)
            phase = .halfOpen(limit: more)
            count(answers, of: message, now)
            // A breaker that is half-open because of its credential was not open before: one signal says as little.
            let isEnough = opening != nil || signals >= signalsMin
            if isToOpen, isEnough, answers.signals > 0 { return openUp(now, entropy) }
            if more > Self.halfOpenMax { close() }
            return nil
        case .closed:
            guard answers.signals > 0 || signals > 0 else { return nil }
            count(answers, of: message, now)
            if signals == 0 { answered = 0 }
            guard isToOpen, answers.signals > 0, signals >= signalsMin else { return nil }
            return openUp(now, entropy)
        }
    }

    private mutating func noteTaken(_ message: MessageID, _ now: MonotonicInstant) {
        if let taken, taken.message != message { takenBefore = taken }
        taken = Taken(message: message, at: now, signals: signalsTotal)
    }

    private mutating func count(_ answers: LaneAnswers, of message: MessageID, _ now: MonotonicInstant) {
        if let signalAt, now - signalAt > Self.memory { forget() }
        if answers.signals > 0 {
            if signals == 0 { signalsOf = message } else if signalsOf != message { signalsOf = nil }
            signalAt = now
            let until = now + min(answers.pause, Self.openMax)
            asked = asked.map { max($0, until) } ?? until
        }
        answered += answers.taken + answers.signals
        signals += answers.signals
        signalsTotal += answers.signals
        // Old answers say nothing about now, so counts fade. One signal is kept, or its message would be forgotten.
        while answered >= Self.answersForEach * signalsMin {
            (answered, signals) = (answered / 2, signals == 1 ? 1 : signals / 2)
        }
    }

    /// Whether most answers are signals about the lane. If one message gets all of them while another's pushes are
    /// accepted, they concern that message.
    private var isToOpen: Bool {
        guard signals * 2 > answered, let signalAt else { return false }
        guard let signalsOf else { return true }
        return ![taken, takenBefore].contains { other in
            other.map {
                $0.message != signalsOf && signalAt - $0.at <= Self.beside
                    && signalsTotal - $0.signals <= Self.besideForEach * signalsMin
            } ?? false
        }
    }

    private mutating func openUp(_ now: MonotonicInstant, _ entropy: UInt64) -> Duration {
        let count = min((opening?.count ?? 0) + 1, 1_000)
        let pause = asked.map { $0 - now } ?? .zero
        let length = min(max(pause, Self.backoff.delay(afterFailures: count, entropy: entropy)), Self.openMax)
        opening = Opening(began: opening?.began ?? now, latest: now, until: now + length, count: count)
        phase = .open(until: now + length, triesFrom: nil)
        begin(now)
        return length
    }

    private mutating func halfOpen(_ limit: Int, _ now: MonotonicInstant) {
        phase = .halfOpen(limit: limit)
        begin(now)
    }

    private mutating func begin(_ now: MonotonicInstant) {
        (since, tries) = (now, 0)
        forget()
    }

    private mutating func close() {
        (phase, opening) = (.closed, nil)
        forget()
    }

    private mutating func forget() { (answered, signals, signalsOf, signalAt, asked) = (0, 0, nil, nil, nil) }
}

/// The meaning for their lane of answers to the pushes of one lease.
package struct LaneAnswers: Equatable, Sendable {
    /// Accepted or rejected pushes: the provider had capacity for them.
    package private(set) var taken: Int
    /// Answers that ask the whole lane to slow down.
    package private(set) var signals = 0
    /// The longest pause that a signal asks for.
    package private(set) var pause = Duration.zero

    package init(accepted: Int, others: [PositionedOutcome]) {
        taken = accepted
        for other in others {
            switch other.outcome {
            case .accepted, .rejected: taken += 1
            case .deferred(let after, .laneThrottled), .deferred(let after, .providerUnavailable):
                signals += 1
                pause = max(pause, after ?? .zero)
            case .deferred, .unsent, .unknown, .withheld: break
            }
        }
    }
}
