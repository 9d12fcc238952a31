import ArgumentParser
import JSON

/// `carillon messages pause`, `resume`, `cancel` and `rate`.
extension MessagesCommand {
    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Pauses a message until it is resumed.",
            discussion: HelpText.of(
                "Pushes in flight still finish and are counted. A message that expires while it is paused is not sent.",
                examples: ["carillon messages pause \(exampleID) --app garden"]))
        @OptionGroup var one: One

        func run() async throws { try await one.change("pause") }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resumes a paused message.",
            discussion: HelpText.of(examples: ["carillon messages resume \(exampleID) --app garden"]))
        @OptionGroup var one: One

        func run() async throws { try await one.change("resume") }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancels a message. This can't be undone.",
            discussion: HelpText.of(
                "Pushes that were not sent yet end as cancelled. The command asks first, unless --yes is given.",
                examples: ["carillon messages cancel \(exampleID) --app garden --yes"]))
        @OptionGroup var one: One
        @Flag(help: "Skips the confirmation.") var yes = false

        func run() async throws {
            try await orComplain(asJSON: one.app.gateway.json) {
                try confirm("Cancel the message \(one.id)? Pushes that were not sent yet will not be sent.", yes)
            }
            try await one.change("cancel")
        }
    }

    struct Rate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets how many pushes of a message are sent per second.",
            discussion: HelpText.of(
                "The rate applies to all processes together. It takes effect within about a second.",
                examples: [
                    "carillon messages rate \(exampleID) --app garden --per-second 500",
                    "carillon messages rate \(exampleID) --app garden --none",
                ]))
        @OptionGroup var one: One
        @Option(help: ArgumentHelp("The maximum number of pushes per second.", valueName: "number")) var perSecond: Int?
        @Flag(help: "Removes the limit: as many as the providers take.") var none = false

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
