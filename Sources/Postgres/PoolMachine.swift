import Basis

package struct PoolSettings: Sendable {
    /// Each session costs the server a process and some megabytes.
    package var connectionsMax = 8
    package var waitersMax = 1_024
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
    }

    private enum Use {
        /// The connection is being opened. → idle (opened), gone (failed)
        case dialing
        /// The connection is free. → busy (lent), gone (found dead, too old)
        case idle
        /// A caller has it. → idle, busy (handed over), gone (broken)
        case busy
    }

    private let settings: PoolSettings
    private var slots: [Slot] = []
    private var waiters: [Int] = []
    private var nextNumber = 1
    private var failures = 0
    private var blockedUntil: MonotonicInstant?
    package private(set) var outage: UnavailableReason?
    package private(set) var isClosing = false

    package init(_ settings: PoolSettings) {
        precondition(settings.connectionsMax > 0 && settings.waitersMax > 0)
        self.settings = settings
    }

    var busyCount: Int { slots.count { $0.use == .busy } }
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
    package mutating func takeIdle() -> Int? {
        guard !isClosing, let index = slots.lastIndex(where: { $0.use == .idle }) else { return nil }
        slots[index].use = .busy
        return slots[index].number
    }

    package mutating func wait(_ now: MonotonicInstant) -> (waiter: Int, actions: [Action]) {
        let waiter = takeNumber()
        if isClosing { return (waiter, [.refuse(waiter, .unavailable(.shuttingDown))]) }
        if waiters.count >= settings.waitersMax { return (waiter, [.refuse(waiter, refusal)]) }
        waiters.append(waiter)
        return (waiter, dials(now))
    }

    /// Removes a waiter whose time is over or that was cancelled. Does nothing if it was already served.
    package mutating func leave(_ waiter: Int, _ error: PostgresError? = nil) -> [Action] {
        guard let index = waiters.firstIndex(of: waiter) else { return [] }
        waiters.remove(at: index)
        return [.refuse(waiter, error ?? refusal)]
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
        return dials(now)
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
        let refused = waiters
        waiters = []
        return refused.map { .refuse($0, .unavailable(reason)) }
    }

    package mutating func wake(_ now: MonotonicInstant) -> [Action] { dials(now) }

    package mutating func close() -> [Action] {
        isClosing = true
        let refused = waiters.map { Action.refuse($0, .unavailable(.shuttingDown)) }
        waiters = []
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
        slots[index].use = waiters.isEmpty ? .idle : .busy
        return waiters.isEmpty ? [] : [.lend(number, to: waiters.removeFirst())]
    }

    /// Starts one attempt per waiting caller, or a single one while the server is gone.
    private mutating func dials(_ now: MonotonicInstant) -> [Action] {
        guard !isClosing else { return [] }
        var dialing = slots.count { $0.use == .dialing }
        let wanted = outage == nil ? waiters.count : min(1, waiters.count)
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
