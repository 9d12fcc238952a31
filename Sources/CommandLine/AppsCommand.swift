import ArgumentParser
import JSON

/// `carillon apps`: the tenants.
package struct AppsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "apps", abstract: "Lists, makes, changes and deletes apps.",
        discussion: HelpText.of(examples: [#"carillon apps create garden --name "The Garden""#, "carillon apps list"]),
        subcommands: [List.self, Create.self, AppSettingsCommand.self, Delete.self], defaultSubcommand: List.self)

    package init() {}

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the apps.",
            discussion: HelpText.of(examples: [
                "carillon apps list", "carillon apps list --json | jq -r '.items[].slug'",
            ]))
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions

        func run() async throws {
            try await orComplain(asJSON: gateway.json) {
                let client = try gateway.client()
                let apps = try await client.list("/v1/apps", of: .app)
                if gateway.json { return writeJSON(apps.json) }
                var table = TextTable("SLUG", "NAME", "SINCE")
                for app in apps.items { table.add(app.shown("slug"), app.shown("name"), app.shown("created_at")) }
                table.isEmpty
                    ? Console.remark("No apps yet. Make one: carillon apps create SLUG --name NAME") : table.write()
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes an app. Again does no harm.",
            discussion: HelpText.of(examples: [#"carillon apps create garden --name "The Garden""#]))
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions
        @Argument(help: "Its name in URLs: a-z, 0-9, - and _.") var slug: String
        @Option(help: "Its name for people (else the slug).") var name: String?

        func run() async throws {
            try await orComplain(asJSON: gateway.json) {
                let body: JSONValue = ["slug": .string(slug), "name": .string(name ?? slug)]
                let app = try await gateway.client().send("POST", "/v1/apps", body, as: .app)
                if gateway.json { return writeJSON(app) }
                Console.write("The app \(slug) is there.")
                Console.remark("Next, its credentials: carillon credentials add --app \(slug) --help")
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes an app with its devices, messages and credentials. There is no way back.",
            discussion: HelpText.of(examples: [
                "carillon apps delete garden", "carillon apps delete garden --yes --json",
            ]))
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions
        @Argument(help: "The app.") var slug: String
        @Flag(help: "Does not ask.") var yes = false

        func run() async throws {
            try await orComplain(asJSON: gateway.json) {
                try confirm("Delete the app \(slug) and everything in it?", yes)
                let answer = try await gateway.client().send(
                    "DELETE", "/v1/apps/" + GatewayClient.escaped(slug), as: .app)
                if gateway.json { return writeJSON(answer) }
                Console.write("The app \(slug) is gone; its rows follow in the background.")
            }
        }
    }
}

/// Asks a person to confirm. Without a terminal, `--yes` is required.
///
/// - Parameter otherwise: the sentence after a no.
func confirm(
    _ question: String, _ yes: Bool, otherwise: String = "nothing was done"
) throws(CommandFault) {
    guard !yes else { return }
    guard Console.isInteractive else {
        throw CommandFault(.usage, "\(question) Nobody is here to answer: say --yes")
    }
    Console.ask(question + " [y/N] ")
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
        throw CommandFault(.failed, otherwise)
    }
}

package func writeJSON(_ value: JSONValue) {
    Console.write(value.bytes + [UInt8(ascii: "\n")])
}
