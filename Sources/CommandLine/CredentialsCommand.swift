import ArgumentParser
import Encodings
import Foundation
import JSON

/// `carillon credentials`: the credentials for an app's providers.
package struct CredentialsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "credentials", abstract: "Adds, lists, activates and retires credentials.",
        discussion: HelpText.of(
            "Secrets are encrypted when they arrive, and are never shown again.",
            examples: Add.examples + ["carillon credentials list --app garden"]),
        subcommands: [List.self, Add.self, Activate.self, Retire.self, Delete.self], defaultSubcommand: List.self)

    package init() {}

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the app's credentials, without their secrets.",
            discussion: HelpText.of(examples: ["carillon credentials list --app garden"]))
        @OptionGroup var app: AppOptions

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let answer = try await app.gateway.client().get(try app.path("credentials"), as: .list(of: .credential))
                if app.gateway.json { return writeJSON(answer) }
                writeTable(answer.object?["items"]?.array ?? [])
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds a credential.",
            discussion: HelpText.of(
                "Give exactly one of --p8 (an Apple signing key, for production and sandbox), --certificate (a push "
                    + "certificate) and --service-account (a Firebase service account).", examples: examples))

        static let examples = [
            "carillon credentials add --app garden --p8 AuthKey_ABCDE12345.p8 --team-id TEAMID1234 "
                + "--topic com.example.garden --environment both --activate",
            "carillon credentials add --app garden --certificate push.p12 --password-file push.password --activate",
            "carillon credentials add --app garden --service-account firebase.json --activate",
        ]

        @OptionGroup var app: AppOptions
        @Option(
            help: ArgumentHelp("An Apple signing key, named AuthKey_<key id>.p8.", valueName: "path"),
            completion: .file(extensions: ["p8"]))
        var p8: String?
        @Option(help: ArgumentHelp("The key id, if the file name does not contain it.", valueName: "id"))
        var keyID: String?
        @Option(help: ArgumentHelp("The id of the key's team.", valueName: "id"))
        var teamID: String?
        @Option(help: ArgumentHelp("A topic (the app's bundle id); repeatable.", valueName: "topic"))
        var topic: [String] = []
        @Option(
            help: ArgumentHelp("A push certificate with its key, as .pem or .p12.", valueName: "path"),
            completion: .file(extensions: ["pem", "p12"]))
        var certificate: String?
        @Option(
            help: ArgumentHelp("A file whose first line is the password of the .p12 or the key.", valueName: "path"),
            completion: .file())
        var passwordFile: String?
        @Option(
            help: ArgumentHelp("A Firebase service account, as it was downloaded.", valueName: "path"),
            completion: .file(extensions: ["json"]))
        var serviceAccount: String?
        @Option(
            help: ArgumentHelp("production, sandbox or both (APNs).", valueName: "name"),
            completion: .list(["production", "sandbox", "both"]))
        var environment = "production"
        @Flag(help: "Activates it at once; the previous one is kept, and can be activated again.")
        var activate = false

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let body = JSONValue.object(JSONObject(try members()))
                let answer = try await app.gateway.client().send(
                    "POST", try app.path("credentials"), body, idempotencyKey: UUID().uuidString,
                    as: .list(of: .credential))
                if app.gateway.json { return writeJSON(answer) }
                let added = answer.object?["items"]?.array ?? []
                writeTable(added)
                guard !activate else { return }
                for credential in added {
                    let command = "carillon credentials activate \(credential.shown("id")) --app \(try app.slug())"
                    Console.remark("To activate it: " + command)
                }
            }
        }

        private func members() throws(CommandFault) -> [JSONMember] {
            switch (p8, certificate, serviceAccount) {
            case (let path?, nil, nil): try signingKey(path)
            case (nil, let path?, nil): try pushCertificate(path)
            case (nil, nil, let path?): try account(path)
            default:
                throw CommandFault(.usage, "give exactly one of --p8, --certificate and --service-account")
            }
        }

        private func common(_ provider: JSONValue, _ kind: JSONValue) -> [JSONMember] {
            var members = [JSONMember("provider", provider), JSONMember("kind", kind)]
            if activate { members.append(JSONMember("activate", true)) }
            return members
        }

        private func signingKey(_ path: String) throws(CommandFault) -> [JSONMember] {
            let name = String(path.split(separator: "/").last ?? "")
            let named =
                name.hasPrefix("AuthKey_") && name.hasSuffix(".p8") ? String(name.dropFirst(8).dropLast(3)) : nil
            guard let id = keyID ?? named else {
                throw CommandFault(.usage, "the key id is missing. Name the file AuthKey_<key id>.p8, or give --key-id")
            }
            guard let teamID else { throw CommandFault(.usage, "the team id is missing. Give --team-id") }
            return common("apns", "token") + [
                JSONMember("environment", .string(environment)), JSONMember("key_id", .string(id)),
                JSONMember("team_id", .string(teamID)), JSONMember("topics", .array(topic.map { .string($0) })),
                JSONMember("p8", .string(try text(ofFile: path))),
            ]
        }

        private func pushCertificate(_ path: String) throws(CommandFault) -> [JSONMember] {
            var members = common("apns", "certificate") + [JSONMember("environment", .string(environment))]
            if !topic.isEmpty { members.append(JSONMember("topics", .array(topic.map { .string($0) }))) }
            let bytes = try filledContents(ofFile: path)
            if bytes.starts(with: Array("-----BEGIN".utf8)) || path.hasSuffix(".pem") {
                members.append(JSONMember("pem", .string(try text(ofFile: path))))
            } else {
                members.append(JSONMember("pkcs12", .string(Base64.encode(bytes))))
            }
            if let passwordFile {
                let line = try text(ofFile: passwordFile).prefix { !$0.isNewline }
                members.append(JSONMember("password", .string(String(line))))
            }
            return members
        }

        private func account(_ path: String) throws(CommandFault) -> [JSONMember] {
            let bytes = try filledContents(ofFile: path)
            guard let account = try? JSONReader.read(bytes) else {
                throw CommandFault(.usage, "\(path) is not JSON; download it again from Firebase")
            }
            return common("fcm", "service_account") + [JSONMember("service_account", account)]
        }
    }

    /// One stored credential.
    struct One: ParsableArguments {
        @OptionGroup var app: AppOptions
        @Argument(help: "The credential's id, as credentials list shows it.") var id: String

        /// Sends a request that the gateway answers without a body.
        ///
        /// - Parameter state: the state in the output for scripts.
        func order(_ method: String, _ path: String, _ sentence: String, state: String) async throws {
            try await app.gateway.client().order(method, path)
            if app.gateway.json { return writeJSON(["id": .string(id), "state": .string(state)]) }
            Console.write(sentence)
        }

        /// Asks for confirmation if pushes would have to wait for another credential.
        func confirmInUse(_ question: String, _ yes: Bool) async throws {
            guard !yes else { return }
            let all = try await app.gateway.client().get(try app.path("credentials"), as: .list(of: .credential))
            let active = (all.object?["items"]?.array ?? []).first {
                $0.shown("id") == id && $0.shown("state") == "active"
            }
            guard let active else { return }
            let name = "\(active.shown("provider")) \(active.shown("environment")) \(active.shown("kind"))"
            try confirm(
                "The credential \(id) (\(name)) of \(try app.slug()) is active. Without it, pushes that need it wait. "
                    + question, yes)
        }
    }

    struct Activate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Activates a credential in place of the previous one. No push fails.",
            discussion: HelpText.of(examples: ["carillon credentials activate 7 --app garden"]))
        @OptionGroup var one: One

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                let credential = try await one.app.gateway.client().send(
                    "POST", try one.app.path("credentials", one.id, "activate"), as: .credential)
                if one.app.gateway.json { return writeJSON(credential) }
                Console.write("The credential \(one.id) is active.")
            }
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Retires a credential, after a confirmation. It can be activated again.",
            discussion: HelpText.of(examples: ["carillon credentials retire 7 --app garden --yes"]))
        @OptionGroup var one: One
        @Flag(help: "Skips the confirmation.") var yes = false

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                try await one.confirmInUse("Retire it?", yes)
                try await one.order(
                    "POST", try one.app.path("credentials", one.id, "retire"),
                    "The credential \(one.id) is retired.", state: "retired")
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes a credential. This can't be undone. Asks first if it is active.",
            discussion: HelpText.of(examples: ["carillon credentials delete 7 --app garden --yes"]))
        @OptionGroup var one: One
        @Flag(help: "Skips the confirmation.") var yes = false

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                try await one.confirmInUse("Delete it? This can't be undone.", yes)
                try await one.order(
                    "DELETE", try one.app.path("credentials", one.id), "The credential \(one.id) is deleted.",
                    state: "deleted")
            }
        }
    }
}

private func writeTable(_ credentials: [JSONValue]) {
    var table = TextTable("ID", "PROVIDER", "KIND", "ENVIRONMENT", "STATE", "TOPICS", "VALID UNTIL")
    for credential in credentials {
        let topics = credential.strings("topics").joined(separator: ",")
        table.add(
            credential.shown("id"), credential.shown("provider"), credential.shown("kind"),
            credential.shown("environment"), credential.shown("state"), topics.isEmpty ? "-" : topics,
            credential.shown("expires_at"))
    }
    table.isEmpty ? Console.remark("No credentials yet: carillon credentials add --help") : table.write()
}
