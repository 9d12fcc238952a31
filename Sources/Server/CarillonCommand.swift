import ArgumentParser
import CommandLine

/// The program: one executable, with a subcommand for each of its roles.
package struct CarillonCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "The push gateway that you own.",
        discussion: """
            serve is the gateway, with a PostgreSQL of its own; the others, in another terminal beside its data folder, \
            make an app, hand in what lets its pushes in at Apple and Google, and send.

            Commands that ask a gateway find it by --url or CARILLON_URL, and open it with the key in --key-file, \
            CARILLON_KEY or data/admin-key. They end with 0 where all is well, 1 where what was asked for failed, 64 for a \
            wrong command line, 65 where the gateway refused, 69 where it can't be reached, 75 where later may be better, \
            77 where the key does not open this.
            """,
        examples: [
            "carillon serve", #"carillon apps create garden --name "The Garden""#,
            "carillon credentials add --app garden --service-account firebase.json --activate",
            #"carillon send --app garden --all --title Noon --body "Twelve o'clock" --preview"#,
            "carillon --generate-completion-script bash",
        ],
        version: "carillon \(ProgramVersion.current)",
        subcommands: [ErrorsCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Running",
                subcommands: [
                    ServeCommand.self, SimulateCommand.self, DemoCommand.self, DoctorCommand.self,
                    MigrateCommand.self, SettingsCommand.self,
                ]),
            CommandGroup(
                name: "Asking a gateway",
                subcommands: [
                    SendCommand.self, MessagesCommand.self, DevicesCommand.self, AppsCommand.self,
                    CredentialsCommand.self, KeysCommand.self, WakeUpCommand.self,
                ]),
        ])

    package init() {}
}
