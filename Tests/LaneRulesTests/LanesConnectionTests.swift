import Basis
import LaneRules
import Testing

/// A connection and its clock, in milliseconds.
private struct ConnectionWorld {
    var machine: ConnectionMachine
    var now = MonotonicInstant(nanoseconds: 0)

    init() {
        machine = ConnectionMachine(times: ConnectionTimes(requestDeadline: .seconds(20)), now: now)
    }

    static func opened() -> ConnectionWorld {
        var world = ConnectionWorld()
        for event in [.resolved(addresses: 1), .connected(throughProxy: false), .secured, .settings]
            as [ConnectionMachine.Event]
        {
            _ = world.report(event)
        }
        return world
    }

    mutating func report(_ event: ConnectionMachine.Event) -> [ConnectionMachine.Action] {
        machine.handle(event, now: now)
    }

    mutating func pass(_ duration: Duration) -> [ConnectionMachine.Action] {
        now = now + duration
        return report(.timer)
    }

    /// Lets time pass from wake-up to wake-up.
    mutating func passUntilWoken() -> [ConnectionMachine.Action] {
        guard let at = machine.wakeAt else { return [] }
        now = max(now, at)
        return report(.timer)
    }
}

@Suite("A connection that is being dialled")
struct DialTests {
    @Test("passes through its steps from name to streams, and opens once")
    func steps() {
        var world = ConnectionWorld()
        #expect(world.report(.resolved(addresses: 2)) == [.connect(address: 0)])
        #expect(world.report(.connected(throughProxy: false)) == [.secure])
        #expect(world.report(.secured) == [.sendPreface])
        #expect(!world.machine.mayOpen(world.now))
        #expect(world.report(.settings) == [.reportOpen])
        #expect(world.machine.mayOpen(world.now))
        #expect(world.report(.settings) == [], "a later SETTINGS frame reports no second opening")
    }

    @Test("opens a tunnel first if there is a proxy")
    func proxy() {
        var world = ConnectionWorld()
        _ = world.report(.resolved(addresses: 1))
        #expect(world.report(.connected(throughProxy: true)) == [.tunnel])
        #expect(world.report(.tunnelled) == [.secure])
    }

    @Test("tries every address before it fails")
    func addresses() {
        var world = ConnectionWorld()
        #expect(world.report(.resolved(addresses: 3)) == [.connect(address: 0)])
        #expect(world.report(.connectFailed) == [.connect(address: 1)])
        #expect(world.report(.connectFailed) == [.connect(address: 2)])
        #expect(world.report(.connectFailed) == [.close(.dialFailed(.unreachable), politely: false)])
    }

    @Test("gives a silent address its share of the time, then tries the next")
    func silentAddresses() {
        var world = ConnectionWorld()
        _ = world.report(.resolved(addresses: 2))
        #expect(world.passUntilWoken() == [.connect(address: 1)])
        #expect(world.now == MonotonicInstant(nanoseconds: 5_000_000_000))
        #expect(world.passUntilWoken() == [.close(.dialFailed(.unreachable), politely: false)])
        #expect(world.now == MonotonicInstant(nanoseconds: 10_000_000_000))
    }

    @Test("fails if the name has no address")
    func noAddress() {
        var world = ConnectionWorld()
        #expect(world.report(.resolved(addresses: 0)) == [.close(.dialFailed(.unreachable), politely: false)])
    }

    @Test("fails at its deadline in any step", arguments: 0..<5)
    func deadline(steps: Int) {
        var world = ConnectionWorld()
        let events: [ConnectionMachine.Event] = [
            .resolved(addresses: 1), .connected(throughProxy: true), .tunnelled, .secured,
        ]
        for event in events.prefix(steps) { _ = world.report(event) }
        #expect(world.pass(.milliseconds(9_999)) == [])
        #expect(world.pass(.milliseconds(1)) == [.close(.dialFailed(.unreachable), politely: false)])
        #expect(world.machine.wakeAt == nil)
    }

    @Test("closes without a GOAWAY if it is retired")
    func retired() {
        var world = ConnectionWorld()
        _ = world.report(.resolved(addresses: 1))
        #expect(world.report(.retire) == [.close(.drained(.retired), politely: false)])
        #expect(world.report(.connected(throughProxy: false)) == [])
    }
}

@Suite("An open connection")
struct OpenConnectionTests {
    @Test("pings a silent peer, and closes as lost without an answer")
    func ping() {
        var world = ConnectionWorld.opened()
        #expect(world.passUntilWoken() == [.ping(1)])
        #expect(world.now == MonotonicInstant(nanoseconds: 60_000_000_000))
        #expect(world.passUntilWoken() == [.close(.lost(.connectionLost), politely: false)])
        #expect(world.now == MonotonicInstant(nanoseconds: 70_000_000_000))
    }

    @Test("stays open for days with a peer that answers its PINGs")
    func days() {
        var world = ConnectionWorld.opened()
        for round in 1...3_000 as ClosedRange<UInt64> {
            #expect(world.passUntilWoken() == [.ping(round)])
            world.machine.noteActivity(world.now)
            #expect(world.report(.pingAnswered(round)) == [])
        }
    }

    @Test("accepts no request after a long silence until the peer answers a PING")
    func stale() {
        var world = ConnectionWorld.opened()
        _ = world.pass(.seconds(30))
        #expect(!world.machine.mayOpen(world.now))
        #expect(world.machine.wake(world.now) == [.ping(1)])
        #expect(world.machine.wake(world.now) == [], "one PING is in flight at a time")
        world.machine.noteActivity(world.now)
        _ = world.report(.pingAnswered(1))
        #expect(world.machine.mayOpen(world.now))
    }

    @Test("pings after a request timed out, and drains if the peer answered nothing")
    func unresponsive() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 2, world.now)
        world.now = world.now + .seconds(20)
        world.machine.noteActivity(world.now)
        world.machine.streams(open: 1, world.now)
        #expect(world.report(.requestTimedOut) == [.ping(1), .reportDraining(.unresponsive)])
        #expect(!world.machine.mayOpen(world.now))
        world.machine.streams(open: 0, world.now)
        #expect(world.report(.emptied) == [.close(.drained(.unresponsive), politely: true)])
    }

    @Test("stays open after one timed-out request if the peer answered others")
    func oneLostAnswer() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 2, world.now)
        world.now = world.now + .seconds(19)
        world.machine.answered(world.now)
        world.now = world.now + .seconds(1)
        world.machine.noteActivity(world.now)
        #expect(world.report(.requestTimedOut) == [.ping(1)])
        #expect(world.machine.phase == .open)
    }

    @Test("closes as lost, once, when it breaks with requests in flight")
    func breaks() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 5, world.now)
        #expect(world.report(.failed(.connectionLost)) == [.close(.lost(.connectionLost), politely: false)])
        #expect(world.report(.failed(.connectionLost)) == [], "a connection ends once")
    }
}

@Suite("A connection that received GOAWAY")
struct DrainingConnectionTests {
    @Test("finishes the requests in flight, then closes politely")
    func finishes() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 3, world.now)
        #expect(world.report(.goAway) == [.reportDraining(.goAway)])
        #expect(world.report(.goAway) == [], "the second GOAWAY of a graceful shutdown changes nothing")
        world.machine.streams(open: 0, world.now)
        #expect(world.report(.emptied) == [.close(.drained(.goAway), politely: true)])
    }

    @Test("closes at once if nothing is in flight")
    func empty() {
        var world = ConnectionWorld.opened()
        #expect(
            world.report(.goAway) == [.reportDraining(.goAway), .close(.drained(.goAway), politely: true)])
    }

    @Test("counts as drained, not as lost, if the peer closes after the last answer")
    func peerCloses() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 1, world.now)
        _ = world.report(.goAway)
        world.machine.streams(open: 0, world.now)
        #expect(world.report(.failed(.connectionLost)) == [.close(.drained(.goAway), politely: false)])
    }

    @Test("counts as lost if the peer closes before the last answer")
    func cut() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 1, world.now)
        _ = world.report(.goAway)
        #expect(world.report(.failed(.connectionLost)) == [.close(.lost(.connectionLost), politely: false)])
    }

    @Test("detects by PING that the peer is gone")
    func liveness() {
        var world = ConnectionWorld.opened()
        world.machine.streams(open: 1, world.now)
        _ = world.report(.goAway)
        #expect(world.passUntilWoken() == [.ping(1)])
        #expect(world.passUntilWoken() == [.close(.lost(.connectionLost), politely: false)])
    }
}

@Suite("A connection under random events")
struct RandomConnectionTests {
    @Test("closes exactly once, and always has a wake-up time until then", arguments: 0..<200 as Range<UInt64>)
    func model(seed: UInt64) {
        var world = ConnectionWorld()
        var chance = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func next(_ bound: UInt64) -> UInt64 {
            chance ^= chance << 13
            chance ^= chance >> 7
            chance ^= chance << 17
            return chance % bound
        }
        let events: [ConnectionMachine.Event] = [
            .resolved(addresses: 2), .connected(throughProxy: false), .connected(throughProxy: true), .connectFailed,
            .tunnelled, .secured, .settings, .pingAnswered(1), .requestTimedOut, .goAway, .retire, .emptied,
            .failed(.connectionLost), .timer,
        ]
        var closes = 0
        for _ in 0..<400 {
            world.now = world.now + .milliseconds(Int64(next(3_000)))
            if next(3) == 0 { world.machine.noteActivity(world.now) }
            if next(3) == 0 { world.machine.streams(open: Int(next(3)), world.now) }
            // The late events of the dial come often, so that runs reach the open state.
            let event = events[Int(next(20) < 14 ? next(7) : next(UInt64(events.count)))]
            for action in world.report(event) {
                if case .close = action { closes += 1 }
            }
            if world.machine.phase == .closed {
                #expect(closes == 1)
                #expect(world.machine.wakeAt == nil)
            } else {
                #expect(closes == 0)
                #expect(world.machine.wakeAt != nil)
            }
        }
    }
}
