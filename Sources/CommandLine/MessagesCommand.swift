import ArgumentParser
import JSON

package struct MessagesCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "messages", abstract: "Lists, shows, follows, edits, pauses and cancels messages.",
        examples: [
            "carillon messages list --app garden", "carillon messages watch \(exampleID) --app garden",
            "carillon messages push \(exampleID) my-phone --app garden",
        ],
        subcommands: [
            List.self, Show.self, Watch.self, Failures.self, Push.self, Edit.self, Duplicate.self, Pause.self,
            Resume.self, Cancel.self, Rate.self,
        ], defaultSubcommand: List.self)

    static let exampleID = "0192f0c1-7a3e-7d41-9c55-0a1b2c3d4e5f"

    package init() {}

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the app's messages, newest first; scheduled ones apart, by their time.",
            examples: ["carillon messages list --app garden --state sending"])
        @OptionGroup var app: AppOptions
        @Option(
            help: "accepted, scheduled, planning, sending, paused, finished or cancelled.",
            completion: OptionValues.messageStates)
        var state: String?
        @Option(help: .value("count", "The maximum number of items.")) var limit = 20
        @Option(help: .value("next", "Continues an earlier list.")) var cursor: String?

        func ask(_ client: GatewayClient) async throws -> Output {
            let path = try app.path("messages")
            let page = try await client.list(path, [("state", state)], of: .message, from: cursor, limit: limit)
            // Scheduled messages may be older than the newest ones by weeks.
            let isWhole = state == nil && cursor == nil && !gateway.json
            let scheduled =
                isWhole ? try await client.list(path, [("state", "scheduled")], of: .message, limit: limit).items : []
            return Output(page.json) {
                let list = MessageList(page.items, scheduled: scheduled, columns: Console.columns)
                for line in list.lines { Console.write(line) }
                if list.lines.isEmpty { Console.remark("No messages.") }
                page.remarkNext()
            }
        }
    }

    struct One: ParsableArguments {
        @OptionGroup var app: AppOptions
        @Argument(help: "The message's id, or its beginning, as send and messages list show it.") var id: String

        func wholeID(_ client: GatewayClient) async throws(CommandFault) -> String {
            try await client.messageID(id, in: try app.path("messages"))
        }

        func path(_ client: GatewayClient, _ segments: String...) async throws(CommandFault) -> String {
            try app.path(["messages", try await wholeID(client)] + segments)
        }
    }

    struct Show: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a message's counts, and what its pending pushes wait for.",
            examples: ["carillon messages show \(exampleID) --app garden"])
        @OptionGroup var one: One

        func ask(_ client: GatewayClient) async throws -> Output {
            account(try await client.get(try await one.path(client), as: .message))
        }
    }

    struct Failures: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists every push that was not accepted, and why.",
            examples: ["carillon messages failures \(exampleID) --app garden --reason Unregistered"])
        @OptionGroup var one: One
        @Option(
            help: "rejected, unregistered, expired, suppressed, cancelled or gave_up.",
            completion: OptionValues.outcomes)
        var state: String?
        @Option(help: "The reason, from the provider or the gateway.") var reason: String?
        @Option(help: .value("count", "The maximum number of items.")) var limit = 100
        @Option(help: .value("next", "Continues an earlier list.")) var cursor: String?

        func ask(_ client: GatewayClient) async throws -> Output {
            let message = try await one.path(client)
            let failures = try await client.list(
                message + "/failures", [("state", state), ("reason", reason)], of: .failure, from: cursor, limit: limit)
            let isFiltered = state != nil || reason != nil
            var text = isFiltered ? "No push matches." : "No failures: every push that has ended was accepted."
            if failures.items.isEmpty, cursor == nil {
                let failed = try await client.get(message, as: .message).failed
                if failed > 0, !isFiltered {
                    text = "\(failed) pushes were not accepted, but their history is no longer stored."
                }
            }
            return failures.output(
                [
                    "INSTALLATION": "installation", "KIND": "kind", "PROVIDER": "provider", "OUTCOME": "state",
                    "REASON": "reason", "ATTEMPTS": "attempts", "AT": "at", "DETAIL": "detail",
                ],
                ifEmpty: text)
        }
    }

    struct Push: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what happened to one push, step by step.",
            examples: ["carillon messages push \(exampleID) my-phone --app garden"])
        @OptionGroup var one: One
        @Argument(help: "The installation.") var installation: String

        func ask(_ client: GatewayClient) async throws -> Output {
            let path = try await one.path(client, "devices", installation)
            let history = try await client.get(path, as: .push)
            return Output(history) {
                for line in PushText(history).lines { Console.write(line) }
            }
        }
    }
}

extension JSONValue {
    /// The number of a message's pushes that ended otherwise than accepted.
    fileprivate var failed: Int64 {
        members("outcomes").filter { $0.name != "accepted" }.map { $0.value.integer ?? 0 }.sum
    }
}

protocol MessageCommand: AppCommand {
    var one: MessagesCommand.One { get }
}

extension MessageCommand {
    var app: AppOptions { one.app }

    func account(_ message: JSONValue) -> Output { Output(ofMessage: message, app) }
}

extension Output {
    /// A message's account.
    init(ofMessage message: JSONValue, _ app: AppOptions) {
        self.init(message) { AccountText(message, app: try app.slug()).write() }
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
    /// Whether the account is final: of a cancelled message, once pushes in flight are answered and others counted.
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
