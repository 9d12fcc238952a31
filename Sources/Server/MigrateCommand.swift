import ArgumentParser
import CommandLine

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Updates the database's schema to this version, as serve does at its start.",
        discussion:
            "It is harmless beside a running gateway. A private PostgreSQL is started for it, and stopped again.",
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
                Console.write("The schema is up to date.")
            }
        }
    }
}
