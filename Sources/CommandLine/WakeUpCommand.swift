import ArgumentParser
import JSON

package struct WakeUpCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "wakeup", abstract: "Switches wake-up on and off, and shows and revokes subscriptions.",
        discussion: "Apps on devices subscribe to nodes of the app's data tree, and are woken when these change.",
        examples: [
            "carillon wakeup enable --app garden", "carillon wakeup show --app garden",
            "carillon wakeup subscriptions list --app garden --path /contacts/ann",
        ],
        subcommands: [Show.self, Enable.self, Disable.self, Subscriptions.self], defaultSubcommand: Show.self)

    package init() {}

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows the app's wake-up settings, its subscriptions, and what waits to be sent.",
            examples: ["carillon wakeup show --app garden"])
        @OptionGroup var app: AppOptions

        func ask(_ client: GatewayClient) async throws -> Output {
            let settings = try await client.get(try app.path(), as: .app).object?["wakeup"] ?? .null
            let counts = try await client.get(try app.path("wakeup"), as: .wakeUp)
            return Output(["settings": settings, "counts": counts]) {
                for line in WakeUpText.lines(settings: settings, counts: counts) { Console.write(line) }
            }
        }
    }

    struct Enable: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Switches wake-up on: apps may subscribe. Repeating it is harmless.",
            examples: ["carillon wakeup enable --app garden"])
        @OptionGroup var app: AppOptions

        func ask(_ client: GatewayClient) async throws -> Output {
            Output(try await app.switchWakeUp(to: true, client)) {
                Console.write("Wake-up of \(try app.slug()) is on.")
                Console.remark(
                    "Without read rules nobody may subscribe: PUT /v1/apps/\(try app.slug())/rules sets them.")
            }
        }
    }

    struct Disable: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Switches wake-up off, and revokes every subscription with a notice to its device.",
            examples: ["carillon wakeup disable --app garden", "carillon wakeup disable --app garden --yes --json"])
        @OptionGroup var app: AppOptions
        @Flag(help: "Skips the confirmation.") var yes = false

        func ask(_ client: GatewayClient) async throws -> Output {
            try confirm("Switch wake-up of \(try app.slug()) off, and revoke all its subscriptions?", yes)
            return Output(
                try await app.switchWakeUp(to: false, client),
                "Wake-up of \(try app.slug()) is off; its subscriptions are revoked in the background.")
        }
    }

    struct Subscriptions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists, shows and revokes subscriptions.",
            examples: [
                "carillon wakeup subscriptions list --app garden --user frida",
                "carillon wakeup subscriptions revoke 7 --app garden",
            ],
            subcommands: [List.self, Show.self, Revoke.self], defaultSubcommand: List.self)
    }
}

extension WakeUpCommand.Subscriptions {
    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the subscriptions that match all of the options.",
            examples: [
                "carillon wakeup subscriptions list --app garden --path /contacts/ann",
                "carillon wakeup subscriptions list --app garden --json | jq -r '.items[].installation'",
            ])
        @OptionGroup var app: AppOptions
        @Option(help: "Only those to this path; / is the root.") var path: String?
        @Option(help: "Only this installation's.") var installation: String?
        @Option(help: "Only those that this user's token made.") var user: String?
        @Option(help: "Only those of this state: active, dormant or expired.", completion: .list(subscriptionStates))
        var state: String?
        @Option(help: .value("count", "The maximum number of items.")) var limit = 100
        @Option(help: .value("next", "Continues an earlier list.")) var cursor: String?

        func ask(_ client: GatewayClient) async throws -> Output {
            let subscriptions = try await client.list(
                try app.path("wakeup", "subscriptions"),
                [("path", path), ("installation", installation), ("user", user), ("state", state)], of: .subscription,
                from: cursor, limit: limit)
            return subscriptions.output(
                [
                    "ID": "id", "PATH": "path", "INSTALLATION": "installation", "PROVIDER": "provider", "MODE": "mode",
                    "USER": "user", "STATE": "state", "EXPIRES": "expires_at",
                ], ifEmpty: "No subscriptions.")
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a subscription, and whether its device has been told of the last change.",
            examples: ["carillon wakeup subscriptions show 7 --app garden"])
        @OptionGroup var app: AppOptions
        @Argument(help: "The subscription's id, as subscriptions list shows it.") var id: String

        func ask(_ client: GatewayClient) async throws -> Output {
            let subscription = try await client.get(try app.path("wakeup", "subscriptions", id), as: .wholeSubscription)
            return Output(subscription) {
                for member in subscription.object?.members ?? [] {
                    Console.write("\(member.name): \(member.value.sentence)")
                }
            }
        }
    }

    struct Revoke: AppCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Revokes a subscription, or all of a path or a state. Their devices get a notice (permission_denied).",
            examples: [
                "carillon wakeup subscriptions revoke 7 --app garden",
                "carillon wakeup subscriptions revoke --path /contacts/ann --app garden",
                "carillon wakeup subscriptions revoke --state dormant --app garden --yes",
            ])
        @OptionGroup var app: AppOptions
        @Argument(help: "The subscription's id, as subscriptions list shows it.") var id: String?
        @Option(help: "All subscriptions to this path; / is the root.") var path: String?
        @Option(help: "All of this state: active, dormant or expired.", completion: .list(subscriptionStates))
        var state: String?
        @Flag(help: "Skips the confirmation.") var yes = false

        func ask(_ client: GatewayClient) async throws -> Output {
            guard let id else { return try await revokeAll(client) }
            guard path == nil, state == nil else {
                throw CommandFault(.usage, "give an id, or --path and --state, not both")
            }
            try await client.order("DELETE", try app.path("wakeup", "subscriptions", id))
            return Output(["id": .string(id), "state": "revoked"], "The subscription \(id) is revoked.")
        }

        private func revokeAll(_ client: GatewayClient) async throws -> Output {
            guard path != nil || state != nil else {
                throw CommandFault(.usage, "give an id, --path or --state; carillon wakeup disable revokes all")
            }
            let which = (state.map { "\($0) " } ?? "") + "subscriptions" + (path.map { " to \($0)" } ?? "")
            try confirm("Revoke all \(which) of \(try app.slug())?", yes)
            let route = GatewayClient.path(try app.path("wakeup", "subscriptions"), [("path", path), ("state", state)])
            return Output(
                try await client.send("DELETE", route, as: .revoking),
                "The \(which) of \(try app.slug()) are being revoked in the background.")
        }
    }
}

private let subscriptionStates = ["active", "dormant", "expired"]

extension AppOptions {
    fileprivate func switchWakeUp(to isOn: Bool, _ client: GatewayClient) async throws(CommandFault) -> JSONValue {
        try await client.send("PATCH", try path(), ["wakeup": ["enabled": .bool(isOn)]], as: .app)
    }
}
