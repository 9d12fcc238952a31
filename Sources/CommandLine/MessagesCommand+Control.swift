import ArgumentParser
import JSON

/// `carillon messages pause`, `resume`, `cancel` and `rate`.
extension MessagesCommand {
    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stops a message until it is resumed.",
            discussion: HelpText.of(
                "What is in flight is answered and counted. What is not resumed before the message expires is not sent.",
                examples: ["carillon messages pause \(exampleID) --app garden"]))
        @OptionGroup var one: One

        func run() async throws { try await one.change("pause") }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets a paused message go on.",
            discussion: HelpText.of(examples: ["carillon messages resume \(exampleID) --app garden"]))
        @OptionGroup var one: One

        func run() async throws { try await one.change("resume") }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stops a message for good.",
            discussion: HelpText.of(
                "What was not sent ends as cancelled. Asks first; --yes does not.",
                examples: ["carillon messages cancel \(exampleID) --app garden --yes"]))
        @OptionGroup var one: One
        @Flag(help: "Does not ask.") var yes = false

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                try confirm("Cancel the message \(one.id)? What was not sent will not be.", yes)
            }
            try await one.change("cancel")
        }
    }

    struct Rate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets how many pushes of a message are sent a second.",
            discussion: HelpText.of(
                "Over all processes, from about a second on, until it is over.",
                examples: [
                    "carillon messages rate \(exampleID) --app garden --per-second 500",
                    "carillon messages rate \(exampleID) --app garden --none",
                ]))
        @OptionGroup var one: One
        @Option(help: ArgumentHelp("At most so many pushes a second.", valueName: "number")) var perSecond: Int?
        @Flag(help: "As many as its providers take.") var none = false

        func validate() throws {
            guard none == (perSecond == nil) else { throw ValidationError("Give --per-second or --none.") }
        }

        func run() async throws {
            let rate = perSecond.map { JSONValue.number(.whole(Int64($0))) } ?? .null
            try await one.request("PATCH", nil, ["rate_per_second": rate])
        }
    }
}

extension MessagesCommand.One {
    fileprivate func change(_ action: String) async throws { try await request("POST", action) }

    fileprivate func request(_ method: String, _ action: String?, _ body: JSONValue? = nil) async throws {
        try await orComplain(asJSON: app.gateway.json) {
            let path = try app.path("messages", id) + (action.map { "/" + $0 } ?? "")
            let message = try await app.gateway.client().send(method, path, body, as: .message)
            if app.gateway.json { return writeJSON(message) }
            AccountText(message, app: try app.slug()).write()
        }
    }
}
