import Testing

@Suite("A world full of faults")
struct WorldTests {
    /// More of them: `CARILLON_SEEDS=20000 swift test --filter WorldTests`.
    @Test("keeps every promise", arguments: WorldSeeds.batches)
    func promisesHold(batch: Range<UInt64>) {
        for seed in batch {
            var world = SimulatedWorld(plan: WorldPlan(seed: seed))
            if let violation = world.run() {
                Issue.record("\(WorldSeeds.report(seed, violation, world))")
                return
            }
        }
    }

    @Test("is the same world every time")
    func seedsReplay() {
        var first = SimulatedWorld(plan: WorldPlan(seed: 11))
        var second = SimulatedWorld(plan: WorldPlan(seed: 11))
        #expect(first.run() == second.run())
        #expect(first.store == second.store)
        #expect(first.events == second.events)
    }

    @Test("gets into every kind of trouble that it is there for")
    func troubleEnough() {
        var census = WorldCensus()
        for seed in UInt64(1)...150 {
            var world = SimulatedWorld(plan: WorldPlan(seed: seed))
            _ = world.run()
            census.add(world)
        }
        #expect(census.missing.isEmpty, "\(census)")
        if WorldSeeds.tellsMore { print(census) }
    }
}
