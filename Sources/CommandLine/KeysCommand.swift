import ArgumentParser
import Foundation
import JSON
import Model

package struct KeysCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Creates, lists and revokes API keys.",
        discussion:
            "A key is valid for one app or for all apps. Its scopes say what it may do there:\n\n\(ScopeText.table)",
        examples: Create.examples + ["carillon keys list --app garden", "carillon keys revoke 3 --app garden"],
        subcommands: [List.self, Create.self, Revoke.self], defaultSubcommand: List.self)

    static let scopeNames = APIScope.allCases.map(\.rawValue).joined(separator: ", ")

    package init() {}

    struct Owner: ParsableArguments {
        @OptionGroup var app: AppOptions
        @Flag(help: "Selects the keys for all apps instead of one app's.") var allApps = false

        var gateway: GatewayOptions { app.gateway }

        /// nil: all apps.
        func slug() throws(CommandFault) -> String? {
            try KeyOwner.slug(given: app.app, environment: ProcessInfo.processInfo.environment, isAllApps: allApps)
        }

        func path() throws(CommandFault) -> String { try slug() == nil ? "/v1/keys" : try app.path("keys") }

        /// An app's own keys and the keys of all apps are two lists.
        func none() throws(CommandFault) -> String {
            guard let slug = try slug() else {
                return "No keys for all apps, apart from the operator's; --app lists one app's keys."
            }
            return "The app \(slug) has no keys; --all-apps lists the keys for all apps."
        }
    }

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the keys, without their secret text.",
            examples: ["carillon keys list --app garden", "carillon keys list --all-apps"])
        @OptionGroup var owner: Owner
        var gateway: GatewayOptions { owner.gateway }

        func ask(_ client: GatewayClient) async throws -> Output {
            let keys = try await client.list(try owner.path(), of: .key)
            return Output(keys.json) {
                var table = TextTable("ID", "NAME", "ENDS IN", "SCOPES", "CREATED BY", "LAST USED", "EXPIRES")
                for key in keys.items {
                    table.add(
                        key.shown("id"), key.shown("name"), "…" + key.shown("hint"),
                        key.strings("scopes").joined(separator: ","), key.shown("created_by"),
                        key.shown("last_used_at"), key.shown("expires_at"))
                }
                table.isEmpty ? Console.remark(try owner.none()) : table.write()
            }
        }
    }

    struct Create: GatewayCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a key, and prints it. It is shown only once.",
            discussion: "Scopes, and what they allow:\n\n\(ScopeText.table)", examples: examples)
        static let examples = [
            "carillon keys create backend --app garden --scopes devices,messages,feedback",
            "carillon keys create newsroom --app garden --scopes devices,messages,broadcast",
            "carillon keys create dashboard --all-apps --scopes feedback",
        ]
        @OptionGroup var owner: Owner
        @Argument(help: "A name that tells people what the key is for.") var name: String
        @Option(help: .value("a,b", "The key's scopes: \(KeysCommand.scopeNames)."), completion: OptionValues.scopes)
        var scopes: String
        @Option(help: .value("time", "When the key expires, such as 2027-01-31T12:00:00Z.")) var expires: String?
        var gateway: GatewayOptions { owner.gateway }

        func ask(_ client: GatewayClient) async throws -> Output {
            var request = JSONObject([
                JSONMember("name", .string(name)), JSONMember("scopes", .list(of: scopes.split(separator: ","))),
            ])
            request["expires_at"] = expires.map(JSONValue.string)
            let key = try await client.send("POST", try owner.path(), .object(request), as: .newKey)
            return Output(key) {
                Console.write(key.shown("key"))
                let place = try owner.slug().map { "the app \($0)" } ?? "all apps"
                Console.remark("Store it safely: it is shown only once. Its scopes are \(scopes), for \(place).")
            }
        }
    }

    struct Revoke: GatewayCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revokes a key. It takes effect everywhere within five seconds.",
            examples: ["carillon keys revoke 3 --app garden"])
        @OptionGroup var owner: Owner
        @Argument(help: "The key's id, as keys list shows it.") var id: String
        var gateway: GatewayOptions { owner.gateway }

        func ask(_ client: GatewayClient) async throws -> Output {
            try await client.order("DELETE", try owner.path() + "/" + GatewayClient.escaped(id))
            return Output(["id": .string(id), "state": "revoked"], "The key \(id) is revoked.")
        }
    }
}

/// The owner of the keys that a command means. A key of all apps must be asked for.
package enum KeyOwner {
    /// nil: all apps. CARILLON_APP is a default of the shell; the options override it.
    package static func slug(
        given app: String?, environment: [String: String], isAllApps: Bool
    ) throws(CommandFault) -> String? {
        guard !isAllApps else {
            guard app == nil else { throw CommandFault(.usage, "give only one of --app and --all-apps") }
            return nil
        }
        guard let slug = app ?? environment["CARILLON_APP"], !slug.isEmpty else {
            throw CommandFault(.usage, "no app is given. Give it with --app or in CARILLON_APP, or give --all-apps")
        }
        return slug
    }
}
