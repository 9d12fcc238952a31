import Basis
import Model
import Testing
import Worlds

/// Worlds whose phones subscribe to items, without trouble or with one kind of it.
@Suite("A world with subscriptions to items")
struct ItemWorldTests {
    static func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.calm(seed: seed, devicesPerApp: 15)
        (plan.updates, plan.itemFollowers, plan.itemTriggers) = (40, 700, 1_000)
        (plan.itemPauses, plan.itemEventEvery, plan.itemSlice) = ([0, 5, nil], .seconds(2), 3)
        return plan
    }

    @Test("fires triggers, holds pushes and notifies followers of the newest texts", arguments: UInt64(1)...5)
    func calm(seed: UInt64) {
        var world = SimulatedWorld(plan: Self.plan(seed))
        #expect(world.run() == nil)
        #expect(world.items.fired > 10 && world.items.held > 10 && world.items.dropped > 0)
        #expect(world.items.cut > world.items.fired)
    }

    @Test("notifies a follower within its pause and the gathering", arguments: UInt64(1)...5)
    func prompt(seed: UInt64) {
        var plan = Self.plan(seed)
        // Each phone has one subscription, which no other push of the phone delays.
        (plan.itemFollowers, plan.itemTriggers, plan.itemEventEvery) = (1_000, 0, nil)
        (plan.itemPauses, plan.itemSlice) = ([5], 100)
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
        #expect(world.items.longestWait > .seconds(1))
        // A round and a release come up to three seconds later, when the upkeep looks for them.
        #expect(world.items.longestWait < .seconds(1 + 5 + 2 * 3 + 1), "\(world.items.longestWait)")
    }

    @Test("loses and repeats no push while processes are killed every two seconds", arguments: UInt64(1)...5)
    func killed(seed: UInt64) {
        var plan = Self.plan(seed)
        (plan.processes, plan.killEvery, plan.storeReplyLost) = (3, .seconds(2), 100)
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
        #expect(world.items.fired > 10)
    }
}
