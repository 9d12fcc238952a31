import Model
import QueueRules
import Testing
import Worlds

/// Settles that add up and are not true. The checkers of each push's terminal state exist to catch them.
@Suite("A world whose engine records false outcomes")
struct PlantedLieTests {
    static let lies: [PlantedLie] = [
        PlantedLie(.accepted, as: TerminalStatus(.rejected, "PayloadTooLarge")),
        PlantedLie(.accepted, as: TerminalStatus(.expired, TerminalReason.expired)),
        PlantedLie(.rejected, as: TerminalStatus(.accepted)),
        PlantedLie(.rejected, as: TerminalStatus(.rejected, "BadDeviceToken")),
        PlantedLie(.rejected, as: TerminalStatus(.unregistered, TerminalReason.retired)),
        PlantedLie(.rejected, as: TerminalStatus(.unregistered, TerminalReason.deviceDeleted)),
        PlantedLie(.rejected, as: TerminalStatus(.unregistered, "Unregistered")),
        PlantedLie(.rejected, as: TerminalStatus(.expired, TerminalReason.expired)),
        PlantedLie(.rejected, as: TerminalStatus(.cancelled, TerminalReason.cancelled)),
        PlantedLie(.rejected, as: TerminalStatus(.suppressed, TerminalReason.dailyCap)),
        PlantedLie(.rejected, as: TerminalStatus(.suppressed, TerminalReason.quietHours)),
        PlantedLie(.rejected, as: TerminalStatus(.gaveUp, TerminalReason.answerLost)),
        PlantedLie(.rejected, as: TerminalStatus(.gaveUp, TerminalReason.retriesExhausted)),
        PlantedLie(.rejected, as: TerminalStatus(.gaveUp, TerminalReason.poison)),
    ]

    @Test("fails at the settlement that records the false outcome", arguments: lies)
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

    @Test("fails if a cut loses a parcel or changes a badge twice", arguments: CutLie.allCases)
    func caughtCut(lie: CutLie) {
        var promises: [String] = []
        for seed in UInt64(1)...8 {
            var plan = WorldPlan.calm(seed: seed)
            // A lease that expires shows whether its badges are marked.
            (plan.directs, plan.killEvery) = (20, .seconds(2))
            var world = SimulatedWorld(plan: plan)
            #expect(world.run() == nil)
            world = SimulatedWorld(plan: plan)
            world.cutLie = lie
            if let violation = world.run() { promises.append(violation.promise) }
        }
        #expect(promises.contains(lie == .losesParcel ? "P1" : "P3"), "\(lie): \(promises)")
    }

    @Test(
        "fails if a trigger fires twice or at crossings alone, a push is lost, or a badge is wrong",
        arguments: ItemLie.allCases)
    func caughtItems(lie: ItemLie) {
        var promises: [String] = []
        for seed in UInt64(1)...8 {
            let plan = ItemWorldTests.plan(seed)
            var world = SimulatedWorld(plan: plan)
            #expect(world.run() == nil)
            world = SimulatedWorld(plan: plan)
            world.itemLie = lie
            if let violation = world.run() { promises.append(violation.promise) }
        }
        #expect(promises.contains(lie.promise), "\(lie): \(promises)")
    }
}

extension ItemLie {
    /// The promise that it breaks.
    fileprivate var promise: String {
        switch self {
        case .firesTwice: "P4"
        case .firesAtCrossings, .losesHeldPushes: "P1"
        case .raisesBadgesOfDropped: "P3"
        }
    }
}
