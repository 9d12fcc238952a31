import Basis
import Postgres
import Testing

@Suite("The shares of a PostgreSQL pool")
struct PoolShareTests {
    private let start = MonotonicInstant(nanoseconds: 0)
    private let ann = PoolShare.app("ann")
    private let bob = PoolShare.app("bob")

    private func machine(connections: Int, strangers: Int = 2, waiters: Int = 100) -> PoolMachine {
        var settings = PoolSettings()
        (settings.connectionsMax, settings.strangerConnectionsMax) = (connections, strangers)
        (settings.waitersMax, settings.strangerWaitersMax) = (waiters, waiters)
        return PoolMachine(settings)
    }

    /// The waiter that gets the connection.
    private func served(_ actions: [PoolMachine.Action]) -> Int? {
        for action in actions { if case .lend(_, let waiter) = action { return waiter } }
        return nil
    }

    /// Opens all connections that the actions dial, and returns their numbers.
    private func open(_ actions: [PoolMachine.Action], _ machine: inout PoolMachine) -> [Int] {
        actions.compactMap { action in
            guard case .dial(let number) = action else { return nil }
            _ = machine.opened(number, start)
            return number
        }
    }

    @Test("take turns, and each serves its callers in the order of their arrival")
    func turns() throws {
        var machine = machine(connections: 1)
        let dialed = machine.wait(for: ann, start).actions
        let waiting = [ann, ann, ann, bob, .common, bob].map { machine.wait(for: $0, start).waiter }
        let connection = try #require(open(dialed, &machine).first)
        let order = (0..<6).map { _ in served(machine.returned(connection, isReusable: true, start)) }
        // The first caller of ann has just had the connection.
        #expect(order == [3, 4, 0, 5, 1, 2].map { waiting[$0] })
    }

    @Test("leave strangers two connections at most, and the others free")
    func strangers() throws {
        var machine = machine(connections: 4)
        var dialed: [PoolMachine.Action] = []
        var waiting: [Int] = []
        for _ in 0..<5 {
            let (waiter, actions) = machine.wait(for: .strangers, start)
            waiting.append(waiter)
            dialed += actions
        }
        let connections = open(dialed, &machine)
        #expect(connections.count == 2, "a third could serve none of them")
        #expect(machine.takeIdle(for: ann) == nil)
        let other = machine.wait(for: ann, start)
        #expect(open(other.actions, &machine).count == 1)
        let own = machine.wait(for: bob, start)
        let last = try #require(open(own.actions, &machine).first)
        #expect(machine.returned(last, isReusable: true, start) == [], "it is left free")
        #expect(machine.takeIdle(for: .strangers) == nil)
        #expect(machine.takeIdle(for: bob) == last)
        let next = machine.returned(connections[0], isReusable: true, start)
        #expect(next == [.lend(connections[0], to: waiting[2])])
    }

    @Test("give a stranger a free connection once another stranger has lost one")
    func lost() throws {
        var machine = machine(connections: 3, strangers: 1)
        let first = machine.wait(for: .strangers, start)
        let strangers = try #require(open(first.actions, &machine).first)
        let app = machine.wait(for: ann, start)
        let free = try #require(open(app.actions, &machine).first)
        _ = machine.returned(free, isReusable: true, start)
        let second = machine.wait(for: .strangers, start)
        #expect(second.actions == [])
        let actions = machine.returned(strangers, isReusable: false, start)
        #expect(actions == [.close(strangers), .lend(free, to: second.waiter)])
    }

    @Test("let an app wait with as many callers as it leaves free, and do not count strangers")
    func room() {
        func waits(_ share: PoolShare, _ machine: inout PoolMachine) -> Bool {
            let (waiter, actions) = machine.wait(for: share, start)
            return !actions.contains { if case .refuse(waiter, _) = $0 { true } else { false } }
        }
        var machine = machine(connections: 1, waiters: 12)
        #expect((0..<20).count { _ in waits(.strangers, &machine) } == 12)
        #expect((0..<20).count { _ in waits(ann, &machine) } == 6)
        #expect((0..<20).count { _ in waits(bob, &machine) } == 3)
        #expect((0..<20).count { _ in waits(.common, &machine) } == 3)
    }

    @Test("forget a caller that leaves, and keep the turns of the others")
    func leaving() throws {
        var machine = machine(connections: 1)
        let dialed = machine.wait(for: ann, start).actions
        let waiting = [ann, bob, ann].map { machine.wait(for: $0, start).waiter }
        let connection = try #require(open(dialed, &machine).first)
        #expect(machine.leave(waiting[1]).count == 1)
        #expect(machine.leave(waiting[1]).isEmpty)
        #expect(machine.census.waiting == 2)
        let order = (0..<2).map { _ in served(machine.returned(connection, isReusable: true, start)) }
        #expect(order == [waiting[0], waiting[2]])
    }
}
