import Basis

package struct PoolSettings: Sendable {
    /// Each session costs the server a process and some megabytes.
    package var connectionsMax = 8
    /// The most sessions that strangers have at once. The others are always left to callers with a key (P7).
    package var strangerConnectionsMax = 2
    /// The most waiting callers, strangers not included. An app may have as many as it leaves free: half if it is alone.
    package var waitersMax = 2_048
    /// The most strangers that wait. The admission of their requests is the narrower bound.
    package var strangerWaitersMax = 2_048
    /// Longer than a restart of the server takes, so that callers don't notice one.
    package var waitMax: Duration = .seconds(5)
    /// The deadline of one conversation if its caller sets none.
    package var deadline: Duration = .seconds(30)
    /// Shorter would hammer a server that is starting.
    package var backoffFloor: Duration = .milliseconds(50)
    /// Longer would delay work after the server is back.
    package var backoffCeiling: Duration = .seconds(1)
    /// A session's memory grows with its caches, so sessions are replaced at this age.
    package var ageMax: Duration = .seconds(3_600)

    package init() {}
}

package struct PoolSnapshot: Equatable, Sendable {
    package let open: Int
    package let busy: Int
    package let waiting: Int
    /// The reason why the last attempt to connect failed; nil once one has succeeded.
    package let outage: UnavailableReason?
}

/// The pool's decisions, without a socket: which caller gets a connection, when to dial, when to give up.
///
/// Waiting callers are served by share in turn, and those of one share in the order of their arrival.
package struct PoolMachine {
    package enum Action: Equatable, Sendable {
        case dial(Int)
        case lend(Int, to: Int)
        case refuse(Int, PostgresError)
        case close(Int)
        case wake(at: MonotonicInstant)
    }

    private struct Slot {
        let number: Int
        var use: Use
        var openedAt: MonotonicInstant

        var isOfStranger: Bool { use == .busy(.strangers) }

        var isBusy: Bool { if case .busy = use { true } else { false } }
    }

    private enum Use: Equatable {
        /// The connection is being opened. → idle (opened), gone (failed)
        case dialing
        /// The connection is free. → busy (lent), gone (found dead, too old)
        case idle
        /// A caller of this share has it. → idle, busy (handed over), gone (broken)
        case busy(PoolShare)
    }

    private let settings: PoolSettings
    private var slots: [Slot] = []
    private var waiters = PoolQueue()
    private var nextNumber = 1
    private var failures = 0
    private var blockedUntil: MonotonicInstant?
    package private(set) var outage: UnavailableReason?
    package private(set) var isClosing = false

    package init(_ settings: PoolSettings) {
        precondition(settings.connectionsMax > 0 && settings.waitersMax > 0)
        self.settings = settings
    }

    var busyCount: Int { slots.count(where: \.isBusy) }
    package var isEmpty: Bool { slots.isEmpty }

    /// Whether the server can't be reached. One that refuses another session while it serves others is there.
    var isCutOff: Bool {
        guard let outage, !isClosing else { return false }
        if case .rejected = outage { return slots.allSatisfy { $0.use == .dialing } }
        return true
    }

    package var census: PoolSnapshot {
        PoolSnapshot(
            open: slots.count { $0.use != .dialing }, busy: busyCount, waiting: waiters.count,
            outage: isClosing ? .shuttingDown : outage)
    }

    /// Takes the idle connection that was used last, so that unneeded ones can grow old.
    package mutating func takeIdle(for share: PoolShare = .common) -> Int? {
        guard !isClosing, share != .strangers || strangersLeft > 0, let index = lastIdle else { return nil }
        slots[index].use = .busy(share)
        return slots[index].number
    }

    package mutating func wait(
        for share: PoolShare = .common, _ now: MonotonicInstant
    ) -> (waiter: Int, actions: [Action]) {
        let waiter = takeNumber()
        if isClosing { return (waiter, [.refuse(waiter, .unavailable(.shuttingDown))]) }
        guard hasRoom(for: share) else { return (waiter, [.refuse(waiter, refusal)]) }
        waiters.append(waiter, of: share)
        return (waiter, dials(now))
    }

    /// Whether another caller of the share may wait.
    private func hasRoom(for share: PoolShare) -> Bool {
        let (strangers, own) = (waiters.count(of: .strangers), waiters.count(of: share) + 1)
        let left = settings.waitersMax - (waiters.count - strangers) - 1
        return switch share {
        case .strangers: own <= settings.strangerWaitersMax
        case .common: left >= 0
        case .app: left >= 0 && own <= max(1, left)
        }
    }

    /// Removes a waiter whose time is over or that was cancelled. Does nothing if it was already served.
    package mutating func leave(_ waiter: Int, _ error: PostgresError? = nil) -> [Action] {
        waiters.remove(waiter) ? [.refuse(waiter, error ?? refusal)] : []
    }

    package mutating func opened(_ number: Int, _ now: MonotonicInstant) -> [Action] {
        failures = 0
        outage = nil
        blockedUntil = nil
        if let index = index(number) { slots[index].openedAt = now }
        return handOver(number) + dials(now)
    }

    package mutating func returned(_ number: Int, isReusable: Bool, _ now: MonotonicInstant) -> [Action] {
        guard let index = index(number) else { return [] }
        if isReusable && !isClosing && now - slots[index].openedAt < settings.ageMax { return handOver(number) }
        return [.close(number)] + gone(number, now)
    }

    package mutating func gone(_ number: Int, _ now: MonotonicInstant) -> [Action] {
        slots.removeAll { $0.number == number }
        // A lost session of a stranger's may leave a free one to the next stranger.
        return lendIdle() + dials(now)
    }

    /// - Parameter chance: a random number from 0 up to 1.
    package mutating func dialFailed(
        _ number: Int, _ reason: UnavailableReason, chance: Double, _ now: MonotonicInstant
    ) -> [Action] {
        slots.removeAll { $0.number == number }
        failures += 1
        outage = reason
        blockedUntil = now + backoff(chance)
        guard !reason.passes else { return dials(now) }
        // Waiting would not help.
        return waiters.takeAll().map { .refuse($0, .unavailable(reason)) }
    }

    package mutating func wake(_ now: MonotonicInstant) -> [Action] { dials(now) }

    package mutating func close() -> [Action] {
        isClosing = true
        let refused = waiters.takeAll().map { Action.refuse($0, .unavailable(.shuttingDown)) }
        let idle = slots.filter { $0.use == .idle }.map(\.number)
        slots.removeAll { $0.use == .idle }
        return refused + idle.map { .close($0) }
    }
}

extension PoolMachine {
    /// Doubles from the floor to the ceiling. The upper half is random, so that processes spread.
    private func backoff(_ chance: Double) -> Duration {
        let doubled = settings.backoffFloor * (1 << min(failures - 1, 20))
        return min(doubled, settings.backoffCeiling) * (0.5 + 0.5 * chance)
    }

    /// The error for callers. A pool without any open connection is not exhausted: it has not reached a server yet.
    private var refusal: PostgresError {
        if let outage { return .unavailable(outage) }
        return slots.contains { $0.use != .dialing } ? .poolExhausted : .unavailable(.unreachable)
    }

    private mutating func handOver(_ number: Int) -> [Action] {
        guard let index = index(number) else { return [.close(number)] }
        if isClosing {
            slots.remove(at: index)
            return [.close(number)]
        }
        slots[index].use = .idle
        guard let next = waiters.takeNext(strangersToo: strangersLeft > 0) else { return [] }
        slots[index].use = .busy(next.share)
        return [.lend(number, to: next.waiter)]
    }

    private mutating func lendIdle() -> [Action] {
        var actions: [Action] = []
        while let index = lastIdle, let next = waiters.takeNext(strangersToo: strangersLeft > 0) {
            slots[index].use = .busy(next.share)
            actions.append(.lend(slots[index].number, to: next.waiter))
        }
        return actions
    }

    private var lastIdle: Int? { slots.lastIndex { $0.use == .idle } }

    private var strangersLeft: Int { max(0, settings.strangerConnectionsMax - slots.count(where: \.isOfStranger)) }

    /// The waiting callers that another connection would serve.
    private var servable: Int {
        let strangers = waiters.count(of: .strangers)
        return waiters.count - strangers + min(strangers, strangersLeft)
    }

    /// Starts one attempt per waiting caller, or a single one while the server is gone.
    private mutating func dials(_ now: MonotonicInstant) -> [Action] {
        guard !isClosing else { return [] }
        var dialing = slots.count { $0.use == .dialing }
        let wanted = outage == nil ? servable : min(1, servable)
        guard dialing < wanted, slots.count < settings.connectionsMax else { return [] }
        if let blockedUntil, blockedUntil > now { return [.wake(at: blockedUntil)] }
        var actions: [Action] = []
        while dialing < wanted && slots.count < settings.connectionsMax {
            let number = takeNumber()
            slots.append(Slot(number: number, use: .dialing, openedAt: now))
            actions.append(.dial(number))
            dialing += 1
        }
        return actions
    }

    private func index(_ number: Int) -> Int? { slots.firstIndex { $0.number == number } }

    private mutating func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }
}
