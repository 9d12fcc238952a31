import ArgumentParser
import JSON

/// `carillon messages pause`, `resume` and `cancel`.
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
}

extension MessagesCommand.One {
    fileprivate func change(_ wish: String) async throws {
        try await orComplain(asJSON: app.gateway.json) {
            let message = try await app.gateway.client().send(
                "POST", try app.path("messages", id, wish), as: .message)
            if app.gateway.json { return sayJSON(message) }
            AccountText(message, app: try app.slug()).say()
        }
    }
}
