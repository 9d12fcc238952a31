import Basis

/// One process's part of a project's quota, and when to ask for it again: its side of `QuotaLedger`.
///
/// Pushes don't wait for an answer. Until it comes, or if it stays away for long, the process sends at a hundredth of
/// the quota.
package struct QuotaAllotment: Equatable, Sendable {
    /// The part used without a grant. A few pushes pass at once, and a process cut off from the database exceeds the
    /// quota by too little for Google to notice.
    package static let advance = QuotaPart(millionths: 10_000)
    /// How long a part may be used, counted from before the request left. `QuotaLedger` keeps it reserved for longer.
    package static let lasts: Duration = .milliseconds(2_500)
    package static let askEvery: Duration = .seconds(1)
    /// The pause if another process is about to give up quota, or after a failed request.
    package static let askSoon: Duration = .milliseconds(250)
    /// Room to grow until the next request, for a process that uses little.
    private static let growth = 2.0

    private var part = QuotaPart.none
    private var until: MonotonicInstant?
    private var asking: Int64?
    /// nil: at once.
    private var asksAt: MonotonicInstant?
    /// Requests that left since this process last stated its needs, and when that was.
    private var taken = 0
    private var countedSince: MonotonicInstant?
    private var isPaused = false
    private var askedAt: MonotonicInstant?
    private var wanted = QuotaPart.none

    package init() {}

    /// The part that may be used now.
    package func part(_ now: MonotonicInstant) -> QuotaPart { max(current(now), Self.advance) }

    private func current(_ now: MonotonicInstant) -> QuotaPart {
        guard let until, now < until else { return .none }
        return part
    }

    mutating func took(_ count: Int) { taken += count }

    mutating func giveBack(_ count: Int) { taken -= count }

    /// Notes that a lane waits for the pace.
    mutating func paused() {
        isPaused = true
        guard wanted < .whole, let askedAt else { return }
        let soon = askedAt + Self.askSoon
        asksAt = asksAt.map { min($0, soon) }
    }

    /// The request to send now; nil: not yet. Called only by a lane that wants to send, so an idle process asks for
    /// nothing.
    /// - Parameter perSecond: requests that all processes together may send now.
    mutating func ask(perSecond: Double, _ now: MonotonicInstant) -> QuotaRequest? {
        guard asking == nil, asksAt.map({ now >= $0 }) ?? true else { return nil }
        judgeWants(perSecond, now)
        let ask = QuotaRequest(number: now.nanoseconds, wants: wanted, holds: current(now))
        (asking, askedAt, isPaused) = (ask.number, now, false)
        return ask
    }

    /// - Parameter grant: nil if none came.
    mutating func receive(_ grant: QuotaGrant?, of ask: QuotaRequest, _ now: MonotonicInstant) {
        guard asking == ask.number, let askedAt else { return }
        asking = nil
        guard let grant else {
            asksAt = now + Self.askSoon
            return
        }
        part = grant.part
        until = askedAt + Self.lasts
        if ask.holds - grant.part > .slight {
            // Other processes wait for the report that this one uses less.
            asksAt = now
        } else {
            asksAt = askedAt + (grant.isShort ? Self.askSoon : Self.askEvery)
        }
    }

    private mutating func judgeWants(_ perSecond: Double, _ now: MonotonicInstant) {
        if isPaused {
            wanted = .whole
        } else if let countedSince {
            let counted = now - countedSince
            // A shorter time may hold a burst or none, and would misstate the use of the whole time.
            guard counted >= Self.askEvery else { return }
            let used = Double(max(0, taken)) / (Double(counted.wholeNanoseconds) / 1e9) / perSecond
            wanted = max(Self.advance, QuotaPart(millionths: Int32(min(1, Self.growth * used) * 1_000_000)))
        } else {
            // The need is not known yet. With much to send, it is reported soon.
            wanted = Self.advance
        }
        (taken, countedSince) = (0, now)
    }
}
