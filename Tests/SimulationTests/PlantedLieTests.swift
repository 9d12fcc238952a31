import DeliveryRules
import DrySimulation
import PushModel
import Testing

/// Settles that add up and are not true: what the checkers of each push's ending are there for.
@Suite("A world whose engine records what did not happen")
struct PlantedLieTests {
    static let lies: [PlantedLie] = [
        PlantedLie(.accepted, as: Ending(.rejected, "PayloadTooLarge")),
        PlantedLie(.accepted, as: Ending(.expired, EndingReason.expired)),
        PlantedLie(.rejected, as: Ending(.accepted)),
        PlantedLie(.rejected, as: Ending(.rejected, "BadDeviceToken")),
        PlantedLie(.rejected, as: Ending(.unregistered, EndingReason.retired)),
        PlantedLie(.rejected, as: Ending(.unregistered, EndingReason.deviceDeleted)),
        PlantedLie(.rejected, as: Ending(.unregistered, "Unregistered")),
        PlantedLie(.rejected, as: Ending(.expired, EndingReason.expired)),
        PlantedLie(.rejected, as: Ending(.cancelled, EndingReason.cancelled)),
        PlantedLie(.rejected, as: Ending(.suppressed, EndingReason.dailyCap)),
        PlantedLie(.rejected, as: Ending(.suppressed, EndingReason.quietHours)),
        PlantedLie(.rejected, as: Ending(.gaveUp, EndingReason.answerLost)),
        PlantedLie(.rejected, as: Ending(.gaveUp, EndingReason.retriesExhausted)),
        PlantedLie(.rejected, as: Ending(.gaveUp, EndingReason.poison)),
    ]

    @Test("is caught at the settle that says so", arguments: lies)
    func caught(lie: PlantedLie) {
        var plan = WorldPlan.calm(seed: 5)
        plan.messageRefused = 100
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
        world = SimulatedWorld(plan: plan)
        world.lie = lie
        let violation = world.run()
        #expect(violation?.promise == "P2")
        #expect(violation?.sentence.contains("is recorded as") == true, "\(violation.map { "\($0)" } ?? "green")")
    }
}
