import Model
import Testing
import Worlds

/// Worlds whose messages to named receivers are cut when they are accepted.
@Suite("Direct messages that are cut when they are accepted")
struct DirectMessageTests {
    private static func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.calm(seed: seed)
        (plan.directs, plan.fcmDevices) = (20, 300)
        return plan
    }

    @Test("reach their devices, most of them by the lease of their cut", arguments: UInt64(1)...5)
    func calm(seed: UInt64) {
        var world = SimulatedWorld(plan: Self.plan(seed))
        #expect(world.run() == nil)
        #expect(world.incidents.cuts == 20)
        #expect(world.incidents.cutLeases > world.incidents.cutsReady, "the first of each route finds no lane")
    }

    @Test("lose nothing to processes that end and to lost replies", arguments: UInt64(1)...20, [true, false])
    func crashes(seed: UInt64, isKeyed: Bool) {
        var plan = Self.plan(seed)
        (plan.killEvery, plan.freezeEvery, plan.asksKeyed) = (.seconds(3), .seconds(20), isKeyed)
        (plan.storeCallLost, plan.storeReplyLost, plan.storeCallLate, plan.asksLost) = (50, 100, 50, 50)
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
        #expect(world.incidents.cuts >= 20)
    }

    @Test("keep the bounds of full lanes, and wait for lanes that can't send", arguments: UInt64(1)...20)
    func lanes(seed: UInt64) {
        var plan = Self.plan(seed)
        (plan.settings.laneUrgentMax, plan.settings.urgentMax, plan.requestsPerMinute) = (2, 3, 600)
        (plan.credentialTroubleEvery, plan.unreachableEvery, plan.throttled) = (.seconds(10), .seconds(20), 100)
        plan.drainEvery = .seconds(30)
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
        #expect(world.incidents.cutsReady > 0)
    }

    @Test("obey pauses, cancels and limits like others", arguments: UInt64(1)...20)
    func controls(seed: UInt64) {
        var plan = Self.plan(seed)
        (plan.paused, plan.cancelled, plan.streamsMax, plan.poisonous) = (500, 500, 1, 30)
        (plan.dailyCap, plan.deviceEventEvery, plan.handsChangeEvery) = (3, .seconds(1), .seconds(1))
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
    }
}
