import ArgumentParser
import CommandLine

/// The program: one executable, with a subcommand for each of its roles.
package struct CarillonCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "The push gateway that you own.",
        discussion: """
            "carillon serve" runs the gateway, with a PostgreSQL of its own. The other commands create an app, add its \
            credentials for Apple and Google, and send. Run them in another terminal, in the same folder.

            Commands that ask a gateway read its address from --url or CARILLON_URL, and the API key from --key-file, \
            CARILLON_KEY or data/admin-key.

            Exit codes: 0 done, 1 not achieved, 64 the command line is wrong, 65 the gateway refused, 69 the gateway \
            can't be reached, 75 try again later, 77 the key is missing, invalid or lacks a scope.
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
