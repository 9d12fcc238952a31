import ArgumentParser
import CommandLine

/// `carillon-bench`: measures the gateway on this machine. Built from source, and not installed.
package struct BenchCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "carillon-bench", abstract: "Measures the gateway on this machine, against stand-ins.",
        discussion: HelpText.of(
            """
            Each measurement starts what it needs of gateway, PostgreSQL and stand-ins, and ends it. Compare figures of one \
            run, on a quiet machine: docs/performance.md says how they are meant.
            """,
            examples: [
                "carillon-bench latency", "carillon-bench broadcast --devices 1000000", "carillon-bench register",
                "carillon-bench wakeup", "carillon-bench wire", "carillon-bench fill --devices 10000000",
                "carillon-bench strangers", "carillon-bench triggers",
            ]),
        subcommands: [
            LatencyBench.self, BroadcastBench.self, WakeUpBench.self, RegisterBench.self, WireBench.self,
            FillBench.self, StrangersBench.self, TriggerBench.self,
        ])

    package init() {}
}
