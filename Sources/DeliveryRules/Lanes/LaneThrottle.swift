import PushModel

/// Whether a provider takes as much as it is sent, by what its answers say of the whole lane: "too many", "not now".
///
/// One such word is its push's own affair. Where most of the latest answers are such words, whatever is sent besides is
/// sent in vain and costs each push an attempt. So nothing leaves then for as long as the provider asks, or else for a
/// second, two, four and so on; then one request, and for each that is taken one more beside it.
///
/// flowing → (most answers) → resting → (over) → probing → (enough taken) → flowing
///                               ↖ (most answers since) ↙
package struct LaneThrottle: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// As many requests as there are streams for.
        case flowing
        /// None before.
        case resting(until: MonotonicInstant)
        /// So many in flight at once.
        case probing(limit: Int)
    }

    /// Fewer words say nothing of the other pushes.
    package static let wordsMin = 16
    /// Of so many answers the older half is forgotten: what was well before says nothing of now.
    package static let answersMax = 64
    /// After so long without an answer all of them are.
    package static let memory: Duration = .seconds(10)
    /// So many in flight, all taken: the provider is well again.
    package static let probingMax = 1_024
    /// Whatever is asked for.
    package static let restMax: Duration = .seconds(600)
    /// Where nothing is asked for. Source: APNs and FCM ask for an exponential pause, and name no numbers for a lane.
    private static let backoff = Backoff(floor: .seconds(1), ceiling: .seconds(60))

    package private(set) var phase = Phase.flowing
    /// Of the latest answers, how many were such words.
    private var answered = 0
    private var words = 0
    private var heardAt: MonotonicInstant?
    /// In a row: the provider did not get well in between.
    private var rests = 0

    package init() {}

    /// How many requests may leave now, beside those in flight.
    package mutating func room(inFlight: Int, _ now: MonotonicInstant) -> Int {
        switch phase {
        case .flowing: return .max
        case .resting(let until):
            guard now >= until else { return 0 }
            phase = .probing(limit: 1)
            (answered, words) = (0, 0)
            return max(0, 1 - inFlight)
        case .probing(let limit): return max(0, limit - inFlight)
        }
    }

    /// When requests may leave again; nil: now, or when one is answered.
    package var restsUntil: MonotonicInstant? {
        if case .resting(let until) = phase { until } else { nil }
    }

    /// An answer came, and it is no word of that kind.
    package mutating func taken() {
        guard case .probing(let limit) = phase else { return }
        if limit < Self.probingMax {
            phase = .probing(limit: limit + 1)
        } else {
            (phase, rests) = (.flowing, 0)
            (answered, words) = (0, 0)
        }
    }

    /// What so many answers say that were read together.
    ///
    /// - Parameters:
    ///   - count: such words among them.
    ///   - pause: the longest that one of these asks for.
    ///   - entropy: chance, for the spread of a rest that nobody asked for.
    /// - Returns: the rest that begins with it; nil: none does.
    package mutating func heard(
        _ count: Int, of all: Int, pause: Duration, _ now: MonotonicInstant, entropy: UInt64
    ) -> Duration? {
        if case .resting(let until) = phase {
            // They were under way when it began.
            if count > 0 { phase = .resting(until: max(until, now + min(pause, Self.restMax))) }
            return nil
        }
        if let heardAt, now - heardAt > Self.memory { (answered, words) = (0, 0) }
        heardAt = now
        answered += all
        words += count
        while answered >= Self.answersMax { (answered, words) = (answered / 2, words / 2) }
        guard words * 2 > answered, count > 0, words >= Self.wordsMin || phase != .flowing else { return nil }
        rests = min(rests + 1, 1_000)
        let rest = min(max(pause, Self.backoff.rest(afterFailures: rests, entropy: entropy)), Self.restMax)
        phase = .resting(until: now + rest)
        return rest
    }
}
