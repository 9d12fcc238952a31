import PushModel

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
        case flowing
        /// `triesFrom`: no transactional push before; nil: one may be tried.
        case resting(until: MonotonicInstant, triesFrom: MonotonicInstant?)
        /// So many in flight at once.
        case probing(limit: Int, since: MonotonicInstant)
    }

    /// Fewer words say nothing of the other pushes.
    private let wordsMin: Int
    /// After so long without a word all are forgotten; and so long a probing lasts at most, which most answers don't end.
    package static let memory: Duration = .seconds(10)
    /// So long a push of another message that was taken says that a word is about its own message.
    package static let beside: Duration = .seconds(1)
    /// And of so many words, for each of those that suffice: these go for nothing where the provider went down a moment
    /// after that push.
    private static let besideForEach = 8
    /// So many in flight, all taken: the provider is well again.
    package static let probingMax = 512
    package static let tryEvery: Duration = .seconds(1)
    /// Whatever is asked for.
    package static let restMax: Duration = .seconds(600)
    private static let growth = 8
    /// Of so many answers for each of the words that suffice the older half is forgotten.
    private static let answersForEach = 4
    /// Where less is asked for. Source: APNs and FCM ask for an exponential pause, and name no numbers for a lane.
    private static let backoff = Backoff(floor: .seconds(1), ceiling: .seconds(60))

    package private(set) var phase = Phase.flowing
    /// What is leased before says nothing of how the provider is now.
    package private(set) var since = MonotonicInstant(nanoseconds: .min)
    /// How many of those leased since are with the lane.
    private var tries = 0
    /// The latest answers, and how many of them are such words.
    private var answered = 0
    private var words = 0
    /// Such words in all, ever.
    private var wordsEver = 0
    private var wordAt: MonotonicInstant?
    /// Until when the longest of the pauses lasts that they ask for.
    private var asked: MonotonicInstant?
    /// The message whose pushes got them; nil: several.
    private var wordsOf: MessageID?
    /// Of which message pushes were taken last, and of which other one before.
    private var taken: Taken?
    private var takenBefore: Taken?
    /// In a row: the provider did not get well in between.
    private var rests = 0

    private struct Taken: Equatable, Sendable {
        let message: MessageID
        let at: MonotonicInstant
        /// How many words there had been by then.
        let words: Int
    }

    /// - Parameter wordsMin: fewer are their pushes' own affair. More let a lane go on for longer that has one bad
    ///   connection among others, or a provider that says so.
    package init(wordsMin: Int) {
        precondition(wordsMin > 0)
        self.wordsMin = wordsMin
    }

    /// nil: it does not rest.
    package var rest: LaneRest? {
        if case .resting(let until, _) = phase { LaneRest(since: since, until: until) } else { nil }
    }

    package var isResting: Bool { if case .resting = phase { true } else { false } }

    /// Nothing was said of late: whoever forgets it forgets nothing.
    package var isCalm: Bool { phase == .flowing && words == 0 }

    /// How many pushes may be handed to the lane now.
    ///
    /// - Parameter isUrgent: they are transactional.
    package func room(isUrgent: Bool) -> Int {
        switch phase {
        case .flowing: .max
        case .resting(_, let triesFrom): isUrgent && triesFrom == nil ? 1 : 0
        case .probing(let limit, _): max(0, limit - tries)
        }
    }

    /// So many are handed to the lane.
    package mutating func admitted(_ count: Int, _ now: MonotonicInstant) {
        guard phase != .flowing, count > 0 else { return }
        tries += count
        if case .resting(let until, nil) = phase { phase = .resting(until: until, triesFrom: now + Self.tryEvery) }
    }

    /// So many of one lease are with the lane no more, whatever became of them.
    package mutating func returned(_ count: Int, leasedAt: MonotonicInstant) {
        if phase != .flowing, leasedAt >= since { tries = max(0, tries - count) }
    }

    /// What time alone changes.
    package mutating func pass(_ now: MonotonicInstant) {
        switch phase {
        case .flowing: if let wordAt, now - wordAt > Self.memory { forget() }
        case .resting(let until, _) where until <= now: probe(1, now)
        case .resting(let until, let triesFrom?) where triesFrom <= now: phase = .resting(until: until, triesFrom: nil)
        case .resting: break
        case .probing(_, let began): if now - began >= Self.memory { flow() }
        }
    }

    /// When `pass` changes something next.
    package var wakeAt: MonotonicInstant? {
        switch phase {
        case .flowing: nil
        case .resting(let until, let triesFrom): triesFrom.map { min($0, until) } ?? until
        case .probing(_, let began): began + Self.memory
        }
    }

    /// What answers say that were read together, all of one lease.
    ///
    /// - Parameters:
    ///   - answers: how many were taken or refused for what they are, how many say that the lane is to slow down, and the
    ///     longest pause that one of these asks for.
    ///   - entropy: chance, for the spread of a rest that nobody asked for.
    /// - Returns: the rest that begins with it; nil: none does.
    package mutating func heard(
        _ answers: LaneAnswers, of message: MessageID, leasedAt: MonotonicInstant, _ now: MonotonicInstant,
        entropy: UInt64
    ) -> Duration? {
        if answers.taken > 0 { noteTaken(message, now) }
        switch phase {
        case .resting(let until, let triesFrom):
            if answers.taken > 0, leasedAt >= since {
                probe(1 + (Self.growth - 1) * answers.taken, now)
            } else if answers.words > 0 {
                let later = max(until, now + min(answers.pause, Self.restMax))
                phase = .resting(until: later, triesFrom: triesFrom)
            }
            return nil
        case .probing(let limit, let began):
            guard leasedAt >= since else { return nil }
            let more = min(limit + (Self.growth - 1) * answers.taken, Self.probingMax + 1)
            phase = .probing(limit: more, since: began)
            count(answers, of: message, now)
            if isToRest, answers.words > 0 { return rest(now, entropy) }
            if more > Self.probingMax { flow() }
            return nil
        case .flowing:
            guard answers.words > 0 || words > 0 else { return nil }
            count(answers, of: message, now)
            if words == 0 { answered = 0 }
            guard isToRest, answers.words > 0, words >= wordsMin else { return nil }
            return rest(now, entropy)
        }
    }

    private mutating func noteTaken(_ message: MessageID, _ now: MonotonicInstant) {
        if let taken, taken.message != message { takenBefore = taken }
        taken = Taken(message: message, at: now, words: wordsEver)
    }

    private mutating func count(_ answers: LaneAnswers, of message: MessageID, _ now: MonotonicInstant) {
        if let wordAt, now - wordAt > Self.memory { forget() }
        if answers.words > 0 {
            if words == 0 { wordsOf = message } else if wordsOf != message { wordsOf = nil }
            wordAt = now
            let until = now + min(answers.pause, Self.restMax)
            asked = asked.map { max($0, until) } ?? until
        }
        answered += answers.taken + answers.words
        words += answers.words
        wordsEver += answers.words
        // What was well before says nothing of now. Not to nothing, by which their message would be forgotten.
        while answered >= Self.answersForEach * wordsMin {
            (answered, words) = (answered / 2, words == 1 ? 1 : words / 2)
        }
    }

    /// Where one message gets all the words while another one's pushes are taken, it is not the lane that they mean.
    private var isToRest: Bool {
        guard words * 2 > answered, let wordAt else { return false }
        guard let wordsOf else { return true }
        return ![taken, takenBefore].contains { other in
            other.map {
                $0.message != wordsOf && wordAt - $0.at <= Self.beside
                    && wordsEver - $0.words <= Self.besideForEach * wordsMin
            } ?? false
        }
    }

    private mutating func rest(_ now: MonotonicInstant, _ entropy: UInt64) -> Duration {
        rests = min(rests + 1, 1_000)
        let pause = asked.map { $0 - now } ?? .zero
        let rest = min(max(pause, Self.backoff.rest(afterFailures: rests, entropy: entropy)), Self.restMax)
        phase = .resting(until: now + rest, triesFrom: nil)
        begin(now)
        return rest
    }

    private mutating func probe(_ limit: Int, _ now: MonotonicInstant) {
        phase = .probing(limit: limit, since: now)
        begin(now)
    }

    private mutating func begin(_ now: MonotonicInstant) {
        (since, tries) = (now, 0)
        forget()
    }

    private mutating func flow() {
        (phase, rests) = (.flowing, 0)
        forget()
    }

    private mutating func forget() {
        (answered, words, wordsOf, wordAt, asked) = (0, 0, nil, nil, nil)
    }
}

/// One rest of a lane. It may become longer; another one begins at another time.
package struct LaneRest: Equatable, Sendable {
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
    package private(set) var words = 0
    /// The longest that one of these asks for.
    package private(set) var pause = Duration.zero

    package init(accepted: Int, others: [PositionedOutcome]) {
        taken = accepted
        for other in others {
            switch other.outcome {
            case .accepted, .rejected: taken += 1
            case .deferred(let after, .laneThrottled), .deferred(let after, .providerUnavailable):
                words += 1
                pause = max(pause, after ?? .zero)
            case .deferred, .unsent, .unknown, .withheld: break
            }
        }
    }
}
