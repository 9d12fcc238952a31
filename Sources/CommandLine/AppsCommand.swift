import ArgumentParser
import JSON

package struct AppsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "apps", abstract: "Lists, creates, changes and deletes apps.",
        examples: [#"carillon apps create garden --name "The Garden""#, "carillon apps list"],
        subcommands: [List.self, Create.self, AppSettingsCommand.self, Delete.self], defaultSubcommand: List.self)

    package init() {}

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the apps.",
            examples: ["carillon apps list", "carillon apps list --json | jq -r '.items[].slug'"])
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions

        func ask(_ client: GatewayClient) async throws -> Output {
            let apps = try await client.list("/v1/apps", of: .app)
            return Output(apps.json) {
                TextTable.write(
                    apps.items, ["SLUG": "slug", "NAME": "name", "SINCE": "created_at"],
                    ifEmpty: "No apps yet. Create one: carillon apps create SLUG --name NAME")
            }
        }
    }

    struct Create: GatewayCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates an app. Repeating it is harmless.",
            examples: [#"carillon apps create garden --name "The Garden""#])
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions
        @Argument(help: "The app's name in URLs: a-z, 0-9, - and _.") var slug: String
        @Option(help: "The app's name for people (default: the slug).") var name: String?

        func ask(_ client: GatewayClient) async throws -> Output {
            let body: JSONValue = ["slug": .string(slug), "name": .string(name ?? slug)]
            return Output(try await client.send("POST", "/v1/apps", body, as: .app)) {
                Console.write("The app \(slug) exists.")
                Console.remark("Next, add a credential: carillon credentials add --app \(slug) --help")
            }
        }
    }

    struct Delete: GatewayCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes an app with its devices, messages and credentials. This can't be undone.",
            examples: ["carillon apps delete garden", "carillon apps delete garden --yes --json"])
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions
        @Argument(help: "The app.") var slug: String
        @Flag(help: "Skips the confirmation.") var yes = false

        func ask(_ client: GatewayClient) async throws -> Output {
            try confirm("Delete the app \(slug) and everything in it?", yes)
            return Output(
                try await client.send("DELETE", "/v1/apps/" + GatewayClient.escaped(slug), as: .app),
                "The app \(slug) is deleted; its data is removed in the background.")
        }
    }
}

/// Asks a person to confirm. Without a terminal, `--yes` is required.
///
/// - Parameter otherwise: the sentence after a no.
func confirm(_ question: String, _ yes: Bool, otherwise: String = "nothing was done") throws(CommandFault) {
    guard !yes else { return }
    guard Console.isInteractive else {
        throw CommandFault(.usage, "\(question) There is no terminal to ask: give --yes to confirm")
    }
    Console.ask(question + " [y/N] ")
    guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
        throw CommandFault(.failed, otherwise)
    }
}

package func writeJSON(_ value: JSONValue) { Console.write(value.bytes + [UInt8(ascii: "\n")]) }
