import ArgumentParser
import CommandLine
import Worlds

/// `carillon-worlds`: replays worlds of the dry simulation (docs/simulation.md), for developers of this program.
@main
struct WorldsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon-worlds",
        abstract: "Replays the delivery rules in a simulated world of one seed, or in many.",
        discussion: HelpText.of(
            """
            Simulates gateways, their database, the providers and the devices, with every fault that the seed draws. A \
            seed gives the same run every time; nothing is sent or stored. For one seed it prints the last events and \
            each message's account. For several it prints the broken promises, and how often each fault occurred. \
            It ends with 1 if a promise was broken, or if a fault never occurred in thousands of runs. \
            docs/simulation.md describes what is simulated. It also explains how to repeat a seed of the worlds \
            with a real database, which needs the sources.
            """,
            examples: [
                "carillon-worlds --seed 11", "carillon-worlds --seed 11 --events 1000000",
                "carillon-worlds --seed 1 --worlds 20000",
            ]))

    /// The number of seeds that the suite tries.
    private static let reportEveryMin: UInt64 = 2_000

    @Option(help: "The seed, or the first of several.")
    var seed: UInt64

    @Option(help: ArgumentHelp("The number of last events to print.", valueName: "count"))
    var events = 60

    @Option(help: ArgumentHelp("The number of seeds to run, starting with --seed.", valueName: "count"))
    var worlds: UInt64 = 1

    func validate() throws {
        guard events >= 1 else { throw ValidationError("--events must be at least 1.") }
        guard worlds >= 1, seed.addingReportingOverflow(worlds).overflow == false else {
            throw ValidationError("--worlds must be at least 1, and the last seed must fit in 64 bits.")
        }
    }

    func run() async throws {
        let isKept = worlds == 1 ? replay() : await tryMany()
        if !isKept { throw ExitCode(1) }
    }

    private func replay() -> Bool {
        let report = WorldReport(seed: seed, events: events)
        for line in report.lines { Console.write(line) }
        return report.violation == nil
    }

    /// Tries a few seeds per task, so that the cores share them.
    private func tryMany() async -> Bool {
        let harvest = await withTaskGroup(of: WorldTotals.self) { group in
            for first in stride(from: seed, to: seed + worlds, by: 50) {
                let last = min(first + 50, seed + worlds)
                group.addTask { WorldTotals(first..<last) }
            }
            return await group.reduce(into: WorldTotals()) { $0.add($1) }
        }
        for line in "\(harvest.census)".split(separator: "\n") { Console.write(String(line)) }
        for report in harvest.reports { Console.write(report.headline) }
        Console.write("\(harvest.reports.count) of \(worlds) worlds broke a promise.")
        // Few worlds need not see everything. In as many as the suite tries, each kind comes about hundreds of times.
        let missing = worlds >= Self.reportEveryMin ? harvest.census.missing : []
        if !missing.isEmpty { Console.write("These faults did not occur: \(missing.joined(separator: "; "))") }
        return harvest.reports.isEmpty && missing.isEmpty
    }
}
