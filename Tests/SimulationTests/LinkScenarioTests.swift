import Testing
import Worlds

/// Worlds in which one thing goes wrong between a gateway and its peers.
@Suite("A world with one fault between the gateways and their peers")
struct LinkScenarioTests {
    /// The first worlds with such clocks found a bug. A date that had passed by the gateway's own clock counted as a
    /// wait of one second, after a 429 too.
    @Test("keeps the pauses that Google gives as dates although wall clocks are wrong")
    func wallClocks() {
        var passed = 0
        for seed in UInt64(1)...10 {
            var plan = WorldPlan.calm(seed: seed)
            (plan.fcmDevices, plan.throttled, plan.busy) = (1_000, 200, 200)
            (plan.wallClockOffMax, plan.wallStepEvery, plan.datedPauses) = (600, .seconds(10), 1_000)
            var world = SimulatedWorld(plan: plan)
            #expect(world.run() == nil)
            let name = "pauses requested by a date that had passed by the gateway's clock"
            passed += world.incidents.noted.first { $0.name == name }?.count ?? 0
        }
        #expect(passed > 0)
    }

    @Test(
        "gets every answer on connections that end with two GOAWAY frames",
        arguments: UInt64(1)...10)
    func goAways(seed: UInt64) {
        var plan = WorldPlan.calm(seed: seed)
        plan.connectionsMax = 2
        plan.connectionTroubleEvery = .milliseconds(60)
        plan.goAwayPairs = 1_000
        var world = SimulatedWorld(plan: plan)
        #expect(world.run() == nil)
        #expect(world.ledger.lapsedLeases == 0)
        let reached = world.store.messages.flatMap(\.reasons).allSatisfy { $0.terminalStatus.state == .accepted }
        #expect(reached)
    }

    @Test("sends each message once if senders repeat lost requests with an idempotency key")
    func askers() {
        var duplicates = 0
        for seed in UInt64(1)...20 {
            var plan = WorldPlan.calm(seed: seed)
            (plan.asksLost, plan.asksKeyed) = (250, seed % 2 == 0)
            (plan.paused, plan.cancelled) = (500, 300)
            var world = SimulatedWorld(plan: plan)
            #expect(world.run() == nil)
            let extra = world.store.messages.count - world.messages.count
            if plan.asksKeyed { #expect(extra == 0) } else { duplicates += extra }
        }
        #expect(duplicates > 0)
    }
}
