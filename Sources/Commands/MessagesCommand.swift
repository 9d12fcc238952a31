import ArgumentParser
import JSON

/// `carillon messages`: what became of what was sent.
package struct MessagesCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "Lists, shows and follows messages, their failures and single pushes.",
        discussion: """
            carillon messages list --app garden
            carillon messages watch 0192f0c1-... --app garden
            carillon messages failures 0192f0c1-... --app garden --reason Unregistered
            carillon messages push 0192f0c1-... my-phone --app garden
            """,
        subcommands: [List.self, Show.self, Watch.self, Failures.self, Push.self], defaultSubcommand: List.self)

    package init() {}

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the app's messages, the latest first.")
        @OptionGroup var app: AppOptions
        @Option(help: "accepted, planning, sending or finished.") var state: String?
        @Option(help: "At most so many.") var limit = 20

        func run() async throws {
            try await orComplain {
                guard limit > 0 else { throw CommandFault(.usage, "--limit must be 1 or more") }
                let messages = try await app.gateway.client().items(
                    try app.path("messages"), [("state", state)], limit: limit)
                if app.gateway.json { return sayJSON(.array(messages)) }
                var table = TextTable("ID", "STATE", "AUDIENCE", "ACCEPTED", "PENDING", "SINCE")
                for message in messages {
                    let outcomes = message.object?["outcomes"] ?? .null
                    table.add(
                        message.shown("id"), message.shown("state"), message.shown("audience"),
                        outcomes.shown("accepted"), message.shown("pending"), message.shown("accepted_at"))
                }
                table.isEmpty ? Console.remark("No messages.") : table.say()
            }
        }
    }

    /// One message.
    struct One: ParsableArguments {
        @OptionGroup var app: AppOptions
        @Argument(help: "Its id.") var id: String
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows a message's account.")
        @OptionGroup var one: One

        func run() async throws {
            try await orComplain {
                let message = try await one.app.gateway.client().get(try one.app.path("messages", one.id))
                if one.app.gateway.json { return sayJSON(message) }
                AccountText(message).say()
            }
        }
    }

    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follows a message until it has finished, and shows its account.")
        @OptionGroup var one: One

        func run() async throws {
            try await orComplain {
                let client = try one.app.gateway.client()
                let message = try await client.watch(try one.app.path("messages", one.id))
                if one.app.gateway.json { return sayJSON(message) }
                AccountText(message).say()
            }
        }
    }

    struct Failures: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists every push that was not accepted, and why.")
        @OptionGroup var one: One
        @Option(help: "rejected, unregistered, expired, suppressed, cancelled or gave_up.") var state: String?
        @Option(help: "The provider's word, or ours.") var reason: String?
        @Option(help: "At most so many.") var limit = 100

        func run() async throws {
            try await orComplain {
                guard limit > 0 else { throw CommandFault(.usage, "--limit must be 1 or more") }
                let failures = try await one.app.gateway.client().items(
                    try one.app.path("messages", one.id, "failures"), [("state", state), ("reason", reason)],
                    limit: limit)
                if one.app.gateway.json { return sayJSON(.array(failures)) }
                var table = TextTable("INSTALLATION", "KIND", "PROVIDER", "OUTCOME", "REASON", "ATTEMPTS", "AT")
                for failure in failures {
                    table.add(
                        failure.shown("installation"), failure.shown("kind"), failure.shown("provider"),
                        failure.shown("state"), failure.shown("reason"), failure.shown("attempts"),
                        failure.shown("at"))
                }
                let isFiltered = state != nil || reason != nil
                let none = isFiltered ? "No push ended so." : "Every push that has ended was accepted."
                table.isEmpty ? Console.remark(none) : table.say()
            }
        }
    }

    struct Push: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Tells what happened to one push, step by step.")
        @OptionGroup var one: One
        @Argument(help: "The installation.") var installation: String

        func run() async throws {
            try await orComplain {
                let story = try await one.app.gateway.client().get(
                    try one.app.path("messages", one.id, "devices", installation))
                if one.app.gateway.json { return sayJSON(story) }
                for member in story.object?.members ?? [] {
                    if let steps = member.value.array {
                        for step in steps { Console.say("  " + String(decoding: step.bytes, as: UTF8.self)) }
                    } else {
                        let text = member.value.string ?? String(decoding: member.value.bytes, as: UTF8.self)
                        Console.say("\(member.name): \(text)")
                    }
                }
            }
        }
    }
}

extension GatewayClient {
    private static let watchPauses: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    ]

    /// The account once the message has ended; shows how far it is until then.
    func watch(_ path: String) async throws -> JSONValue {
        var progress = Progress("Sending")
        var turn = 0
        while true {
            let message = try await get(path)
            let state = message.shown("state")
            guard state != "finished", state != "cancelled" else {
                progress.end()
                return message
            }
            let ended = message.object?["outcomes"]?.object?.members.reduce(0) { $0 + ($1.value.integer ?? 0) } ?? 0
            progress.show(ended, of: message.object?["audience"]?.integer, state)
            try await Task.sleep(for: Self.watchPauses[min(turn, Self.watchPauses.count - 1)])
            turn += 1
        }
    }
}

/// A message's account for people.
struct AccountText {
    private let message: JSONValue

    init(_ message: JSONValue) { self.message = message }

    var lines: [String] {
        var lines = ["message \(message.shown("id"))  \(message.shown("state"))"]
        let outcomes = message.object?["outcomes"]?.object?.members ?? []
        for outcome in outcomes where outcome.value.integer ?? 0 > 0 {
            lines.append(line(outcome.name, outcome.value.integer ?? 0))
            lines += reasons(of: outcome.name)
        }
        if message.count("pending") > 0 { lines.append(line("pending", message.count("pending"))) }
        if let audience = message.object?["audience"]?.integer { lines.append(line("audience", audience)) }
        for provider in message.object?["providers"]?.object?.members ?? [] {
            let outcomes = provider.value.object?["outcomes"]?.object?.members ?? []
            let counts = outcomes.compactMap { outcome in
                (outcome.value.integer).flatMap { $0 > 0 ? "\($0) \(outcome.name)" : nil }
            }
            lines.append("  \(provider.name): " + (counts.isEmpty ? "nothing yet" : counts.joined(separator: ", ")))
        }
        return lines
    }

    private func line(_ word: String, _ count: Int64) -> String {
        let digits = String(count)
        return String(repeating: " ", count: max(0, 12 - digits.count)) + digits + "  " + word
    }

    private func reasons(of outcome: String) -> [String] {
        let reasons = message.object?["reasons"]?.array ?? []
        return reasons.filter { $0.shown("outcome") == outcome }.map { reason in
            "              of these \(reason.count("count")) \(reason.shown("reason"))"
        }
    }

    func say() {
        for line in lines { Console.say(line) }
    }
}
