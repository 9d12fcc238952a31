import Basis

/// What one process holds of a project's quota, and when to ask for it anew: its side of `QuotaLedger`.
///
/// Nobody waits for an answer. Until it comes, and when it fails to come for long, the process sends at a hundredth of
/// the quota.
package struct QuotaAllotment: Equatable, Sendable {
    /// Without a part: a few pushes pass at once, and a process that is cut off from the database costs the others
    /// nothing that Google would notice.
    package static let advance = QuotaPart(millionths: 10_000)
    /// A part is used for so long, counted from before the ask left. `QuotaLedger` keeps it for longer.
    package static let lasts: Duration = .milliseconds(2_500)
    package static let askEvery: Duration = .seconds(1)
    /// Where somebody else is about to give way, or the last ask failed.
    package static let askSoon: Duration = .milliseconds(250)
    /// Room to grow until the next ask, for who uses little.
    private static let growth = 2.0

    private var part = QuotaPart.none
    private var until: MonotonicInstant?
    private var asking: Int64?
    /// nil: at once.
    private var asksAt: MonotonicInstant?
    /// What left since it was last said how much this process would use, and when that was.
    private var taken = 0
    private var countedSince: MonotonicInstant?
    private var isPaused = false
    private var askedAt: MonotonicInstant?
    private var wanted = QuotaPart.none

    package init() {}

    /// What may be used now.
    package func part(_ now: MonotonicInstant) -> QuotaPart { max(current(now), Self.advance) }

    private func current(_ now: MonotonicInstant) -> QuotaPart {
        guard let until, now < until else { return .none }
        return part
    }

    mutating func took(_ count: Int) { taken += count }

    mutating func giveBack(_ count: Int) { taken -= count }

    /// A lane waits for the pace.
    mutating func paused() {
        isPaused = true
        guard wanted < .whole, let askedAt else { return }
        let soon = askedAt + Self.askSoon
        asksAt = asksAt.map { min($0, soon) }
    }

    /// To be asked now; nil: not yet. Asked only by who wants to send, so that nobody asks who has nothing to send.
    /// - Parameter perSecond: requests that all processes together may send now.
    mutating func ask(perSecond: Double, _ now: MonotonicInstant) -> QuotaRequest? {
        guard asking == nil, asksAt.map({ now >= $0 }) ?? true else { return nil }
        judgeWants(perSecond, now)
        let ask = QuotaRequest(number: now.nanoseconds, wants: wanted, holds: current(now))
        (asking, askedAt, isPaused) = (ask.number, now, false)
        return ask
    }

    /// - Parameter grant: nil where none came.
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
            // Others wait for the word that this process uses less.
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
            // A shorter time has a burst in it, or has none: either would be told as what is used in all of it.
            guard counted >= Self.askEvery else { return }
            let used = Double(max(0, taken)) / (Double(counted.wholeNanoseconds) / 1e9) / perSecond
            wanted = max(Self.advance, QuotaPart(millionths: Int32(min(1, Self.growth * used) * 1_000_000)))
        } else {
            // Not known yet: it will be said soon where there is much to send.
            wanted = Self.advance
        }
        (taken, countedSince) = (0, now)
    }
}
