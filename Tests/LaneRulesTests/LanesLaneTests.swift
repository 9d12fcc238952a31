import Basis
import LaneRules
import Testing

@Suite("A lane in use")
struct LaneGrowthTests {
    @Test("dials once when the first request waits")
    func first() {
        var world = LaneWorld()
        world.report(.timer)
        #expect(world.dialled.isEmpty)
        world.demand()
        world.demand()
        #expect(world.dialled.count == 1)
    }

    @Test("grows while requests wait and every stream is taken, up to its limit")
    func grows() {
        var world = LaneWorld(connectionsMax: 3)
        world.openOne()
        for _ in 0..<20 {
            world.demand(waitingFor: .seconds(1))
            if let id = world.dialled.last {
                world.report(.opened(id))
                world.report(.busy(id))
                world.report(.proved(id))
            }
            world.pass(.milliseconds(60))
        }
        #expect(world.dialled.count == 3)
    }

    @Test("keeps one connection while there is room or the wait is short")
    func noGrowth() {
        var world = LaneWorld()
        world.openOne()
        world.pass(.seconds(1))
        world.demand(waitingFor: .seconds(1), room: 5)
        world.demand(waitingFor: .milliseconds(10))
        #expect(world.dialled.count == 1)
    }

    @Test("judges a connection's room only after its first answer or a time limit")
    func unproven() {
        var world = LaneWorld()
        world.demand()
        world.report(.opened(world.dialled[0]))
        world.report(.busy(world.dialled[0]))
        world.pass(.milliseconds(500))
        world.demand(waitingFor: .milliseconds(500))
        #expect(world.dialled.count == 1)
        world.pass(.seconds(2))
        world.demand(waitingFor: .seconds(2))
        #expect(world.dialled.count == 2, "the lane waits for the first answer only for a limited time")
    }

    @Test("closes idle connections except one")
    func idle() {
        var world = LaneWorld()
        world.openOne()
        world.pass(.seconds(1))
        world.demand(waitingFor: .seconds(1))
        world.openOne()
        #expect(world.dialled.count == 2)
        world.report(.demand(.init(waitingSince: nil, room: 2)))
        world.pass(.seconds(298))
        #expect(world.retired.isEmpty)
        world.pass(.seconds(4))
        #expect(world.retired.count == 1)
        world.pass(.seconds(3_600))
        #expect(world.retired.count == 1)
    }

    @Test("opens a replacement as soon as a connection receives GOAWAY")
    func replacement() {
        var world = LaneWorld()
        world.openOne()
        world.report(.busy(world.dialled[0]))
        world.report(.draining(world.dialled[0], refused: false))
        #expect(world.dialled.count == 2)
    }

    @Test("keeps a connection warm without requests if it is asked to")
    func warm() {
        var world = LaneWorld()
        world.report(.warmUp)
        #expect(world.dialled.count == 1)
        world.report(.opened(world.dialled[0]))
        world.pass(.seconds(5))
        world.report(.closed(world.dialled[0], failure: .unreachable))
        world.passUntilWoken()
        #expect(world.dialled.count == 2)
    }
}

@Suite("A lane that is drained")
struct DrainedLaneTests {
    @Test("retires every connection and dials no more")
    func drains() {
        var world = LaneWorld()
        world.openOne()
        world.pass(.seconds(1))
        world.demand(waitingFor: .seconds(1))
        world.report(.drain)
        #expect(world.retired == world.dialled)
        for id in world.dialled { world.report(.closed(id, failure: nil)) }
        world.demand()
        world.pass(.seconds(1_000))
        #expect(world.dialled.count == 2)
        #expect(!world.machine.canSend)
    }
}

@Suite("A lane under random events")
struct RandomLaneTests {
    @Test("keeps its limits, and always dials again if there is demand", arguments: 0..<200 as Range<UInt64>)
    func model(seed: UInt64) {
        var world = LaneWorld(connectionsMax: 3)
        var chance = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func next(_ bound: Int) -> Int {
            chance ^= chance << 13
            chance ^= chance >> 7
            chance ^= chance << 17
            return Int(chance % UInt64(bound))
        }
        var alive: [ConnectionID] = []
        var leaving: Set<ConnectionID> = []
        var seen = 0
        for _ in 0..<500 {
            world.now = world.now + .milliseconds(Int64(next(400)))
            alive += world.dialled[seen...]
            seen = world.dialled.count
            #expect(alive.count <= 6)
            if alive.isEmpty || next(3) == 0 {
                world.demand(waitingFor: .milliseconds(Int64(next(200))), room: next(3))
            } else {
                let id = alive[next(alive.count)]
                switch next(7) {
                case 0: world.report(.opened(id))
                case 1: world.report(.proved(id))
                case 2: world.report(.busy(id))
                case 3: world.report(.idle(id))
                case 4:
                    leaving.insert(id)
                    world.report(.draining(id, refused: next(10) == 0))
                case 5:
                    alive.removeAll { $0 == id }
                    world.report(.closed(id, failure: next(2) == 0 ? nil : .unreachable))
                case 6 where next(20) == 0: world.report(.credentialRefused)
                default: world.report(.retry)
                }
            }
        }
        alive += world.dialled[seen...]
        let staying = alive.last { !leaving.contains($0) && !world.retired.contains($0) }
        endWithoutAny(world, alive)
        endWithOne(world, alive, staying)
    }

    /// Every connection closes while requests wait. The lane dials within its longest delay.
    private func endWithoutAny(_ end: LaneWorld, _ alive: [ConnectionID]) {
        var world = end
        let before = world.dialled.count
        for id in alive { world.report(.closed(id, failure: nil)) }
        world.demand()
        let limit = world.now + .seconds(301)
        while world.dialled.count == before, world.now < limit, world.machine.wakeAt(world.now) != nil {
            world.passUntilWoken()
        }
        #expect(world.dialled.count > before)
    }

    /// One connection stays open and answers while every other one fails. The lane can send.
    private func endWithOne(_ end: LaneWorld, _ alive: [ConnectionID], _ staying: ConnectionID?) {
        var world = end
        let before = world.dialled.count
        for id in alive where id != staying { world.report(.closed(id, failure: .unreachable)) }
        world.demand()
        let limit = world.now + .seconds(301)
        while staying == nil, world.dialled.count == before, world.now < limit, world.machine.wakeAt(world.now) != nil {
            world.passUntilWoken()
        }
        guard let living = staying ?? world.dialled.dropFirst(before).first else {
            Issue.record("no connection was dialled")
            return
        }
        world.report(.opened(living))
        world.report(.busy(living))
        world.report(.proved(living))
        var couldSend = [world.machine.canSend]
        for _ in 0..<10 {
            world.pass(.seconds(5))
            world.demand(waitingFor: .seconds(5))
            if let id = world.dialled.last, id != living { world.report(.closed(id, failure: .unreachable)) }
            couldSend.append(world.machine.canSend)
        }
        #expect(couldSend.allSatisfy { $0 })
    }
}
