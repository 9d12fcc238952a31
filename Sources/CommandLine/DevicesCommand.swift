import ArgumentParser
import Foundation
import JSON

/// `carillon devices`: the registry.
package struct DevicesCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Lists, shows, registers, imports and removes devices.",
        discussion: HelpText.of(
            examples: [
                "carillon devices list --app garden --tag news --limit 20",
                "carillon devices register my-phone --app garden --provider fcm --token-file token.txt",
                "carillon devices import devices.ndjson --app garden",
            ]),
        subcommands: [List.self, Show.self, Register.self, Import.self, Remove.self, EraseUser.self],
        defaultSubcommand: List.self)

    package init() {}

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists registrations; all filters hold together.",
            discussion: HelpText.of(
                examples: [
                    "carillon devices list --app garden --tag news --limit 20",
                    #"carillon devices list --app garden --filter "registered_at < now - 90d""#,
                    "carillon devices list --app garden --stale --json | jq -r '.items[].installation'",
                ]))
        @OptionGroup var app: AppOptions
        @Option(help: "Of this user.") var user: String?
        @Option(help: "With this tag.") var tag: String?
        @Option(help: "At apns or fcm.", completion: OptionValues.providers) var provider: String?
        @Option(help: "active, suspected or retired.", completion: OptionValues.registrationStates) var state: String?
        @Option(help: "With tokens of this kind: alert, voip, live-activity, ...", completion: OptionValues.kinds)
        var kind: String?
        @Flag(help: "Silent for longer than the app's settings allow.") var stale = false
        @Option(help: ArgumentHelp("Of which this is true: docs/filters.md.", valueName: "expression"))
        var filter: String?
        @Option(help: ArgumentHelp("Shows at most so many.", valueName: "count")) var limit = 100
        @Option(help: ArgumentHelp("Goes on where a list ended.", valueName: "next")) var cursor: String?

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let devices = try await app.gateway.client().list(
                    try app.path("devices"),
                    [
                        ("user", user), ("tag", tag), ("provider", provider), ("state", state), ("kind", kind),
                        ("stale", stale ? "true" : nil), ("filter", filter),
                    ], of: .device, from: cursor, limit: limit)
                if app.gateway.json { return writeJSON(devices.json) }
                writeTable(devices.items)
                devices.remarkOnOthers()
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows an installation with all its tokens, masked.",
            discussion: HelpText.of(examples: ["carillon devices show my-phone --app garden"]))
        @OptionGroup var app: AppOptions
        @Argument(help: "The installation.") var installation: String

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let device = try await app.gateway.client().get(
                    try app.path("devices", installation), as: .wholeDevice)
                if app.gateway.json { return writeJSON(device) }
                for registration in device.object?["registrations"]?.array ?? [] {
                    for member in registration.object?.members ?? [] {
                        Console.write("\(member.name): \(member.value.sentence)")
                    }
                    Console.write("")
                }
            }
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Registers a device's token. Twice has the effect of once.",
            discussion: HelpText.of(
                "The token is read from a file, or from standard input: arguments are read by everybody.",
                examples: [
                    "carillon devices register my-phone --app garden --provider fcm --token-file token.txt",
                    "carillon devices register my-phone --app garden --provider apns --environment sandbox "
                        + "--topic com.example.garden --locale fr-CA --tag news <token.txt",
                ]))
        @OptionGroup var app: AppOptions
        @Argument(help: "The installation: the app's own name for one copy of it.") var installation: String
        @Option(help: "apns or fcm: who gave out the token.", completion: OptionValues.providers) var provider: String
        @Option(
            help: ArgumentHelp("A file with the token; - is standard input.", valueName: "path"), completion: .file())
        var tokenFile = "-"
        @Option(help: "alert (the default), voip, live-activity, ...", completion: OptionValues.kinds) var kind: String?
        @Option(help: "production (the default) or sandbox.", completion: OptionValues.environments)
        var environment: String?
        @Option(help: "The app's bundle id.") var topic: String?
        @Option(help: "Whose it is.") var user: String?
        @Option(help: "Such as fr-CA.") var locale: String?
        @Option(help: "A tag; again for each.") var tag: [String] = []

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let token = try text(ofFile: tokenFile).trimmingCharacters(in: .whitespacesAndNewlines)
                var members = [JSONMember("provider", .string(provider)), JSONMember("token", .string(token))]
                for (name, value) in [
                    ("kind", kind), ("environment", environment), ("topic", topic), ("user", user), ("locale", locale),
                ] {
                    if let value { members.append(JSONMember(name, .string(value))) }
                }
                if !tag.isEmpty { members.append(JSONMember("tags", .array(tag.map { .string($0) }))) }
                let device = try await app.gateway.client().send(
                    "PUT", try app.path("devices", installation), .object(JSONObject(members)),
                    as: .registeredDevice)
                if app.gateway.json { return writeJSON(device) }
                Console.write("\(installation): \(device.shown("change"))")
            }
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Imports registrations, one JSON object a line; refused lines hurt no neighbour.",
            discussion: HelpText.of(
                """
                A line is {"installation": "phone-1", "provider": "fcm", "token": "...", "tags": ["news"]}, with what else a \
                registration has. An import that was cut off is simply sent again: what is there already is left as it is. \
                With --json the lines of the gateway's answer are printed as they come: what was refused, and how far it \
                has come.
                """,
                examples: [
                    "carillon devices import devices.ndjson --app garden",
                    "zcat devices.ndjson.gz | carillon devices import - --app garden --json",
                ]))
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

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Unregisters an installation, all kinds.",
            discussion: HelpText.of(examples: ["carillon devices remove my-phone --app garden"]))
        @OptionGroup var app: AppOptions
        @Argument(help: "The installation.") var installation: String

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                try await app.gateway.client().order("DELETE", try app.path("devices", installation))
                if app.gateway.json {
                    return writeJSON(["installation": .string(installation), "state": "unregistered"])
                }
                Console.write("\(installation) is unregistered.")
            }
        }
    }

    struct EraseUser: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erases a person: their devices, and their names in the feed. There is no way back.",
            discussion: HelpText.of(examples: ["carillon devices erase-user frida --app garden --yes"]))
        @OptionGroup var app: AppOptions
        @Argument(help: "The user.") var user: String
        @Flag(help: "Does not ask.") var yes = false

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                try confirm("Erase \(user) in \(try app.slug())?", yes)
                let answer = try await app.gateway.client().send(
                    "DELETE", try app.path("users", user), as: .erasure)
                if app.gateway.json { return writeJSON(answer) }
                Console.write("\(answer.count("registrations")) registrations are gone.")
            }
        }
    }
}

private func writeTable(_ devices: [JSONValue]) {
    var table = TextTable("INSTALLATION", "KIND", "PROVIDER", "ENVIRONMENT", "STATE", "TOKEN", "BADGE", "USER", "TAGS")
    for device in devices {
        let tags = device.strings("tags").joined(separator: ",")
        table.add(
            device.shown("installation"), device.shown("kind"), device.shown("provider"), device.shown("environment"),
            device.shown("state"), device.shown("token"), device.shown("badge"), device.shown("user"),
            tags.isEmpty ? "-" : tags)
    }
    table.isEmpty ? Console.remark("No devices.") : table.write()
}
