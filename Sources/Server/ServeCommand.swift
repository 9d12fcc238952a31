import ArgumentParser
import CommandLine

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the gateway.",
        discussion: """
            Without CARILLON_DATABASE_URL it keeps a PostgreSQL of its own in CARILLON_DATA_DIR, and makes its keys there. \
            SIGTERM or Ctrl-C lets it finish what it has begun. "carillon settings" lists what can be set.
            """,
        examples: ["carillon serve", "CARILLON_DATA_DIR=/srv/carillon CARILLON_LISTEN=127.0.0.1:9090 carillon serve"])

    func run() async throws { await GatewayProgram.runToEnd() }
}
