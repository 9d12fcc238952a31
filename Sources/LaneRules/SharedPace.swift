import Basis

/// One pace for several lanes, because the provider counts per project, whichever credential is used.
///
/// Allowance is shared equally among the lanes that want to send: it goes to the lane that was served least since it
/// began to want. An idle lane leaves its part to the others and saves nothing up. The ramp belongs to the project: a
/// new lane doesn't start one of its own.
///
/// Several processes divide the quota equally (decision 0033). A process whose lanes want to send tells the others once
/// a second, and learns how many they are. No push waits for that answer.
package struct SharedPace: Equatable, Sendable {
    /// A lane's membership in the pace.
    package struct Share: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Sharer: Equatable, Sendable {
        let share: Share
        /// Requests that the lane was served, as far as they still decide which lane is next.
        var served = 0
        var isWanting = false
        /// When the lane will ask again at the latest, by the answer that it got.
        var asksAt: MonotonicInstant?
    }

    private var pace: RequestPace
    /// In the order in which they joined.
    private var sharers: [Sharer] = []
    private var shares: UInt64 = 0
    /// Whether other processes may send for the project too.
    private let isAmongProcesses: Bool
    /// When a lane of this process last asked for an allowance.
    private var askedAt: MonotonicInstant?
    private var heartbeatAt: MonotonicInstant?
    private var isHeartbeatUnderWay = false

    /// A lane that is overdue by this much is not waited for: its unused allowance would be lost to all.
    private static let timeout: Duration = .seconds(1)

    /// The longest pause of a lane if other processes share the quota: there may be fewer of them.
    private static let checksAgainAfter: Duration = .milliseconds(100)

    /// How often a process tells the others that it sends.
    private static let heartbeatEvery: Duration = .seconds(1)
    /// For how long the others count a process after its heartbeat.
    package static let countedFor: Duration = .seconds(3)
    /// A process that was silent for this long joins anew, because the others may have forgotten it.
    private static let silentAfter = countedFor - heartbeatEvery

    package init(perMinute: Int, amongProcesses: Bool = false) {
        pace = RequestPace(perMinute: perMinute, processes: amongProcesses ? nil : 1)
        isAmongProcesses = amongProcesses
    }

    package var perMinute: Int { pace.perMinute }

    package mutating func join() -> Share {
        shares += 1
        let share = Share(number: shares)
        sharers.append(Sharer(share: share))
        return share
    }

    package mutating func leave(_ share: Share) { sharers.removeAll { $0.share == share } }

    /// The number of requests of this lane, which wants to send, that may leave now.
    package mutating func allowance(_ share: Share, _ now: MonotonicInstant) -> Int {
        guard let place = place(of: share) else { return 0 }
        want(place, now)
        if isAmongProcesses, askedAt.map({ now - $0 >= Self.silentAfter }) ?? true { pace.divide(among: nil, now) }
        askedAt = now
        return part(of: place, in: pace.allowance(now), now)
    }

    package mutating func took(_ share: Share, _ count: Int) {
        pace.took(count)
        guard let place = place(of: share) else { return }
        sharers[place].served += count
    }

    /// Gives back a request whose answer the provider doesn't count: another request of this lane may leave.
    package mutating func giveBack(_ share: Share, _ count: Int) {
        pace.giveBack(count)
        guard let place = place(of: share) else { return }
        sharers[place].served -= count
    }

    /// Notes that the lane has no requests at present, or no connection for them.
    package mutating func idle(_ share: Share) {
        guard let place = place(of: share) else { return }
        sharers[place].isWanting = false
    }

    /// When the next request of this lane may leave: `now` if one may already. The lane asks again then.
    package mutating func nextAt(_ share: Share, _ now: MonotonicInstant) -> MonotonicInstant {
        guard let place = place(of: share) else { return now + Self.timeout }
        // One request of its own, and all by which other lanes are behind.
        var needed = 1
        for other in sharers.indices where other != place && isAwaited(other, now) {
            needed += max(0, sharers[place].served - sharers[other].served + (other < place ? 1 : 0))
        }
        var next = pace.nextAt(now, count: needed)
        if isAmongProcesses, next > now { next = min(next, now + Self.checksAgainAfter) }
        sharers[place].asksAt = next
        return next
    }

    /// The number of requests that may leave now, whichever lane they are of. It takes nothing and marks no lane.
    package func room(_ now: MonotonicInstant) -> Int {
        var pace = pace
        return pace.allowance(now)
    }

    /// Whether to tell the other processes now that this one sends. The answer goes to `heartbeatEnded`. Called by a
    /// lane that just asked for an allowance, so an idle process tells nothing.
    package mutating func beginsHeartbeat(_ now: MonotonicInstant) -> Bool {
        let isDue = heartbeatAt.map { now - $0 >= Self.heartbeatEvery } ?? true
        guard isAmongProcesses, !isHeartbeatUnderWay, isDue else { return false }
        (heartbeatAt, isHeartbeatUnderWay) = (now, true)
        return true
    }

    /// - Parameter processes: how many send, with this one; nil: no answer came, and the last number holds.
    package mutating func heartbeatEnded(_ processes: Int?, _ now: MonotonicInstant) {
        isHeartbeatUnderWay = false
        if let processes { pace.divide(among: processes, now) }
    }

    private func place(of share: Share) -> Int? { sharers.firstIndex { $0.share == share } }

    /// Marks a lane as wanting to send. A newcomer starts level with the lane that was served least: idle time earns no
    /// credit. Its earlier lead counts for at most one second's requests.
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

    /// The lane's part of `count` requests, each of which goes to the lane served least by then; the first among
    /// equals.
    private func part(of place: Int, in count: Int, _ now: MonotonicInstant) -> Int {
        guard count > 0 else { return 0 }
        let awaited = sharers.indices.filter { isAwaited($0, now) }
            .sorted { (sharers[$0].served, $0) < (sharers[$1].served, $1) }
        // Raises the lanes served least to one level, like water in a vessel.
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
