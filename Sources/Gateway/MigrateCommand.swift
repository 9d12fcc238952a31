import ArgumentParser
import Commands

/// `carillon migrate`: brings the database's schema up to this program's, and ends.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database's schema up to this program's, as serve does at its start.")

    func run() async throws {
        do {
            let settings = try SettingsReader().read()
            let ground = try await Ground.open(settings, log: LogOutput.start(level: settings.logLevel))
            await ground.close()
            Console.say("The schema is this program's.")
        } catch {
            Console.complain("\(error)")
            throw ExitCode.failure
        }
    }
}
