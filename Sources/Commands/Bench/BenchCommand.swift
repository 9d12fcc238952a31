import ArgumentParser

/// `carillon bench`: what this machine does with it.
package struct BenchCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures the gateway on this machine, against stand-ins.",
        discussion: HelpText.of(
            """
            Each measurement starts a gateway, a PostgreSQL and stand-ins of its own, and ends them. Compare figures of one \
            run, on a quiet machine: docs/performance.md says how they are meant.
            """,
            examples: [
                "carillon bench latency", "carillon bench broadcast --devices 1000000", "carillon bench register",
            ]),
        subcommands: [LatencyBench.self, BroadcastBench.self, RegisterBench.self])

    package init() {}
}
