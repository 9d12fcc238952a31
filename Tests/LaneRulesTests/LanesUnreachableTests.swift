import Basis
import Testing

@Suite("A lane whose provider cannot be reached")
struct UnreachableLaneTests {
    @Test("waits longer after each failed dial, and reports once that it is blocked")
    func blocks() {
        var world = LaneWorld()
        world.demand()
        for _ in 0..<5 {
            if let id = world.dialled.last { world.report(.closed(id, failure: .unreachable)) }
            world.passUntilWoken()
        }
        let delays = zip(world.dialTimes.dropFirst(), world.dialTimes).map { $0 - $1 as Duration }
        #expect(delays == [.seconds(1), .seconds(2), .seconds(4), .seconds(4), .seconds(4)])
        #expect(world.blocks == [.unreachable])
        #expect(!world.machine.canSend)
    }

    @Test("keeps probing without requests, and unblocks once a connection lasts")
    func recovers() {
        var world = LaneWorld()
        world.demand()
        for _ in 0..<2 {
            if let id = world.dialled.last { world.report(.closed(id, failure: .unreachable)) }
            world.passUntilWoken()
        }
        world.report(.demand(.init(waitingSince: nil, room: 0)))
        #expect(world.blocks.count == 1)
        if let id = world.dialled.last { world.report(.opened(id)) }
        #expect(world.unblocks == 0, "a connection that closes at once proves nothing")
        world.passUntilWoken()
        #expect(world.unblocks == 1)
        #expect(world.machine.canSend)
    }

    @Test("counts a connection that ends before it has proved itself as a failed dial")
    func shortLived() {
        var world = LaneWorld()
        world.demand()
        for _ in 0..<2 {
            if let id = world.dialled.last {
                world.report(.opened(id))
                world.report(.closed(id, failure: .unreachable))
            }
            world.passUntilWoken()
        }
        #expect(world.blocks == [.unreachable])
    }

    @Test("unblocks with a connection that allows streams, not with one that allows none")
    func withoutStreams() {
        var world = LaneWorld(connectionsMax: 1)
        world.demand()
        for _ in 0..<2 {
            if let id = world.dialled.last {
                world.report(.opened(id))
                world.report(.streams(id, allowed: false))
                world.pass(.seconds(10))
                world.report(.closed(id, failure: .unreachable))
            }
            world.passUntilWoken()
        }
        #expect(world.blocks == [.unreachable] && world.dialled.count == 3)
        world.report(.opened(world.dialled[2]))
        world.report(.streams(world.dialled[2], allowed: false))
        #expect(world.machine.wakeAt(world.now) == nil, "no wake-up is needed")
        world.pass(.seconds(10))
        #expect(world.unblocks == 0)
        world.report(.streams(world.dialled[2], allowed: true))
        #expect(world.unblocks == 1)
    }

    @Test("dials at once after a working connection was lost, without a block")
    func lost() {
        var world = LaneWorld()
        world.openOne()
        world.report(.closed(world.dialled[0], failure: .unreachable))
        #expect(world.dialled.count == 2)
        #expect(world.blocks.isEmpty)
    }

    @Test("stays within its dial pace, however often connections end")
    func pace() {
        var world = LaneWorld(connectionsMax: 3)
        world.demand()
        while world.now < MonotonicInstant(nanoseconds: 10_000_000_000) {
            if let id = world.dialled.last {
                world.report(.opened(id))
                world.report(.proved(id))
                world.report(.draining(id, refused: false))
                world.report(.closed(id, failure: .unreachable))
            }
            world.passUntilWoken()
        }
        #expect(world.dialled.count <= 3 + 40 + 1)
    }
}

@Suite("A lane that works while its further dials fail")
struct FailedGrowthTests {
    /// Returns a lane with one proven connection while requests wait for another one.
    private func crowded() -> LaneWorld {
        var world = LaneWorld()
        world.openOne()
        world.report(.busy(world.dialled[0]))
        world.pass(.seconds(1))
        world.demand(waitingFor: .seconds(1))
        return world
    }

    @Test("waits longer after each failed dial, and keeps sending")
    func delays() {
        var world = crowded()
        for _ in 0..<5 {
            if let id = world.dialled.last { world.report(.closed(id, failure: .unreachable)) }
            world.passUntilWoken()
        }
        let delays = zip(world.dialTimes.dropFirst(2), world.dialTimes.dropFirst()).map { $0 - $1 as Duration }
        #expect(delays == [.seconds(1), .seconds(2), .seconds(4), .seconds(4), .seconds(4)])
        #expect(world.blocks.isEmpty)
        #expect(world.machine.canSend)
    }

    @Test("dials at once when its working connection is lost, despite the delay of failed dials")
    func lost() {
        var world = crowded()
        for _ in 0..<4 {
            if let id = world.dialled.last { world.report(.closed(id, failure: .unreachable)) }
            if world.dialled.count < 5 { world.passUntilWoken() }
        }
        let before = world.dialled.count
        world.report(.closed(world.dialled[0], failure: .unreachable))
        #expect(world.dialled.count == before + 1)
        #expect(world.blocks.isEmpty)
        if let id = world.dialled.last { world.report(.closed(id, failure: .unreachable)) }
        #expect(world.blocks.isEmpty, "the first failure after a working connection blocks nothing")
    }

    @Test("unblocks when an open connection answers, whatever blocked it")
    func answered() {
        var world = LaneWorld()
        world.demand()
        world.report(.opened(world.dialled[0]))
        world.report(.busy(world.dialled[0]))
        for _ in 0..<2 {
            world.pass(.seconds(3))
            world.demand(waitingFor: .seconds(3))
            if let id = world.dialled.last { world.report(.closed(id, failure: .unreachable)) }
        }
        #expect(world.blocks == [.unreachable], "the first connection has not proved that it works")
        world.report(.proved(world.dialled[0]))
        #expect(world.machine.canSend)
        #expect(world.unblocks == 1)
    }
}

@Suite("A lane whose peer answers nothing")
struct UnresponsiveLaneTests {
    @Test("blocks after timed-out requests, although its connections are quiet")
    func timedOut() {
        var world = LaneWorld()
        world.demand()
        for _ in 0..<2 {
            guard let id = world.dialled.last else { continue }
            world.report(.opened(id))
            world.report(.busy(id))
            world.pass(.seconds(20))
            world.report(.idle(id))
            world.report(.draining(id, refused: false))
            world.report(.closed(id, failure: .unreachable))
            world.passUntilWoken()
        }
        #expect(world.blocks == [.unreachable])
    }

    @Test("counts a lasting quiet as proof, even after all streams were reset")
    func quiet() {
        var world = LaneWorld()
        world.demand()
        world.report(.closed(world.dialled[0], failure: .unreachable))
        world.passUntilWoken()
        guard let id = world.dialled.last else { return }
        world.report(.opened(id))
        world.report(.busy(id))
        world.pass(.seconds(20))
        world.report(.idle(id))
        #expect(world.machine.breaker.failures == 1)
        world.pass(.seconds(2))
        #expect(world.machine.breaker.failures == 0)
    }
}
