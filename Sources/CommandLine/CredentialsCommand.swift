import ArgumentParser
import Encodings
import Foundation
import JSON

package struct CredentialsCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "credentials", abstract: "Adds, lists, activates and retires credentials.",
        discussion: "Secrets are encrypted when they arrive, and are never shown again.",
        examples: Add.examples + ["carillon credentials list --app garden"],
        subcommands: [List.self, Add.self, Activate.self, Retire.self, Delete.self], defaultSubcommand: List.self)

    package init() {}

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the app's credentials, without their secrets.",
            examples: ["carillon credentials list --app garden"])
        @OptionGroup var app: AppOptions

        func ask(_ client: GatewayClient) async throws -> Output {
            let answer = try await client.get(try app.path("credentials"), as: .list(of: .credential))
            return Output(answer) { CredentialText.writeTable(answer.elements("items")) }
        }
    }

    struct Add: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds a credential.",
            discussion: """
                Give exactly one of --p8 (an Apple signing key, for production and sandbox), --certificate (a push \
                certificate) and --service-account (a Firebase service account).
                """, examples: examples)

        static let examples = [
            "carillon credentials add --app garden --p8 AuthKey_ABCDE12345.p8 --team-id TEAMID1234 "
                + "--topic com.example.garden --environment both --activate",
            "carillon credentials add --app garden --certificate push.p12 --password-file push.password --activate",
            "carillon credentials add --app garden --service-account firebase.json --activate",
        ]

        @OptionGroup var app: AppOptions
        @Option(
            help: .value("path", "An Apple signing key, named AuthKey_<key id>.p8."),
            completion: .file(extensions: ["p8"]))
        var p8: String?
        @Option(help: .value("id", "The key id, if the file name does not contain it.")) var keyID: String?
        @Option(help: .value("id", "The id of the key's team.")) var teamID: String?
        @Option(help: .value("topic", "A topic (the app's bundle id); repeatable.")) var topic: [String] = []
        @Option(
            help: .value("path", "A push certificate with its key, as .pem or .p12."),
            completion: .file(extensions: ["pem", "p12"]))
        var certificate: String?
        @Option(
            help: .value("path", "A file whose first line is the password of the certificate's file."),
            completion: .file())
        var passwordFile: String?
        @Option(
            help: .value("path", "A Firebase service account, as it was downloaded."),
            completion: .file(extensions: ["json"]))
        var serviceAccount: String?
        @Option(
            help: .value("name", "production, sandbox or both (APNs)."),
            completion: .list(["production", "sandbox", "both"]))
        var environment = "production"
        @Flag(help: "Activates it at once; the previous one is kept, and can be activated again.") var activate = false

        func ask(_ client: GatewayClient) async throws -> Output {
            let list = try app.path("credentials")
            let body = JSONObject(try members())
            let before = activate && !gateway.json ? await client.credentials(list) : nil
            let answer = try await client.send(
                "POST", list, .object(body), idempotencyKey: UUID().uuidString, as: .list(of: .credential))
            let credentials = answer.elements("items")
            let remarks = try await app.remarks(before, client) {
                $0.lines(activated: credentials.map { $0.shown("id") })
            }
            return Output(answer) {
                CredentialText.writeTable(credentials)
                CredentialText.writeWarnings(answer)
                for line in remarks { Console.remark(line) }
                guard !activate, let first = credentials.first else { return }
                let command = "carillon credentials activate \(first.shown("id")) --app \(try app.slug())"
                Console.remark("To activate it: \(command)\(credentials.count > 1 ? " --both" : "")")
            }
        }

        private func members() throws(CommandFault) -> [JSONMember] {
            guard passwordFile == nil || certificate != nil else {
                throw CommandFault(.usage, "only a certificate has a password. Give --password-file with --certificate")
            }
            return switch (p8, certificate, serviceAccount) {
            case (let path?, nil, nil): try signingKey(path)
            case (nil, let path?, nil): try pushCertificate(path)
            case (nil, nil, let path?): try account(path)
            default: throw CommandFault(.usage, "give exactly one of --p8, --certificate and --service-account")
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
                JSONMember("team_id", .string(teamID)), JSONMember("topics", .list(of: topic)),
                JSONMember("p8", .string(try text(ofFile: path))),
            ]
        }

        private func pushCertificate(_ path: String) throws(CommandFault) -> [JSONMember] {
            var members = common("apns", "certificate") + [JSONMember("environment", .string(environment))]
            if !topic.isEmpty { members.append(JSONMember("topics", .list(of: topic))) }
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
            let account: JSONValue
            do throws(JSONError) { account = try JSONReader.read(bytes) } catch {
                throw CommandFault(.usage, "\(path): \(error.sentence) Download the file again from Firebase")
            }
            return common("fcm", "service_account") + [JSONMember("service_account", account)]
        }
    }

    struct One: ParsableArguments {
        @OptionGroup var app: AppOptions
        @Argument(help: "The credential's id, as credentials list shows it.") var id: String

        /// Asks for confirmation if pushes would have to wait for another credential.
        func confirmInUse(_ question: String, both: Bool = false, _ yes: Bool, _ client: GatewayClient) async throws {
            guard !yes else { return }
            let all = try await client.get(try app.path("credentials"), as: .list(of: .credential)).elements("items")
            guard let own = all.first(where: { $0.shown("id") == id }) else { return }
            let active = all.filter {
                let isMeant = $0.shown("id") == id || both && $0.shown("submission") == own.shown("submission")
                return isMeant && $0.shown("state") == "active"
            }
            guard !active.isEmpty else { return }
            let names = active.map {
                let place = CredentialText.place(provider: $0.shown("provider"), environment: $0.shown("environment"))
                return "\(CredentialText.title(of: $0)) at \(place)"
            }
            try confirm(
                "In use by \(try app.slug()): \(names.joined(separator: " and ")). Without it, pushes that need it wait. "
                    + question, yes)
        }
    }

    struct Activate: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Activates a credential in place of the previous one. No push fails.",
            examples: [
                "carillon credentials activate 7 --app garden", "carillon credentials activate 7 --app garden --both",
            ])
        @OptionGroup var one: One
        @Flag(help: "Activates it in both environments, together.") var both = false
        var app: AppOptions { one.app }

        func ask(_ client: GatewayClient) async throws -> Output {
            let path = try app.path("credentials", one.id, "activate")
            let before = gateway.json ? nil : await client.credentials(try app.path("credentials"))
            let answer = try await client.send(
                "POST", path, both ? CredentialText.bothEnvironments : nil, as: .credential)
            let ids = [answer, answer.object?["sibling"] ?? .null].map { $0.shown("id") }
            let remarks = try await app.remarks(before, client) { $0.lines(activated: ids) }
            return Output(answer) {
                Console.write(CredentialText.activated(answer))
                CredentialText.writeWarnings(answer)
                for line in remarks { Console.remark(line) }
            }
        }
    }

    struct Retire: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Retires a credential, after a confirmation. It can be activated again.",
            examples: ["carillon credentials retire 7 --app garden --yes"])
        @OptionGroup var one: One
        @Flag(help: "Retires it in both environments, together.") var both = false
        @Flag(help: "Skips the confirmation.") var yes = false
        var app: AppOptions { one.app }

        func ask(_ client: GatewayClient) async throws -> Output {
            let before = gateway.json ? nil : await client.credentials(try app.path("credentials"))
            try await one.confirmInUse("Retire it?", both: both, yes, client)
            try await client.order(
                "POST", try app.path("credentials", one.id, "retire"), both ? CredentialText.bothEnvironments : nil)
            let place = both ? " in both environments" : ""
            let remarks = try await app.remarks(before, client) { $0.lines(ended: one.id) }
            return Output(["id": .string(one.id), "state": "retired"]) {
                Console.write("The credential \(one.id) is retired\(place).")
                for line in remarks { Console.remark(line) }
            }
        }
    }

    struct Delete: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes a credential. This can't be undone. Asks first if it is active.",
            examples: ["carillon credentials delete 7 --app garden --yes"])
        @OptionGroup var one: One
        @Flag(help: "Skips the confirmation.") var yes = false
        var app: AppOptions { one.app }

        func ask(_ client: GatewayClient) async throws -> Output {
            let before = gateway.json ? nil : await client.credentials(try app.path("credentials"))
            try await one.confirmInUse("Delete it? This can't be undone.", yes, client)
            try await client.order("DELETE", try app.path("credentials", one.id))
            let remarks = try await app.remarks(before, client) { $0.lines(ended: one.id) }
            return Output(["id": .string(one.id), "state": "deleted"]) {
                Console.write("The credential \(one.id) is deleted.")
                for line in remarks { Console.remark(line) }
            }
        }
    }
}
