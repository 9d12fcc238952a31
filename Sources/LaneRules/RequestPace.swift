import Basis

/// The pace for a provider that counts requests per minute, reached gradually.
///
/// A token bucket that holds one second's requests, so that no burst is larger. After an idle time it starts at a tenth
/// of its rate and grows for a minute: a provider throttles traffic that jumps from zero. Source: FCM, "Throttling and
/// quotas": 600,000 messages a minute for a project, ramp up over at least a minute, 429 answers don't count.
package struct RequestPace: Equatable, Sendable {
    /// The time from idle to the whole rate.
    package static let rampLength: Duration = .seconds(60)
    /// The ramp begins again after this time without a request.
    package static let idleAfter: Duration = .seconds(60)
    /// The fraction of the rate at which the ramp begins.
    private static let rampStart = 0.1

    package let perMinute: Int
    /// This process's part; other processes use the rest.
    private var part = QuotaPart.whole
    /// Requests that may leave now, with a fraction.
    private var saved: Double = 0
    private var savedAt: MonotonicInstant?
    private var rampSince: MonotonicInstant?

    package init(perMinute: Int) {
        precondition(perMinute > 0)
        self.perMinute = perMinute
    }

    /// The number of requests that may leave now.
    package mutating func allowance(_ now: MonotonicInstant) -> Int {
        refill(now)
        return Int(saved)
    }

    package mutating func took(_ count: Int) { saved -= Double(count) }

    /// Gives back requests whose answers the provider doesn't count.
    package mutating func giveBack(_ count: Int) { saved = min(saved + Double(count), capacity) }

    /// Limits the pace to this part of the rate from now on.
    package mutating func hold(_ part: QuotaPart, _ now: MonotonicInstant) {
        guard part != self.part else { return }
        if savedAt != nil { refill(now) }
        self.part = part
        saved = min(saved, capacity)
    }

    /// Takes over the project's ramp.
    ///
    /// - Parameters:
    ///   - rampAge: how long the provider has seen requests, of any process.
    ///   - begins: the ramp begins with this process, which gets the allowance of a ramp's start.
    package mutating func follow(rampAge: Duration, begins: Bool, _ now: MonotonicInstant) {
        refill(now)
        rampSince = MonotonicInstant(nanoseconds: now.nanoseconds - rampAge.wholeNanoseconds)
        if begins { saved = max(saved, Self.rampStart * capacity) }
    }

    /// When `count` requests may leave: `now` if they may already.
    package func nextAt(_ now: MonotonicInstant, count: Int = 1) -> MonotonicInstant {
        if saved >= Double(count) { return now }
        let seconds = (Double(count) - saved) / rate(now)
        // A whole batch at a time: a wake-up per request would cost more than the request.
        return now + max(.nanoseconds(Int64(seconds * 1e9)), Self.grain)
    }

    /// The shortest time between two wake-ups to send.
    private static let grain: Duration = .milliseconds(5)

    private mutating func refill(_ now: MonotonicInstant) {
        guard let last = savedAt, now - last < Self.idleAfter else {
            // The first request after an idle time finds the allowance of a ramp's start, at least one request.
            rampSince = now
            savedAt = now
            saved = max(1, min(Self.rampStart * full, capacity))
            return
        }
        let passed = Double((now - last).wholeNanoseconds) / 1e9
        saved = min(saved + passed * rate(now), capacity)
        savedAt = now
    }

    /// Requests per second of all processes together.
    func wholePerSecond(_ now: MonotonicInstant) -> Double {
        guard let rampSince else { return Self.rampStart * full }
        let grown = Double((now - rampSince).wholeNanoseconds) / Double(Self.rampLength.wholeNanoseconds)
        return full * min(1, Self.rampStart + (1 - Self.rampStart) * max(0, grown))
    }

    private func rate(_ now: MonotonicInstant) -> Double { part.fraction * wholePerSecond(now) }

    private var full: Double { Double(perMinute) / 60 }
    private var capacity: Double { max(1, full * part.fraction) }
}
