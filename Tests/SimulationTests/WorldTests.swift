import Testing
import Worlds

@Suite("A world full of faults")
struct WorldTests {
    /// More seeds: `CARILLON_SEEDS=20000 scripts/test --filter WorldTests`, or `carillon-worlds`.
    @Test("keeps every promise", .serialized, arguments: WorldSeeds.batches)
    func promisesHold(batch: Range<UInt64>) async {
        for report in await WorldSeeds.harvest(of: batch).reports {
            Issue.record("\(report.lines.joined(separator: "\n"))")
        }
    }

    @Test("repeats exactly for the same seed")
    func seedsReplay() {
        var first = SimulatedWorld(plan: WorldPlan(seed: 11))
        var second = SimulatedWorld(plan: WorldPlan(seed: 11))
        #expect(first.run() == second.run())
        #expect(first.store == second.store)
        #expect(first.events == second.events)
    }

    @Test("reports its events from first to last, and how each message finished")
    func reported() {
        let short = WorldReport(seed: 11)
        let whole = WorldReport(seed: 11, events: .max)
        #expect(short.trace == whole.trace.suffix(60))
        #expect(short.headline == whole.headline && short.accounts == whole.accounts)
        var world = SimulatedWorld(plan: WorldPlan(seed: 11))
        #expect(world.run() == nil)
        #expect(whole.trace.count == world.events)
        #expect(whole.accounts.count == world.store.messages.count)
        #expect(whole.accounts.allSatisfy { $0.contains("finished") })
    }

    /// A checker that has nothing to judge, or that another fault disarmed, is green and proves nothing.
    @Test("gives each checker something to judge, except the rare ones")
    func checkersAreArmed() async {
        let census = await WorldSeeds.census()
        let idle = WorldChecker.allCases.filter { census.worlds(judgedBy: $0) == 0 }
        #expect(Set(idle).isSubset(of: WorldCensusTests.rare.keys), "\(idle.map(\.text))")
    }
}

/// Counts what happened in at least two thousand worlds. scripts/soak runs it with that many (`CARILLON_SEEDS`);
/// scripts/test leaves it out.
@Suite("The census of many worlds full of faults")
struct WorldCensusTests {
    @Test("contains every kind of fault and every answer that the worlds exist for")
    func troubleEnough() async {
        let census = await WorldSeeds.census()
        #expect(census.missing.isEmpty, "\(census)")
    }

    @Test("contains enough worlds for each checker to judge", arguments: WorldChecker.allCases)
    func checkersAreHeard(checker: WorldChecker) async {
        let census = await WorldSeeds.census()
        let least = Self.rare[checker] ?? Self.worldsMin
        let judged = census.worlds(judgedBy: checker)
        #expect(judged * 2_000 >= least * census.worlds, "\(judged) worlds: \(checker.text)")
    }

    /// The fewest worlds in two thousand that a checker must judge.
    private static let worldsMin = 100
    /// Lower bounds for checkers that need several rare things at once.
    static let rare: [WorldChecker: Int] = [
        .rateOnTheWire: 30, .latency: 15, .silenced: 30, .poison: 30, .seenTwice: 10, .confirmed: 30, .stayed: 40,
        .tooLate: 35, .slowedDown: 7, .suppressed: 90, .withdrawn: 30, .itemTurns: 5,
    ]
}
