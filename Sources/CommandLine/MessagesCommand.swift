import ArgumentParser
import JSON

/// `carillon messages`: messages and their results.
package struct MessagesCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "Lists, shows, follows, pauses and cancels messages.",
        discussion: HelpText.of(
            examples: [
                "carillon messages list --app garden", "carillon messages watch \(exampleID) --app garden",
                "carillon messages push \(exampleID) my-phone --app garden",
            ]),
        subcommands: [
            List.self, Show.self, Watch.self, Failures.self, Push.self, Pause.self, Resume.self, Cancel.self, Rate.self,
        ], defaultSubcommand: List.self)

    static let exampleID = "0192f0c1-7a3e-7d41-9c55-0a1b2c3d4e5f"

    package init() {}

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the app's messages, newest first.",
            discussion: HelpText.of(examples: ["carillon messages list --app garden --state sending"]))
        @OptionGroup var app: AppOptions
        @Option(
            help: "accepted, scheduled, planning, sending, paused, finished or cancelled.",
            completion: OptionValues.messageStates)
        var state: String?
        @Option(help: ArgumentHelp("The maximum number of items.", valueName: "count")) var limit = 20
        @Option(help: ArgumentHelp("Continues an earlier list.", valueName: "next")) var cursor: String?

        func run() async throws {
            try await orComplain(asJSON: app.gateway.json) {
                let messages = try await app.gateway.client().list(
                    try app.path("messages"), [("state", state)], of: .message, from: cursor, limit: limit)
                if app.gateway.json { return writeJSON(messages.json) }
                var table = TextTable("ID", "STATE", "AUDIENCE", "ACCEPTED", "PENDING", "SINCE")
                for message in messages.items {
                    let outcomes = message.object?["outcomes"] ?? .null
                    table.add(
                        message.shown("id"), message.shown("state"), message.shown("audience"),
                        outcomes.shown("accepted"), message.shown("pending"), message.shown("accepted_at"))
                }
                table.isEmpty ? Console.remark("No messages.") : table.write()
                messages.remarkOnOthers()
            }
        }
    }

    /// One message.
    struct One: ParsableArguments {
        @OptionGroup var app: AppOptions
        @Argument(help: "The message's id, as send and messages list show it.") var id: String
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a message's counts, and what its pending pushes wait for.",
            discussion: HelpText.of(examples: ["carillon messages show \(exampleID) --app garden"]))
        @OptionGroup var one: One

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                let message = try await one.app.gateway.client().get(try one.app.path("messages", one.id), as: .message)
                if one.app.gateway.json { return writeJSON(message) }
                AccountText(message, app: try one.app.slug()).write()
            }
        }
    }

    struct Failures: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists every push that was not accepted, and why.",
            discussion: HelpText.of(
                examples: ["carillon messages failures \(exampleID) --app garden --reason Unregistered"]))
        @OptionGroup var one: One
        @Option(
            help: "rejected, unregistered, expired, suppressed, cancelled or gave_up.",
            completion: OptionValues.outcomes)
        var state: String?
        @Option(help: "The reason, from the provider or the gateway.") var reason: String?
        @Option(help: ArgumentHelp("The maximum number of items.", valueName: "count")) var limit = 100
        @Option(help: ArgumentHelp("Continues an earlier list.", valueName: "next")) var cursor: String?

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                let failures = try await one.app.gateway.client().list(
                    try one.app.path("messages", one.id, "failures"), [("state", state), ("reason", reason)],
                    of: .failure, from: cursor, limit: limit)
                if one.app.gateway.json { return writeJSON(failures.json) }
                var table = TextTable("INSTALLATION", "KIND", "PROVIDER", "OUTCOME", "REASON", "ATTEMPTS", "AT")
                for failure in failures.items {
                    table.add(
                        failure.shown("installation"), failure.shown("kind"), failure.shown("provider"),
                        failure.shown("state"), failure.shown("reason"), failure.shown("attempts"),
                        failure.shown("at"))
                }
                let isFiltered = state != nil || reason != nil
                let none = isFiltered ? "No push matches." : "No failures: every push that has ended was accepted."
                table.isEmpty ? Console.remark(none) : table.write()
                failures.remarkOnOthers()
            }
        }
    }

    struct Push: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what happened to one push, step by step.",
            discussion: HelpText.of(examples: ["carillon messages push \(exampleID) my-phone --app garden"]))
        @OptionGroup var one: One
        @Argument(help: "The installation.") var installation: String

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                let history = try await one.app.gateway.client().get(
                    try one.app.path("messages", one.id, "devices", installation), as: .push)
                if one.app.gateway.json { return writeJSON(history) }
                for line in PushText(history).lines { Console.write(line) }
            }
        }
    }
}

extension GatewayClient {
    private static func text(ofState state: String) -> String {
        switch state {
        case "accepted": "waiting for its turn"
        case "scheduled": "waiting for the send time"
        case "planning": "finding the audience"
        case "sending": "being sent"
        case "paused": "paused: carillon messages resume continues"
        case "cancelled": "being counted"
        default: state
        }
    }

    /// Follows a message to its end and returns its account. Shows its progress until then.
    func watch(_ path: String, app: String) async throws -> JSONValue {
        var progress = Progress("Sending")
        var shown = WaitMessages()
        defer { progress.end() }
        return try await MessageFollower(client: self, path: path).follow(
            { message, _ in
                guard !message.isOver else { return }
                for line in shown.news(message, app: app, now: .now) { progress.write(line) }
                progress.show(
                    ProgressText(message).ended, of: message.object?["audience"]?.integer,
                    Self.text(ofState: message.shown("state")))
            }, note: { progress.write($0) })
    }
}

extension JSONValue {
    /// Whether the message's account is final. The account of a cancelled message is final once the pushes in flight
    /// are answered and the others are counted.
    package var isOver: Bool {
        switch shown("state") {
        case "finished": true
        case "cancelled": count("pending") == 0 && object?["audience"]?.integer != nil
        default: false
        }
    }
}

/// The lines for a person who watches a message while nothing moves, each reason once.
struct WaitMessages {
    private var shown: Set<String> = []
    private var lastEnded: Int64 = -1
    private var since: ContinuousClock.Instant = .now
    /// A provider that throttles asks for a minute at most, as a rule.
    private static let timeout: Duration = .seconds(90)
    static let hint = [
        "No progress for 90 seconds: a provider may be unreachable or throttling.",
        "  -> to find the cause, run carillon doctor where the gateway runs, or read the gateway's log",
    ]

    mutating func lines(_ message: JSONValue, app: String, now: ContinuousClock.Instant) -> [String] {
        let ended = ProgressText(message).ended
        if ended != lastEnded { (lastEnded, since) = (ended, now) }
        var lines = WaitText.lines(of: message, app: app)
        if lines.isEmpty, message.shown("state") != "scheduled", now - since > Self.timeout { lines = Self.hint }
        return lines
    }

    /// The lines that were not shown before; their numbers are ignored.
    mutating func news(_ message: JSONValue, app: String, now: ContinuousClock.Instant) -> [String] {
        lines(message, app: app, now: now).filter { shown.insert($0.filter { !$0.isNumber }).inserted }
    }
}
