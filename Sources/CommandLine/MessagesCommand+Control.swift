import ArgumentParser
import JSON

extension MessagesCommand {
    struct Pause: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Pauses a message until it is resumed.",
            discussion:
                "Pushes in flight still finish and are counted. A message that expires while it is paused is not sent.",
            examples: ["carillon messages pause \(exampleID) --app garden"])
        @OptionGroup var one: One

        func ask(_ client: GatewayClient) async throws -> Output {
            account(try await client.send("POST", try await one.path(client, "pause"), as: .message))
        }
    }

    struct Resume: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resumes a paused message.", examples: ["carillon messages resume \(exampleID) --app garden"])
        @OptionGroup var one: One

        func ask(_ client: GatewayClient) async throws -> Output {
            account(try await client.send("POST", try await one.path(client, "resume"), as: .message))
        }
    }

    struct Cancel: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancels a message. This can't be undone.",
            discussion: """
                Pushes that were not sent yet end as cancelled. --last takes the newest broadcast that has not ended, or \
                without one the newest message to named receivers. The command shows the message and asks first, unless --yes is given.
                """,
            examples: [
                "carillon messages cancel --last --app garden",
                "carillon messages cancel \(exampleID) --app garden --yes",
            ], aliases: ["stop"])
        @OptionGroup var app: AppOptions
        @Argument(help: "The message's id, or its beginning, as send and messages list show it.") var id: String?
        @Flag(help: "Takes the newest broadcast that has not ended.") var last = false
        @Flag(help: "Skips the confirmation.") var yes = false

        func validate() throws {
            guard last == (id == nil) else { throw ValidationError("Give a message's id, or --last.") }
        }

        func ask(_ client: GatewayClient) async throws -> Output {
            let messages = try app.path("messages")
            let target =
                if let id { try await client.messageID(id, in: messages) } else {
                    try await client.newestUnfinished(messages)
                }
            let path = try app.path("messages", target)
            if last || !yes {
                let message = try await client.get(path, as: .message)
                let cancellation = CancellationText(message)
                if !gateway.json { for line in cancellation.lines { Console.remark(line) } }
                try confirm(cancellation.question, yes)
            }
            return Output(ofMessage: try await client.send("POST", path + "/cancel", as: .message), app)
        }
    }

    struct Rate: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets how many pushes of a message are sent per second.",
            discussion: "The rate applies to all processes together. It takes effect within about a second.",
            examples: [
                "carillon messages rate \(exampleID) --app garden --per-second 500",
                "carillon messages rate \(exampleID) --app garden --none",
            ])
        @OptionGroup var one: One
        @Option(help: .value("number", "The maximum number of pushes per second.")) var perSecond: Int?
        @Flag(help: "Removes the limit: as many as the providers take.") var none = false

        func validate() throws {
            guard none == (perSecond == nil) else { throw ValidationError("Give --per-second or --none.") }
        }

        func ask(_ client: GatewayClient) async throws -> Output {
            let rate = perSecond.map { JSONValue.number(.whole(Int64($0))) } ?? .null
            let path = try await one.path(client)
            return account(try await client.send("PATCH", path, ["rate_per_second": rate], as: .message))
        }
    }
}
