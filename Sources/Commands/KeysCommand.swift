import ArgumentParser
import JSON
import PushModel

/// `carillon keys`: API keys with scopes.
package struct KeysCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Makes, lists and revokes API keys.",
        discussion: HelpText.of(
            "A key opens one app, or all of them, and there what its scopes say: \(scopeWords).",
            examples: Create.examples + ["carillon keys list --app garden", "carillon keys revoke 3 --app garden"]),
        subcommands: [List.self, Create.self, Revoke.self], defaultSubcommand: List.self)

    static let scopeWords = APIScope.allCases.map(\.rawValue).joined(separator: ", ")

    package init() {}

    /// One app's keys, or those of all apps.
    struct Owner: ParsableArguments {
        @OptionGroup(title: "Gateway") var gateway: GatewayOptions
        @Option(help: ArgumentHelp("The app whose keys are meant; without it, keys of all apps.", valueName: "slug"))
        var app: String?

        /// An app's own keys and those of all apps are two lists.
        var none: String {
            guard let app else { return "No keys of all apps but the operator's own; --app lists those of one app." }
            return "No keys of the app \(app); without --app those of all apps are listed."
        }

        var path: String { app.map { "/v1/apps/" + GatewayClient.escaped($0) + "/keys" } ?? "/v1/keys" }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the keys, without themselves.",
            discussion: HelpText.of(examples: ["carillon keys list --app garden", "carillon keys list"]))
        @OptionGroup var owner: Owner

        func run() async throws {
            try await orComplain(asJSON: owner.gateway.json) {
                let keys = try await owner.gateway.client().list(owner.path)
                if owner.gateway.json { return sayJSON(keys.json) }
                var table = TextTable("ID", "NAME", "ENDS IN", "SCOPES", "LAST USED", "EXPIRES")
                for key in keys.items {
                    table.add(
                        key.shown("id"), key.shown("name"), "…" + key.shown("hint"),
                        key.words("scopes").joined(separator: ","), key.shown("last_used_at"), key.shown("expires_at"))
                }
                table.isEmpty ? Console.remark(owner.none) : table.say()
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key, and prints it: this once.", discussion: HelpText.of(examples: examples))
        static let examples = [
            "carillon keys create backend --app garden --scopes devices,messages,feedback",
            "carillon keys create newsroom --app garden --scopes broadcast,messages",
        ]
        @OptionGroup var owner: Owner
        @Argument(help: "What it is for, for people.") var name: String
        @Option(
            help: ArgumentHelp("What it opens: \(KeysCommand.scopeWords).", valueName: "a,b"),
            completion: FixedWords.scopes)
        var scopes: String
        @Option(help: ArgumentHelp("When it ends, such as 2027-01-31T12:00:00Z.", valueName: "time"))
        var expires: String?

        func run() async throws {
            try await orComplain(asJSON: owner.gateway.json) {
                var members = [
                    JSONMember("name", .string(name)),
                    JSONMember("scopes", .array(scopes.split(separator: ",").map { .string(String($0)) })),
                ]
                if let expires { members.append(JSONMember("expires_at", .string(expires))) }
                let key = try await owner.gateway.client().send("POST", owner.path, .object(JSONObject(members)))
                if owner.gateway.json { return sayJSON(key) }
                Console.say(key.shown("key"))
                Console.remark("Keep it well: it is shown this once. It opens \(scopes) of \(owner.app ?? "all apps").")
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revokes a key, everywhere within five seconds.",
            discussion: HelpText.of(examples: ["carillon keys revoke 3 --app garden"]))
        @OptionGroup var owner: Owner
        @Argument(help: "Its id, as keys list shows it.") var id: String

        func run() async throws {
            try await orComplain(asJSON: owner.gateway.json) {
                try await owner.gateway.client().send("DELETE", owner.path + "/" + GatewayClient.escaped(id))
                if owner.gateway.json { return sayJSON(["id": .string(id), "state": "revoked"]) }
                Console.say("The key \(id) is revoked.")
            }
        }
    }
}
