import ArgumentParser

package struct DemoCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Runs a complete demonstration on this machine.",
        discussion:
            "Each demonstration has a gateway of its own, with its own PostgreSQL, and stand-ins of APNs and FCM.",
        examples: ["carillon demo", "carillon demo wakeup", "carillon demo stocks"],
        subcommands: [BroadcastDemo.self, WakeUpDemo.self, StocksDemo.self], defaultSubcommand: BroadcastDemo.self)

    package init() {}
}
