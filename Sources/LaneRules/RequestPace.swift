import Basis

/// The pace for a provider that counts pushes per minute, reached gradually.
///
/// A request counts the pushes that it carries. One that carries more than the allowance leaves if there is any, and
/// the next waits until that debt is paid: no pace is too slow for a large request.
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
    /// The number of processes that share the rate equally; nil: not known yet, and this one stays at the ramp's start.
    private var processes: Int?
    /// Requests that may leave now, with a fraction.
    private var saved: Double = 0
    private var savedAt: MonotonicInstant?
    private var rampSince: MonotonicInstant?

    package init(perMinute: Int, processes: Int? = 1) {
        precondition(perMinute > 0)
        (self.perMinute, self.processes) = (perMinute, processes)
    }

    package mutating func allowance(_ now: MonotonicInstant) -> Int {
        refill(now)
        return Int(saved)
    }

    package mutating func took(_ count: Int) { saved -= Double(count) }

    /// Gives back requests whose answers the provider doesn't count.
    package mutating func giveBack(_ count: Int) { saved = min(saved + Double(count), capacity) }

    /// Divides the rate among this number of processes from now on.
    package mutating func divide(among processes: Int?, _ now: MonotonicInstant) {
        guard processes != self.processes else { return }
        if savedAt != nil { refill(now) }
        self.processes = processes.map { max(1, $0) }
        saved = min(saved, capacity)
    }

    /// When `count` requests may leave: `now` if they may already.
    package func nextAt(_ now: MonotonicInstant, count: Int = 1) -> MonotonicInstant {
        if saved >= Double(count) { return now }
        let seconds = (Double(count) - saved) / rate(now)
        // A whole batch at a time: a wake-up per request would cost more than the request.
        return now + max(.nanoseconds(Int64(seconds * 1e9)), Self.grain)
    }

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

    /// Requests per second of this process.
    private func rate(_ now: MonotonicInstant) -> Double {
        guard let processes, let rampSince else { return Self.rampStart * full }
        let grown = Double((now - rampSince).wholeNanoseconds) / Double(Self.rampLength.wholeNanoseconds)
        return full * min(1, Self.rampStart + (1 - Self.rampStart) * max(0, grown)) / Double(processes)
    }

    private var full: Double { Double(perMinute) / 60 }
    private var capacity: Double { max(1, processes.map { full / Double($0) } ?? Self.rampStart * full) }
}
