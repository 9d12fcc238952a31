import ArgumentParser
import CommandLine

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database's schema up to this program's, as serve does at its start.",
        discussion: "Harmless beside a running gateway. The private PostgreSQL is started for it and ended again.",
        examples: ["carillon migrate", "carillon migrate --json"])

    @Flag(help: "Prints what was applied as JSON, for scripts.") var json = false

    func run() async throws {
        try await orComplain(ofThisMachine: json) {
            let (reader, service) = try SettingsReader.ofThisMachine()
            let settings = try reader.read()
            if let service, settings.databaseURL == nil {
                throw StartFault(
                    "the installed service keeps a private PostgreSQL in \(service.dataFolder), whose schema it brings up "
                        + "to date at its start (systemctl restart carillon). Name another gateway with "
                        + "CARILLON_DATA_DIR or CARILLON_DATABASE_URL")
            }
            let resources = try await GatewayResources.open(settings, log: LogOutput.start(settings))
            await resources.close()
            if json {
                writeJSON(["applied": .array(resources.migrationsApplied.map { .string($0) })])
            } else {
                for name in resources.migrationsApplied { Console.write("applied \(name)") }
                Console.write("The schema is this program's.")
            }
        }
    }
}
