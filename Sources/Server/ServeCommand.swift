import ArgumentParser
import CommandLine

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the gateway.",
        discussion: """
            Without CARILLON_DATABASE_URL the gateway runs a PostgreSQL of its own in CARILLON_DATA_DIR. It creates its \
            keys there too. On SIGTERM or Ctrl-C it finishes the requests and pushes under way, and exits. \
            "carillon settings" lists all settings.
            """,
        examples: ["carillon serve", "CARILLON_DATA_DIR=/srv/carillon CARILLON_LISTEN=127.0.0.1:9090 carillon serve"])

    func run() async throws { await GatewayProgram.runToEnd() }
}
