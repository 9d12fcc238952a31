import Model

/// The result of one seed, as lines for a reader.
package struct WorldReport: Sendable {
    /// nil: every promise held.
    package let violation: Violation?
    /// The seed, what broke, and how much happened.
    package let headline: String
    /// The last events, or all of them where they were asked for.
    package let trace: [String]
    /// Each message's account.
    package let accounts: [String]

    /// Runs the world to its end.
    package init(seed: UInt64, events: Int = Trail.lengthDefault) {
        var world = SimulatedWorld(plan: WorldPlan(seed: seed), trailLength: events)
        let violation = world.run()
        self.init(seed, violation, world)
    }

    init(_ seed: UInt64, _ violation: Violation?, _ world: SimulatedWorld) {
        self.violation = violation
        let terminalStatus = violation.map { "\($0)" } ?? "every promise was kept"
        headline =
            "seed \(seed): \(terminalStatus) (\(world.events) events, \(world.providers.log.count) pushes, "
            + "\(world.plan.processes) processes)"
        trace = world.trail.lines
        accounts = world.store.messages.map { message in
            let ended = zip(TerminalState.allCases, message.counts).filter { $0.1 > 0 }
                .map { "\($0.1) \($0.0.name)" }
            return "message \(message.id.value.high): \(message.state.name), audience \(message.audience ?? 0)"
                + (ended.isEmpty ? "" : ": ") + ended.joined(separator: ", ")
        }
    }

    package var lines: [String] { trace + accounts + [headline] }
}

/// The result of a run of seeds.
package struct WorldTotals: Sendable {
    /// The reports of seeds that broke a promise, in order.
    package private(set) var reports: [WorldReport] = []
    package private(set) var census = WorldCensus()

    package init() {}

    package init(_ seeds: Range<UInt64>) {
        for seed in seeds {
            var world = SimulatedWorld(plan: WorldPlan(seed: seed))
            if let violation = world.run() { reports.append(WorldReport(seed, violation, world)) }
            census.add(world)
        }
    }

    package mutating func add(_ other: WorldTotals) {
        reports += other.reports
        census.add(other.census)
    }
}
