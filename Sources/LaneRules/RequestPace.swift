import Basis

/// How fast may be sent where a provider counts: so many requests a minute, reached little by little.
///
/// A token bucket that holds one second's requests, so that no burst is larger. After a rest it starts at a tenth of
/// its rate and grows for a minute: a provider that sees traffic jump from nothing throttles it.
/// Source: FCM, "Throttling and quotas": 600,000 messages a minute for a project, ramp up over at least a minute, 429
/// answers don't count.
package struct RequestPace: Equatable, Sendable {
    /// From a rest to the whole rate.
    package static let rampLength: Duration = .seconds(60)
    /// Without a request for so long, the ramp begins anew.
    package static let idleAfter: Duration = .seconds(60)
    /// Where the ramp begins: this part of the rate.
    private static let rampStart = 0.1

    package let perMinute: Int
    /// The others' is spent by other processes.
    private var part = QuotaPart.whole
    /// Requests that may leave now, whole and in part.
    private var saved: Double = 0
    private var savedAt: MonotonicInstant?
    private var rampSince: MonotonicInstant?

    package init(perMinute: Int) {
        precondition(perMinute > 0)
        self.perMinute = perMinute
    }

    /// How many requests may leave now.
    package mutating func allowance(_ now: MonotonicInstant) -> Int {
        refill(now)
        return Int(saved)
    }

    package mutating func took(_ count: Int) { saved -= Double(count) }

    /// A request was answered in a way that the provider doesn't count.
    package mutating func giveBack(_ count: Int) { saved = min(saved + Double(count), capacity) }

    /// From now on no more than this part of the rate.
    package mutating func hold(_ part: QuotaPart, _ now: MonotonicInstant) {
        guard part != self.part else { return }
        if savedAt != nil { refill(now) }
        self.part = part
        saved = min(saved, capacity)
    }

    /// For how long the provider has seen requests, this process's or others'.
    /// - Parameter begins: with this process, which then finds what is there at a ramp's start.
    package mutating func follow(rampAge: Duration, begins: Bool, _ now: MonotonicInstant) {
        refill(now)
        rampSince = MonotonicInstant(nanoseconds: now.nanoseconds - rampAge.wholeNanoseconds)
        if begins { saved = max(saved, Self.rampStart * capacity) }
    }

    /// When so many requests may leave: now, where they may.
    package func nextAt(_ now: MonotonicInstant, count: Int = 1) -> MonotonicInstant {
        if saved >= Double(count) { return now }
        let seconds = (Double(count) - saved) / rate(now)
        // A whole batch at a time: waking for each request would cost more than it sends.
        return now + max(.nanoseconds(Int64(seconds * 1e9)), Self.grain)
    }

    /// Not more often than this is the lane woken to send.
    private static let grain: Duration = .milliseconds(5)

    private mutating func refill(_ now: MonotonicInstant) {
        guard let last = savedAt, now - last < Self.idleAfter else {
            // The first after a rest finds what a moment at the ramp's start gives, and one at least.
            rampSince = now
            savedAt = now
            saved = max(1, min(Self.rampStart * full, capacity))
            return
        }
        let passed = Double((now - last).wholeNanoseconds) / 1e9
        saved = min(saved + passed * rate(now), capacity)
        savedAt = now
    }

    /// Requests a second, of all processes together.
    func wholePerSecond(_ now: MonotonicInstant) -> Double {
        guard let rampSince else { return Self.rampStart * full }
        let grown = Double((now - rampSince).wholeNanoseconds) / Double(Self.rampLength.wholeNanoseconds)
        return full * min(1, Self.rampStart + (1 - Self.rampStart) * max(0, grown))
    }

    private func rate(_ now: MonotonicInstant) -> Double { part.fraction * wholePerSecond(now) }

    private var full: Double { Double(perMinute) / 60 }
    private var capacity: Double { max(1, full * part.fraction) }
}
