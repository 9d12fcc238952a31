import DeliveryRules
import PushModel
import Testing

/// Worlds in which one thing goes wrong.
@Suite("A world in which one thing goes wrong")
struct WorldStoryTests {
    @Test("and that is nothing: each device gets each message once, and no lease runs out")
    func calm() {
        var world = SimulatedWorld(plan: .calm(seed: 1))
        #expect(world.run() == nil)
        #expect(world.apple.log.count == world.ledger.pairs.count)
        #expect(world.ledger.lapsedLeases == 0)
    }

    @Test("an app whose credential is refused all along does not keep another app waiting")
    func isolation() {
        var world = SimulatedWorld(plan: .calm(seed: 2))
        let refused = world.credential(inSlot: world.slot(AppID(1), .production))
        world.weather.refused.append((refused, .minutes(2)))
        #expect(world.run() == nil)
        for message in world.store.messages where message.app == AppID(2) {
            let taken = (message.finishedAt ?? message.expiresAt) - message.acceptedAt
            #expect(taken < .seconds(10))
        }
    }

    @Test("a push that ends every process that sends it is given up, and the others go on")
    func poison() {
        var plan = WorldPlan.calm(seed: 3)
        plan.poisonous = 1
        var world = SimulatedWorld(plan: plan)
        world.poisonous = [RegistrationID(7)]
        #expect(world.run() == nil)
        let all = world.store.messages.flatMap(\.reasons)
        #expect(all.contains { $0.ending == Ending(.gaveUp, EndingReason.poison) })
        #expect(!world.apple.log.contains { $0.push.registration == RegistrationID(7) })
    }
}
