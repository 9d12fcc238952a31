import DrySimulation
import Testing

@Suite("A world full of faults")
struct WorldTests {
    /// More of them: `CARILLON_SEEDS=20000 swift test --filter WorldTests`.
    @Test("keeps every promise", .serialized, arguments: WorldSeeds.batches)
    func promisesHold(batch: Range<UInt64>) async {
        if let report = await WorldHarvest.of(batch).report { Issue.record("\(report)") }
    }

    @Test("is the same world every time")
    func seedsReplay() {
        var first = SimulatedWorld(plan: WorldPlan(seed: 11))
        var second = SimulatedWorld(plan: WorldPlan(seed: 11))
        #expect(first.run() == second.run())
        #expect(first.store == second.store)
        #expect(first.events == second.events)
    }

    @Test("gets into every kind of trouble, and hears every answer, that it is there for")
    func troubleEnough() async {
        var census = WorldCensus()
        for batch in WorldSeeds.batches { census.add(await WorldHarvest.of(batch).census) }
        #expect(census.missing.isEmpty, "\(census)")
        if WorldSeeds.tellsMore { print(census) }
    }
}
