import Basis
import Postgres
import Reactor
import TestSupport
import Testing

private func small(_ connections: Int, waiters: Int = 2, wait: Duration = .seconds(60)) -> PoolSettings {
    var settings = PoolSettings()
    settings.connectionsMax = connections
    settings.waitersMax = waiters
    settings.waitMax = wait
    return settings
}

@Suite("A PostgreSQL pool whose connections are all busy")
struct BusyPoolTests {
    @Test("rejects a caller that has waited until its deadline")
    func waitsBounded() async throws {
        try await withPool(pool: small(1)) { pool in
            try await pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(query("SELECT 1"))
                let error = await failure { () async throws(PostgresError) in
                    try await pool.run(query("SELECT 1"), deadline: .milliseconds(20))
                }
                #expect(error == .poolExhausted)
            }
            #expect(try await pool.run(query("SELECT 1::int4")).one(Int32.init) == 1)
        }
    }

    @Test("rejects a caller at once when too many are waiting")
    func waitersBounded() async throws {
        try await withPool(pool: small(1, waiters: 2, wait: .seconds(600))) { pool in
            try await pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(query("SELECT 1"))
                let waiting = (0..<2).map { _ in
                    Task { () async -> PostgresError? in
                        await failure { () async throws(PostgresError) in try await pool.run(query("SELECT 1")) }
                    }
                }
                try? await eventually("both callers to wait") { await pool.census().waiting == 2 }
                let error = await failure { () async throws(PostgresError) in try await pool.run(query("SELECT 1")) }
                #expect(error == .poolExhausted)
                for task in waiting { task.cancel() }
                for task in waiting { #expect(await task.value == .cancelled) }
                #expect(await pool.census().waiting == 0)
            }
        }
    }

    @Test("serves a thousand callers with two connections")
    func serves() async throws {
        try await withPool(pool: small(2, waiters: 1_000, wait: .seconds(600))) { pool in
            let sum = try await withThrowingTaskGroup(of: Int32.self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        let number = query("SELECT :number") { $0.int32("number", Int32(number)) }
                        return try await pool.run(number, deadline: .seconds(600)).one(Int32.init)
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(sum == 499_500)
            // One connection may serve all callers before the other is open.
            try await eventually("both connections to be idle") {
                let census = await pool.census()
                return census.open <= 2 && census.busy == 0 && census.waiting == 0 && census.outage == nil
            }
        }
    }

    @Test("closes when its conversations have ended, and rejects later callers")
    func closes() async throws {
        try await withPool { service in
            try await withPool { pool in
                let (slow, closing) = try await whileLocked(service) { lock in
                    let slow = Task { try await pool.run(takeLock(lock)).rowCount }
                    try await eventually("the connections to be lent") { await pool.census().busy == 1 }
                    let closing = Task { await pool.close() }
                    try await eventually("the pool to shut down") { await pool.census().outage == .shuttingDown }
                    return (slow, closing)
                }
                #expect(try await slow.value == 1)
                await closing.value
                let error = await failure { () async throws(PostgresError) in try await pool.run(query("SELECT 1")) }
                #expect(error == .unavailable(.shuttingDown))
            }
        }
    }
}

private func takeLock(_ lock: Int64) -> Query {
    query("SELECT pg_advisory_xact_lock(:lock)") { $0.int64("lock", lock) }
}

/// Holds an advisory lock during the work, so that a conversation lasts exactly as long as the test wants.
private func whileLocked<Answer: Sendable>(
    _ pool: PostgresPool, _ work: @Sendable (Int64) async throws -> Answer
) async throws -> Answer {
    let lock = Int64(truncatingIfNeeded: Entropy.uint64())
    let outcome = try await pool.transaction { transaction async throws(PostgresError) in
        _ = try await transaction.run(takeLock(lock))
        do {
            return Result<Answer, any Error>.success(try await work(lock))
        } catch {
            return .failure(error)
        }
    }
    return try outcome.get()
}

@Suite("A cancelled database task")
struct CancelTests {
    @Test("lets its running conversation finish")
    func conversation() async throws {
        try await withPool(pool: small(2)) { pool in
            let slow = try await whileLocked(pool) { lock in
                let slow = Task { try await pool.run(takeLock(lock)).rowCount }
                try await eventually("the connections to be lent") { await pool.census().busy == 2 }
                slow.cancel()
                return slow
            }
            let rows = try await slow.value
            #expect(rows == 1)
            #expect(await pool.census().busy == 0)
        }
    }

    @Test("leaves the pool's queue without harm to the other tasks", .timeLimit(.minutes(10)))
    func storm() async throws {
        try await withPool(pool: small(2, waiters: 1_000, wait: .seconds(600))) { pool in
            let tasks = (0..<400).map { number in
                Task {
                    let number = query("SELECT :number") { $0.int32("number", Int32(number)) }
                    return try await pool.run(number, deadline: .seconds(600)).one(Int32.init)
                }
            }
            for (index, task) in tasks.enumerated() where index % 2 == 0 { task.cancel() }
            for (index, task) in tasks.enumerated() {
                do {
                    let answer = try await task.value
                    #expect(answer == Int32(index))
                } catch {
                    #expect(error as? PostgresError == .cancelled && index % 2 == 0)
                }
            }
            let census = await pool.census()
            #expect(census.busy == 0 && census.waiting == 0)
        }
    }
}

@Suite("A database deadline")
struct DeadlineTests {
    @Test("ends the statement on the server, and keeps the connection")
    func serverSide() async throws {
        try await withPool(pool: small(1, wait: .seconds(5))) { pool in
            let before = try await pool.read(query("SELECT pg_backend_pid()")).one(Int32.init)
            let error = await failure { () async throws(PostgresError) in
                try await pool.run(query("SELECT pg_sleep(60)"), deadline: .milliseconds(30))
            }
            #expect(error == .deadlinePassed)
            #expect(try await pool.read(query("SELECT pg_backend_pid()")).one(Int32.init) == before)
            #expect(try await pool.read(query("SHOW statement_timeout")).one(String.init) == "30s")
        }
    }

    @Test("applies to each round trip of a transaction")
    func transaction() async throws {
        try await withPool { pool in
            _ = try await pool.read(query("SELECT 1"))
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction(TransactionOptions(deadline: .milliseconds(30))) {
                    transaction async throws(PostgresError) in
                    _ = try await transaction.run(query("SELECT 1"))
                    _ = try await transaction.run(query("SELECT pg_sleep(60)"))
                }
            }
            #expect(error == .deadlinePassed)
        }
    }
}

@Suite("The PostgreSQL pool's state machine")
struct PoolMachineTests {
    private let start = MonotonicInstant(nanoseconds: 0)

    @Test("dials one connection per caller up to the limit, and lends in order of arrival")
    func lend() {
        var machine = PoolMachine(small(2, waiters: 9))
        let first = machine.wait(start)
        let second = machine.wait(start)
        let third = machine.wait(start)
        #expect(first.actions == [.dial(2)] && second.actions == [.dial(4)] && third.actions == [])
        #expect(machine.opened(4, start) == [.lend(4, to: first.waiter)])
        #expect(machine.returned(4, isReusable: true, start) == [.lend(4, to: second.waiter)])
        #expect(machine.returned(4, isReusable: false, start) == [.close(4)])
        #expect(machine.opened(2, start) == [.lend(2, to: third.waiter)])
        #expect(machine.returned(2, isReusable: true, start) == [])
        #expect(machine.takeIdle() == 2)
        #expect(machine.takeIdle() == nil)
    }

    @Test("dials a single connection while the server is down, with exponential backoff")
    func backoff() {
        var settings = small(8, waiters: 9)
        settings.backoffFloor = .milliseconds(100)
        settings.backoffCeiling = .milliseconds(400)
        var machine = PoolMachine(settings)
        var now = start
        var dial = machine.wait(now).actions
        var waits: [Duration] = []
        for _ in 0..<4 {
            guard case .dial(let number) = dial.first else {
                Issue.record("expected a dial, got \(dial)")
                return
            }
            let actions = machine.dialFailed(number, .unreachable, chance: 1, now)
            guard case .wake(let at) = actions.first else {
                Issue.record("expected a wake-up, got \(actions)")
                return
            }
            waits.append(at - now)
            now = at
            dial = machine.wake(now)
            #expect(dial.count == 1)
        }
        #expect(waits == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(400)])
    }

    @Test("rejects callers at once when waiting cannot help, as with a wrong password")
    func wrongPassword() {
        var machine = PoolMachine(small(2))
        let caller = machine.wait(start)
        let reason = UnavailableReason.rejected(.invalidPassword)
        #expect(
            machine.dialFailed(2, reason, chance: 0, start) == [.refuse(caller.waiter, .unavailable(reason))])
    }

    @Test("replaces a connection that has reached its maximum age")
    func age() {
        var settings = small(1)
        settings.ageMax = .seconds(10)
        var machine = PoolMachine(settings)
        _ = machine.wait(start)
        _ = machine.opened(2, start)
        #expect(machine.returned(2, isReusable: true, start + .seconds(9)) == [])
        #expect(machine.takeIdle() == 2)
        #expect(machine.returned(2, isReusable: true, start + .seconds(11)) == [.close(2)])
        #expect(machine.isEmpty)
    }
}
