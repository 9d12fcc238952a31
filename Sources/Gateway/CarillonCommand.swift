import ArgumentParser

/// The program: one executable, a subcommand for each thing it can be.
package struct CarillonCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "The push gateway that you own.",
        subcommands: [ServeCommand.self, SimulateCommand.self, MigrateCommand.self, SettingsCommand.self])

    package init() {}
}
