import Basis

/// One pace for several lanes: the provider counts a project, whichever credential speaks for it.
///
/// What may leave goes to whoever wants to send, in equal parts: each lane's share is what it was served since it began
/// to want, and what there is goes to the one that was served least. Who wants nothing leaves the others all of it, and
/// saves nothing up. The ramp is the project's, too: a lane that comes later doesn't begin one of its own.
///
/// Other processes may speak for the project: then it is the pace of the part that this one holds (`QuotaAllotment`),
/// which its lanes' questions keep fresh.
package struct SharedPace: Equatable, Sendable {
    /// A lane's place in the pace.
    package struct Share: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Sharer: Equatable, Sendable {
        let share: Share
        /// Requests that it was served, as far as that still decides who is next.
        var served = 0
        var isWanting = false
        /// When it will ask again at the latest, as it was told.
        var asksAt: MonotonicInstant?
    }

    private var pace: RequestPace
    /// In the order of their coming.
    private var sharers: [Sharer] = []
    private var shares: UInt64 = 0
    /// nil: the whole is this process's.
    private var holding: QuotaAllotment?

    /// A lane that has not asked for so long after it was to is not waited for: what it leaves would be lost to all.
    private static let timeout: Duration = .seconds(1)

    /// A lane of a process among others asks again after so long: its part may have grown meanwhile.
    private static let checksAgainAfter: Duration = .milliseconds(100)

    package init(perMinute: Int, amongProcesses: Bool = false) {
        pace = RequestPace(perMinute: perMinute)
        holding = amongProcesses ? QuotaAllotment() : nil
    }

    package var perMinute: Int { pace.perMinute }

    package mutating func join() -> Share {
        shares += 1
        let share = Share(number: shares)
        sharers.append(Sharer(share: share))
        return share
    }

    package mutating func leave(_ share: Share) { sharers.removeAll { $0.share == share } }

    /// How many requests of this lane, which wants to send, may leave now.
    package mutating func allowance(_ share: Share, _ now: MonotonicInstant) -> Int {
        guard let place = place(of: share) else { return 0 }
        want(place, now)
        if let holding { pace.hold(holding.part(now), now) }
        return part(of: place, in: pace.allowance(now), now)
    }

    package mutating func took(_ share: Share, _ count: Int) {
        pace.took(count)
        holding?.took(count)
        guard let place = place(of: share) else { return }
        sharers[place].served += count
    }

    /// A request was answered in a way that the provider doesn't count: another of this lane may leave in its place.
    package mutating func giveBack(_ share: Share, _ count: Int) {
        pace.giveBack(count)
        holding?.giveBack(count)
        guard let place = place(of: share) else { return }
        sharers[place].served -= count
    }

    /// It has nothing to send at present, or nowhere to send it.
    package mutating func idle(_ share: Share) {
        guard let place = place(of: share) else { return }
        sharers[place].isWanting = false
    }

    /// When the next request of this lane may leave: now, where one may. The lane asks again then.
    package mutating func nextAt(_ share: Share, _ now: MonotonicInstant) -> MonotonicInstant {
        guard let place = place(of: share) else { return now + Self.timeout }
        // One for each that others are behind, and one of its own.
        var needed = 1
        for other in sharers.indices where other != place && isAwaited(other, now) {
            needed += max(0, sharers[place].served - sharers[other].served + (other < place ? 1 : 0))
        }
        var next = pace.nextAt(now, count: needed)
        if holding != nil, next > now {
            holding?.paused()
            next = min(next, now + Self.checksAgainAfter)
        }
        sharers[place].asksAt = next
        return next
    }

    /// What to ask the other processes' book now; nil: nothing. For who was just asked for an allowance.
    package mutating func ask(_ now: MonotonicInstant) -> QuotaRequest? {
        holding?.ask(perSecond: pace.wholePerSecond(now), now)
    }

    /// - Parameter grant: nil where none came.
    package mutating func receive(_ grant: QuotaGrant?, of ask: QuotaRequest, _ now: MonotonicInstant) {
        holding?.receive(grant, of: ask, now)
        guard let grant, let holding else { return }
        pace.hold(holding.part(now), now)
        pace.follow(rampAge: grant.rampAge, begins: grant.begins, now)
    }

    private func place(of share: Share) -> Int? { sharers.firstIndex { $0.share == share } }

    /// Who comes anew begins beside the one that was served least: what it did without before is nobody's debt. What it
    /// had before the others came counts for a second's worth at most.
    private mutating func want(_ place: Int, _ now: MonotonicInstant) {
        let wasAwaited = isAwaited(place, now)
        sharers[place].isWanting = true
        sharers[place].asksAt = now
        guard !wasAwaited else { return }
        let others = sharers.indices.filter { $0 != place && isAwaited($0, now) }.map { sharers[$0].served }
        guard let least = others.min() else { return }
        sharers[place].served = min(max(sharers[place].served, least), least + max(1, perMinute / 60))
    }

    private func isAwaited(_ place: Int, _ now: MonotonicInstant) -> Bool {
        guard sharers[place].isWanting, let asksAt = sharers[place].asksAt else { return false }
        return now <= asksAt + Self.timeout
    }

    /// Its part, where each of `count` goes to the one that was served least by then; of equals the first.
    private func part(of place: Int, in count: Int, _ now: MonotonicInstant) -> Int {
        guard count > 0 else { return 0 }
        let awaited = sharers.indices.filter { isAwaited($0, now) }
            .sorted { (sharers[$0].served, $0) < (sharers[$1].served, $1) }
        // As far as the ones served least reach together, as water would.
        var level = 0
        var under = 0
        var poured = 0
        for (index, sharer) in awaited.enumerated() {
            let rise = sharers[sharer].served - level
            if index > 0, rise * index + poured > count { break }
            if index > 0 { poured += rise * index }
            level = sharers[sharer].served
            under += 1
        }
        guard awaited.prefix(under).contains(place) else { return 0 }
        let before = awaited.prefix(under).count { $0 < place }
        let leftover = count - poured
        level += leftover / under
        return level - sharers[place].served + (before < leftover % under ? 1 : 0)
    }
}
