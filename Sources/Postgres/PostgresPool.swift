import Basis
import Reactor

/// A bounded number of sessions with one server, each lent to one conversation at a time.
///
/// Pinned to its loop, like its connections. A connection comes back clean, or is closed and replaced. While the server
/// is gone, a single connection tries to return, and callers wait for it up to `waitMax`. A started conversation runs
/// to its end even if its task is cancelled: its deadline bounds it, and its answer is worth more than leaving early.
/// Callers that wait are served by `PoolShare`.
package actor PostgresPool: PinnedActor {
    package nonisolated let loop: ReactorLoop

    private let settings: PostgresSettings
    private let pool: PoolSettings
    private let impaired: @Sendable (DatabaseCondition) -> Void
    private var machine: PoolMachine
    private var connections: [Int: PostgresConnection] = [:]
    private var waiting: [Int: Waiting] = [:]
    private var wakeTimer: (at: MonotonicInstant, timer: TimerID)?
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []
    private var reportAttempt: (@Sendable (UnavailableReason?) -> Void)?

    private struct Waiting {
        let continuation: CheckedContinuation<Result<Int, PostgresError>, Never>
        let timer: TimerID
    }

    /// Connects on demand.
    ///
    /// - Parameter impaired: called on the loop's thread for each conversation that fails for such a condition.
    package init(
        _ settings: PostgresSettings, pool: PoolSettings = PoolSettings(), loop: ReactorLoop,
        impaired: @escaping @Sendable (DatabaseCondition) -> Void = { _ in }
    ) {
        (self.settings, self.pool, self.loop, self.impaired) = (settings, pool, loop, impaired)
        machine = PoolMachine(pool)
    }

    package func census() -> PoolSnapshot { machine.census }

    /// Sets the function to call after each attempt to connect: with nil after a success, else with the reason of the
    /// failure. It is called on the pool's loop, and must not wait.
    package func report(attempts: @escaping @Sendable (UnavailableReason?) -> Void) { reportAttempt = attempts }

    /// Whether this server process serves one of the pool's sessions.
    package func owns(_ serverProcess: Int32) -> Bool {
        connections.values.contains { $0.assumeIsolated { $0.serverProcess } == serverProcess }
    }

    /// Refuses waiting callers. Conversations that have begun end first, within their deadline.
    package func close() async {
        perform(machine.close())
        guard !machine.isEmpty else { return }
        let closer = loop.schedule(at: loop.now + pool.deadline, tag: PoolTimerHandler.closing, PoolTimerHandler(self))
        await withCheckedContinuation { closeWaiters.append($0) }
        loop.cancel(closer)
    }
}

extension PostgresPool {
    /// Sends the queries together: all succeed or none does. Returns one result set per query.
    package func run(_ queries: [Query], deadline: Duration? = nil) async throws(PostgresError) -> [ResultSet] {
        try await once(queries, .commit, deadline ?? pool.deadline)
    }

    package func run(_ query: Query, deadline: Duration? = nil) async throws(PostgresError) -> ResultSet {
        try await once([query], .commit, deadline ?? pool.deadline).only(query)
    }

    /// Sends queries that write nothing. A lost answer is then only a lost connection.
    package func read(_ queries: [Query], deadline: Duration? = nil) async throws(PostgresError) -> [ResultSet] {
        try await once(queries, .nothing, deadline ?? pool.deadline)
    }

    package func read(_ query: Query, deadline: Duration? = nil) async throws(PostgresError) -> ResultSet {
        try await once([query], .nothing, deadline ?? pool.deadline).only(query)
    }

    /// Sends the queries between BEGIN and COMMIT, in the same round trip.
    package func run(
        _ queries: [Query], transaction options: TransactionOptions
    ) async throws(PostgresError) -> [ResultSet] {
        let deadline = options.deadline ?? pool.deadline
        return try await lending(deadline) { connection async throws(PostgresError) in
            let opening = options.opening(statementTimeout: connection.timeoutStatement(deadline))
            do throws(PostgresError) {
                return try await connection.run(
                    queries, options.stake, framing: Framing(opening: opening, commits: true), deadline: deadline)
            } catch {
                await connection.rollBack()
                throw error
            }
        }
    }

    /// Runs SQL text of several statements in the simple protocol, as one transaction unless it says otherwise.
    package func script(_ sql: String, deadline: Duration? = nil) async throws(PostgresError) {
        let deadline = deadline ?? pool.deadline
        try await lending(deadline) { connection async throws(PostgresError) in
            do throws(PostgresError) { try await connection.script(sql, .commit, deadline: deadline) } catch {
                await connection.rollBack()
                throw error
            }
        }
    }

    private func once(
        _ queries: [Query], _ stake: CommitStake, _ deadline: Duration
    ) async throws(PostgresError) -> [ResultSet] {
        try await lending(deadline) { connection async throws(PostgresError) in
            let opening = connection.timeoutStatement(deadline).map { [$0] } ?? []
            return try await connection.run(queries, stake, framing: Framing(opening: opening), deadline: deadline)
        }
    }
}

extension PostgresPool {
    /// Commits after the body returns, and rolls back if it throws. A failed statement fails the transaction, even if
    /// the body catches its error.
    package func transaction<Answer: Sendable>(
        _ options: TransactionOptions = TransactionOptions(),
        _ body: @Sendable (PostgresTransaction) async throws(PostgresError) -> Answer
    ) async throws(PostgresError) -> Answer {
        let deadline = options.deadline ?? pool.deadline
        return try await lending(deadline) { connection async throws(PostgresError) in
            let runner = TransactionRunner(connection, options, deadline: deadline)
            let answer: Answer
            do throws(PostgresError) { answer = try await body(PostgresTransaction(runner)) } catch {
                // Report the body's own error.
                do { try await runner.end(isBodyDone: false) } catch {}
                throw error
            }
            try await runner.end(isBodyDone: true)
            return answer
        }
    }

    /// Repeats the body after a deadlock or serialization failure, up to `attemptsMax` attempts in all.
    package func retryingConflicts<Answer: Sendable>(
        attemptsMax: Int = 5, _ body: @Sendable () async throws(PostgresError) -> Answer
    ) async throws(PostgresError) -> Answer {
        precondition(attemptsMax > 0)
        for attempt in 1..<attemptsMax {
            do { return try await body() } catch { guard error.isConflict else { throw error } }
            // The other transaction won and is nearly done. A random pause keeps the losers from colliding again.
            await Pause.wait(PostgresPool.conflictPause * Double(attempt) * Chance.fraction(), on: loop)
        }
        return try await body()
    }

    private static let conflictPause: Duration = .milliseconds(20)

    /// Runs a transaction, and repeats it after a conflict.
    package func retryingTransaction<Answer: Sendable>(
        _ options: TransactionOptions = TransactionOptions(),
        _ body: @Sendable (PostgresTransaction) async throws(PostgresError) -> Answer
    ) async throws(PostgresError) -> Answer {
        try await retryingConflicts { () throws(PostgresError) in try await self.transaction(options, body) }
    }

    /// Sends a query, and repeats it after a conflict.
    package func retryingRun(_ query: Query) async throws(PostgresError) -> ResultSet {
        try await retryingConflicts { () throws(PostgresError) in try await self.run(query) }
    }

    /// Sends the queries between BEGIN and COMMIT, and repeats them after a conflict.
    package func retryingRun(
        _ queries: [Query], _ options: TransactionOptions = TransactionOptions()
    ) async throws(PostgresError) -> [ResultSet] {
        try await retryingConflicts { () throws(PostgresError) in try await self.run(queries, transaction: options) }
    }
}

extension PostgresPool {
    private func lending<Answer: Sendable>(
        _ deadline: Duration, _ body: (PostgresConnection) async throws(PostgresError) -> Answer
    ) async throws(PostgresError) -> Answer {
        let number = try await borrow(min(deadline, pool.waitMax))
        guard let connection = connections[number] else { preconditionFailure("a borrowed connection is in the pool") }
        defer { giveBack(number, connection) }
        do throws(PostgresError) { return try await body(connection) } catch {
            if let condition = error.condition { impaired(condition) }
            throw error
        }
    }

    private func borrow(_ waitMax: Duration) async throws(PostgresError) -> Int {
        let share = PoolShare.current
        if let number = takeIdle(for: share) { return number }
        if Task.isCancelled { throw .cancelled }
        let (waiter, actions) = machine.wait(for: share, loop.now)
        return try await served(waiter, waitMax, actions).get()
    }

    /// Takes an idle connection. One whose server has hung up meanwhile is replaced before anything is sent.
    private func takeIdle(for share: PoolShare) -> Int? {
        while let number = machine.takeIdle(for: share) {
            if connections[number]?.assumeIsolated({ $0.isStillThere() }) == true { return number }
            connections[number] = nil
            perform(machine.gone(number, loop.now))
        }
        return nil
    }

    private func served(
        _ waiter: Int, _ waitMax: Duration, _ actions: [PoolMachine.Action]
    ) async -> Result<Int, PostgresError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let timer = loop.schedule(at: loop.now + waitMax, tag: UInt64(waiter), PoolTimerHandler(self))
                waiting[waiter] = Waiting(continuation: continuation, timer: timer)
                perform(actions)
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.leave(waiter, .cancelled) } }
        }
    }

    private func giveBack(_ number: Int, _ connection: PostgresConnection) {
        let isReusable = connection.assumeIsolated { $0.isReusable }
        perform(machine.returned(number, isReusable: isReusable, loop.now))
    }

    private func leave(_ waiter: Int, _ error: PostgresError?) { perform(machine.leave(waiter, error)) }

    private func perform(_ actions: [PoolMachine.Action]) {
        for action in actions {
            switch action {
            case .dial(let number):
                let connection = PostgresConnection(settings, loop: loop)
                connections[number] = connection
                Task { await dial(number, connection) }
            case .lend(let number, let waiter): serve(waiter, .success(number))
            case .refuse(let waiter, let error): serve(waiter, .failure(error))
            case .close(let number): connections.removeValue(forKey: number)?.assumeIsolated { $0.close() }
            case .wake(let instant): scheduleWake(instant)
            }
        }
        if machine.isClosing && machine.isEmpty { endClosing() }
    }

    private func serve(_ waiter: Int, _ outcome: Result<Int, PostgresError>) {
        guard let waiting = waiting.removeValue(forKey: waiter) else { return }
        loop.cancel(waiting.timer)
        waiting.continuation.resume(returning: outcome)
    }

    private func dial(_ number: Int, _ connection: PostgresConnection) async {
        do {
            try await connection.open()
            perform(machine.opened(number, loop.now))
            reportAttempt?(nil)
        } catch {
            connections[number] = nil
            let reason: UnavailableReason = if case .unavailable(let reason) = error { reason } else { .unreachable }
            perform(machine.dialFailed(number, reason, chance: Chance.fraction(), loop.now))
            if machine.isCutOff { reportAttempt?(reason) }
        }
    }
}

extension PostgresPool {
    private func scheduleWake(_ instant: MonotonicInstant) {
        if let wakeTimer {
            guard instant < wakeTimer.at else { return }
            loop.cancel(wakeTimer.timer)
        }
        wakeTimer = (instant, loop.schedule(at: instant, tag: PoolTimerHandler.waking, PoolTimerHandler(self)))
    }

    fileprivate func timerFired(_ tag: UInt64) {
        switch tag {
        case PoolTimerHandler.waking:
            wakeTimer = nil
            perform(machine.wake(loop.now))
        case PoolTimerHandler.closing:
            // The deadline passed: callers that still hold a connection find it lost.
            for number in connections.keys.sorted() { connections[number]?.assumeIsolated { $0.close() } }
            connections = [:]
            endClosing()
        default: leave(Int(tag), nil)
        }
    }

    private func endClosing() {
        let waiters = closeWaiters
        closeWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}

/// The handler of a pool's timers. A tag is a waiter's number, or one of the two below.
private final class PoolTimerHandler: TimerHandler {
    static let waking = UInt64.max
    static let closing = UInt64.max - 1
    private let pool: PostgresPool

    init(_ pool: PostgresPool) { self.pool = pool }

    func timerFired(tag: UInt64) { pool.assumeIsolated { $0.timerFired(tag) } }
}
