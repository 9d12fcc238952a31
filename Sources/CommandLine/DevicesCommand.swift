import ArgumentParser
import Foundation
import JSON

package struct DevicesCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Lists, shows, registers, imports and removes devices.",
        examples: [
            "carillon devices list --app garden --tag news --limit 20",
            "carillon devices register my-phone --app garden --provider fcm --token-file token.txt",
            "carillon devices import devices.ndjson --app garden",
        ],
        subcommands: [List.self, Show.self, Register.self, Import.self, Remove.self, EraseUser.self],
        defaultSubcommand: List.self)

    package init() {}

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the registrations that match all of the options.",
            examples: [
                "carillon devices list --app garden --tag news --limit 20",
                #"carillon devices list --app garden --filter "registered_at < now - 90d""#,
                "carillon devices list --app garden --stale --json | jq -r '.items[].installation'",
            ])
        @OptionGroup var app: AppOptions
        @Option(help: "Only this user's.") var user: String?
        @Option(help: "Only those with this tag.") var tag: String?
        @Option(help: "The provider: \(OptionValues.providerChoice).", completion: OptionValues.providers) var provider:
            String?
        @Option(help: "The state: active, suspected or retired.", completion: OptionValues.registrationStates)
        var state: String?
        @Option(help: "The token's kind: alert, voip, live-activity, ...", completion: OptionValues.kinds)
        var kind: String?
        @Flag(help: "Only stale ones (see the app's setting stale_after_days).") var stale = false
        @Option(help: .value("expression", "Only those that match this filter (docs/filters.md).")) var filter: String?
        @Option(help: .value("count", "The maximum number of items.")) var limit = 100
        @Option(help: .value("next", "Continues an earlier list.")) var cursor: String?

        func ask(_ client: GatewayClient) async throws -> Output {
            let devices = try await client.list(
                try app.path("devices"),
                [
                    ("user", user), ("tag", tag), ("provider", provider), ("state", state), ("kind", kind),
                    ("stale", stale ? "true" : nil), ("filter", filter),
                ], of: .device, from: cursor, limit: limit)
            return devices.output(
                [
                    "INSTALLATION": "installation", "KIND": "kind", "PROVIDER": "provider",
                    "ENVIRONMENT": "environment", "STATE": "state", "TOKEN": "token", "BADGE": "badge", "USER": "user",
                    "TAGS": "tags",
                ], ifEmpty: "No devices.")
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows an installation and its tokens, which are masked.",
            examples: ["carillon devices show my-phone --app garden"])
        @OptionGroup var app: AppOptions
        @Argument(help: "The installation.") var installation: String

        func ask(_ client: GatewayClient) async throws -> Output {
            let device = try await client.get(try app.path("devices", installation), as: .wholeDevice)
            return Output(device) {
                for registration in device.elements("registrations") {
                    for member in registration.object?.members ?? [] {
                        Console.write("\(member.name): \(member.value.sentence)")
                    }
                    Console.write("")
                }
            }
        }
    }

    struct Register: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Registers a device's token. Repeating it is harmless.",
            discussion:
                "The token is read from a file or standard input: every user of this machine can see arguments.",
            examples: [
                "carillon devices register my-phone --app garden --provider fcm --token-file token.txt",
                "carillon devices register my-phone --app garden --provider apns --environment sandbox "
                    + "--topic com.example.garden --locale fr-CA --tag news <token.txt",
            ])
        @OptionGroup var app: AppOptions
        @Argument(help: "The installation: the app's own id for one copy of itself.") var installation: String
        @Option(
            help: "The provider that issued the token: \(OptionValues.providerChoice).",
            completion: OptionValues.providers)
        var provider: String
        @Option(help: .value("path", "A file with the token; - is standard input."), completion: .file())
        var tokenFile = "-"
        @Option(help: "alert (the default), voip, live-activity, ...", completion: OptionValues.kinds) var kind: String?
        @Option(help: "production (the default) or sandbox.", completion: OptionValues.environments)
        var environment: String?
        @Option(help: "The app's bundle id.") var topic: String?
        @Option(help: "The user of the device.") var user: String?
        @Option(help: "The locale, such as fr-CA.") var locale: String?
        @Option(help: "The device's time zone, such as Europe/Paris.") var timeZone: String?
        @Option(help: "A tag; repeatable.") var tag: [String] = []

        func ask(_ client: GatewayClient) async throws -> Output {
            var registration = JSONObject()
            let token = try text(ofFile: tokenFile).trimmingCharacters(in: .whitespacesAndNewlines)
            for (name, value) in [
                ("provider", provider), ("token", token), ("kind", kind), ("environment", environment),
                ("topic", topic), ("user", user), ("locale", locale),
                ("time_zone", timeZone),
            ] as [(String, String?)] { registration[name] = value.map(JSONValue.string) }
            if !tag.isEmpty { registration["tags"] = .list(of: tag) }
            let device = try await client.send(
                "PUT", try app.path("devices", installation), .object(registration), as: .registeredDevice)
            return Output(device, "\(installation): \(device.shown("change"))")
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Imports registrations, one JSON object per line. Refused lines are skipped.",
            discussion: """
                A line is {"installation": "phone-1", "provider": "fcm", "token": "...", "tags": ["news"]}, with any other \
                member of a registration. If an import is interrupted, send the file again: lines that are already \
                imported change nothing. With --json the lines of the gateway's answer are printed as they arrive: \
                refused lines, and the progress.
                """,
            examples: [
                "carillon devices import devices.ndjson --app garden",
                "zcat devices.ndjson.gz | carillon devices import - --app garden --json",
            ])
        @OptionGroup var app: AppOptions
        @Argument(help: "The file; - is standard input.", completion: .file()) var file: String

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let handle = try handle(ofFile: file)
                var outcome = ImportOutcome(file: file, app: try app.slug(), isJSON: app.gateway.json)
                let path = try app.path("devices", "import")
                try await app.gateway.client().stream(path, file: handle, ifBroken: { outcome.wayOn() }) { line in
                    outcome.take(line)
                }
                try outcome.conclude()
            }
        }
    }

    struct Remove: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Unregisters an installation with all its tokens, or with one kind of token.",
            examples: [
                "carillon devices remove my-phone --app garden",
                "carillon devices remove my-phone --app garden --kind voip",
            ])
        @OptionGroup var app: AppOptions
        @Argument(help: "The installation.") var installation: String
        @Option(help: "Only this kind of token: alert, voip, live-activity, ...", completion: OptionValues.kinds)
        var kind: String?

        func ask(_ client: GatewayClient) async throws -> Output {
            try await client.order(
                "DELETE", GatewayClient.path(try app.path("devices", installation), [("kind", kind)]))
            var answer = JSONObject()
            answer["installation"] = .string(installation)
            answer["kind"] = kind.map(JSONValue.string)
            answer["state"] = "unregistered"
            return Output(.object(answer), "\(installation) is unregistered" + (kind.map { " for \($0)." } ?? "."))
        }
    }

    struct EraseUser: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erases a user: devices, and their names in the feed. This can't be undone.",
            examples: ["carillon devices erase-user frida --app garden --yes"])
        @OptionGroup var app: AppOptions
        @Argument(help: "The user.") var user: String
        @Flag(help: "Skips the confirmation.") var yes = false

        func ask(_ client: GatewayClient) async throws -> Output {
            try confirm("Erase \(user) in \(try app.slug())?", yes)
            let answer = try await client.send("DELETE", try app.path("users", user), as: .erasure)
            return Output(answer, "\(answer.count("registrations")) registrations are erased.")
        }
    }
}
