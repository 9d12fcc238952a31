import DeliveryRules
import DrySimulation
import PushModel
import Testing

/// Worlds in which one thing goes wrong.
@Suite("A world in which one thing goes wrong")
struct WorldStoryTests {
    @Test("and that is nothing: each device gets each message once, and no lease runs out")
    func calm() {
        var world = SimulatedWorld(plan: .calm(seed: 1))
        #expect(world.run() == nil)
        #expect(world.providers.log.count == world.ledger.pairs.count)
        #expect(world.ledger.lapsedLeases == 0)
    }

    @Test("an app whose credential is refused all along does not keep another app waiting")
    func isolation() {
        var world = SimulatedWorld(plan: .calm(seed: 2))
        let refused = world.credential(inSlot: world.slot(AppID(1), .production))
        world.weather.refused.append((refused, false, .minutes(2)))
        #expect(world.run() == nil)
        for message in world.store.messages where message.app == AppID(2) {
            let taken = (message.finishedAt ?? message.expiresAt) - message.acceptedAt
            #expect(taken < .seconds(10))
        }
    }

    @Test("a push that ends every process that sends it is given up, and nobody with it", arguments: UInt64(3)...22)
    func poison(seed: UInt64) {
        var plan = WorldPlan.calm(seed: seed)
        plan.poisonous = 1
        var world = SimulatedWorld(plan: plan)
        world.poisonous = [RegistrationID(7)]
        #expect(world.run() == nil)
        let endings = world.store.messages.flatMap(\.reasons).map(\.ending)
        #expect(endings.allSatisfy { $0 == Ending(.gaveUp, EndingReason.poison) })
        let guilty = world.ledger.pairs.filter { $0.registration == RegistrationID(7) }
        #expect(world.store.messages.reduce(0) { $0 + $1.counts[6] } == guilty.count)
        #expect(!world.providers.log.contains { $0.push.registration == RegistrationID(7) })
    }
}
