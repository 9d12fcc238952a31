import Basis
import Model

/// Whether a provider takes as much as it is sent, by what its answers say of the whole lane: "too many", "not now".
///
/// One such word is its push's own affair. Where most of the latest answers are such words, whatever is sent besides is
/// sent in vain and costs each push an attempt. So nothing leaves then for as long as the provider asks, and for some
/// second, two, four and so on at least; then one push, and seven more for each that is taken. Somebody waits for a
/// transactional push: one of them a second is tried all the same, and ends the rest where it is taken.
///
/// flowing → (most answers) → resting → (over, or a try was taken) → probing → (enough taken) → flowing
///                               ↖ (most answers since) ↙
package struct LaneThrottle: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// As much as there is room for.
        case closed
        /// `triesFrom`: no transactional push before; nil: one may be tried.
        case open(until: MonotonicInstant, triesFrom: MonotonicInstant?)
        /// So many in flight at once.
        case halfOpen(limit: Int, since: MonotonicInstant)
    }

    /// Fewer words say nothing of the other pushes.
    private let signalsMin: Int
    /// After so long without a word all are forgotten; and so long a probing lasts at most, which most answers don't end.
    package static let memory: Duration = .seconds(10)
    /// So long a push of another message that was taken says that a word is about its own message.
    package static let beside: Duration = .seconds(1)
    /// And of so many words, for each of those that suffice: these go for nothing where the provider went down a moment
    /// after that push.
    private static let besideForEach = 8
    /// So many in flight, all taken: the provider is well again.
    package static let halfOpenMax = 512
    package static let tryEvery: Duration = .seconds(1)
    /// Whatever is asked for.
    package static let openMax: Duration = .seconds(600)
    private static let growth = 8
    /// Of so many answers for each of the words that suffice the older half is forgotten.
    private static let answersForEach = 4
    /// Where less is asked for. Source: APNs and FCM ask for an exponential pause, and name no numbers for a lane.
    private static let backoff = Backoff(floor: .seconds(1), ceiling: .seconds(60))

    package private(set) var phase = Phase.closed
    /// What is leased before says nothing of how the provider is now.
    package private(set) var since = MonotonicInstant(nanoseconds: .min)
    /// How many of those leased since are with the lane.
    private var tries = 0
    /// The latest answers, and how many of them are such words.
    private var answered = 0
    private var signals = 0
    /// Such words in all, ever.
    private var signalsTotal = 0
    private var signalAt: MonotonicInstant?
    /// Until when the longest of the pauses lasts that they ask for.
    private var asked: MonotonicInstant?
    /// The message whose pushes got them; nil: several.
    private var signalsOf: MessageID?
    /// Of which message pushes were taken last, and of which other one before.
    private var taken: Taken?
    private var takenBefore: Taken?
    /// In a row: the provider did not get well in between.
    private var openings = 0

    private struct Taken: Equatable, Sendable {
        let message: MessageID
        let at: MonotonicInstant
        /// How many words there had been by then.
        let signals: Int
    }

    /// - Parameter signalsMin: fewer are their pushes' own affair. More let a lane go on for longer that has one bad
    ///   connection among others, or a provider that says so.
    package init(signalsMin: Int) {
        precondition(signalsMin > 0)
        self.signalsMin = signalsMin
    }

    /// nil: it does not rest.
    package var openBreaker: OpenBreaker? {
        if case .open(let until, _) = phase { OpenBreaker(since: since, until: until) } else { nil }
    }

    package var isOpen: Bool { if case .open = phase { true } else { false } }

    /// Nothing was said of late: whoever forgets it forgets nothing.
    package var isCalm: Bool { phase == .closed && signals == 0 }

    /// How many pushes may be handed to the lane now.
    ///
    /// - Parameter isUrgent: they are transactional.
    package func room(isUrgent: Bool) -> Int {
        switch phase {
        case .closed: .max
        case .open(_, let triesFrom): isUrgent && triesFrom == nil ? 1 : 0
        case .halfOpen(let limit, _): max(0, limit - tries)
        }
    }

    /// So many are handed to the lane.
    package mutating func admitted(_ count: Int, _ now: MonotonicInstant) {
        guard phase != .closed, count > 0 else { return }
        tries += count
        if case .open(let until, nil) = phase { phase = .open(until: until, triesFrom: now + Self.tryEvery) }
    }

    /// So many of one lease are with the lane no more, whatever became of them.
    package mutating func returned(_ count: Int, leasedAt: MonotonicInstant) {
        if phase != .closed, leasedAt >= since { tries = max(0, tries - count) }
    }

    /// What time alone changes.
    package mutating func pass(_ now: MonotonicInstant) {
        switch phase {
        case .closed: if let signalAt, now - signalAt > Self.memory { forget() }
        case .open(let until, _) where until <= now: halfOpen(1, now)
        case .open(let until, let triesFrom?) where triesFrom <= now: phase = .open(until: until, triesFrom: nil)
        case .open: break
        case .halfOpen(_, let began): if now - began >= Self.memory { close() }
        }
    }

    /// When `pass` changes something next.
    package var wakeAt: MonotonicInstant? {
        switch phase {
        case .closed: nil
        case .open(let until, let triesFrom): triesFrom.map { min($0, until) } ?? until
        case .halfOpen(_, let began): began + Self.memory
        }
    }

    /// What answers say that were read together, all of one lease.
    ///
    /// - Parameters:
    ///   - answers: how many were taken or refused for what they are, how many say that the lane is to slow down, and the
    ///     longest pause that one of these asks for.
    ///   - entropy: chance, for the spread of a rest that nobody asked for.
    /// - Returns: the rest that begins with it; nil: none does.
    package mutating func record(
        _ answers: LaneAnswers, of message: MessageID, leasedAt: MonotonicInstant, _ now: MonotonicInstant,
        entropy: UInt64
    ) -> Duration? {
        if answers.taken > 0 { noteTaken(message, now) }
        switch phase {
        case .open(let until, let triesFrom):
            if answers.taken > 0, leasedAt >= since {
                halfOpen(1 + (Self.growth - 1) * answers.taken, now)
            } else if answers.signals > 0 {
                let later = max(until, now + min(answers.pause, Self.openMax))
                phase = .open(until: later, triesFrom: triesFrom)
            }
            return nil
        case .halfOpen(let limit, let began):
            guard leasedAt >= since else { return nil }
            let more = min(limit + (Self.growth - 1) * answers.taken, Self.halfOpenMax + 1)
            phase = .halfOpen(limit: more, since: began)
            count(answers, of: message, now)
            if isToOpen, answers.signals > 0 { return openUp(now, entropy) }
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
        // What was well before says nothing of now. Not to nothing, by which their message would be forgotten.
        while answered >= Self.answersForEach * signalsMin {
            (answered, signals) = (answered / 2, signals == 1 ? 1 : signals / 2)
        }
    }

    /// Where one message gets all the words while another one's pushes are taken, it is not the lane that they mean.
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
        openings = min(openings + 1, 1_000)
        let pause = asked.map { $0 - now } ?? .zero
        let length = min(max(pause, Self.backoff.delay(afterFailures: openings, entropy: entropy)), Self.openMax)
        phase = .open(until: now + length, triesFrom: nil)
        begin(now)
        return length
    }

    private mutating func halfOpen(_ limit: Int, _ now: MonotonicInstant) {
        phase = .halfOpen(limit: limit, since: now)
        begin(now)
    }

    private mutating func begin(_ now: MonotonicInstant) {
        (since, tries) = (now, 0)
        forget()
    }

    private mutating func close() {
        (phase, openings) = (.closed, 0)
        forget()
    }

    private mutating func forget() {
        (answered, signals, signalsOf, signalAt, asked) = (0, 0, nil, nil, nil)
    }
}

/// One rest of a lane. It may become longer; another one begins at another time.
package struct OpenBreaker: Equatable, Sendable {
    package let since: MonotonicInstant
    package let until: MonotonicInstant

    package init(since: MonotonicInstant, until: MonotonicInstant) {
        self.since = since
        self.until = until
    }
}

/// What answers to pushes of one lease say of their lane.
package struct LaneAnswers: Equatable, Sendable {
    /// Taken, or refused for what they are: the provider had time for them.
    package private(set) var taken: Int
    /// Those that tell the whole lane to slow down.
    package private(set) var signals = 0
    /// The longest that one of these asks for.
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
