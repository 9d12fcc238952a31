import Testing
import Worlds

/// Worlds whose processes are killed again and again between the transactions of one control, each of which moves a row
/// or two.
@Suite("A world whose processes are killed between the steps of a control")
struct UpkeepTests {
    @Test("completes every pause, resume, cancellation and rate change in another process")
    func killed() {
        var ended: [String: Int] = [:]
        for seed in UInt64(1)...20 {
            var world = SimulatedWorld(plan: Self.plan(seed))
            #expect(world.run() == nil)
            for (name, count) in world.incidents.noted { ended[name, default: 0] += count }
        }
        for step in ["putting on hold", "ending unsent", "releasing"] {
            #expect(ended["processes ended in the middle of \(step)", default: 0] > 0, "\(step)")
        }
        #expect(ended["unfinished steps that other processes continued", default: 0] > 0)
    }

    @Test("completes every control without notifications, at the next query")
    func unreported() {
        for seed in UInt64(21)...30 {
            var plan = Self.plan(seed)
            plan.notificationLost = 1_000
            var world = SimulatedWorld(plan: plan)
            #expect(world.run() == nil)
        }
    }

    private static func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.calm(seed: seed, devicesPerApp: 200)
        plan.upkeepLimits = UpkeepLimits(
            messagesMax: 1, movedMax: 2, endedMax: 1, fallenMax: 1, rescuedMax: 4, judgedMax: 1)
        (plan.killEvery, plan.stepKills, plan.streamsMax) = (.seconds(60), 500, 1)
        (plan.paused, plan.cancelled, plan.rated) = (700, 300, 300)
        (plan.scheduled, plan.hoursApart) = (500, 60)
        return plan
    }
}
