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
            account(try await client.send("POST", try one.path("pause"), as: .message))
        }
    }

    struct Resume: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resumes a paused message.", examples: ["carillon messages resume \(exampleID) --app garden"])
        @OptionGroup var one: One

        func ask(_ client: GatewayClient) async throws -> Output {
            account(try await client.send("POST", try one.path("resume"), as: .message))
        }
    }

    struct Cancel: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancels a message. This can't be undone.",
            discussion:
                "Pushes that were not sent yet end as cancelled. The command asks first, unless --yes is given.",
            examples: ["carillon messages cancel \(exampleID) --app garden --yes"])
        @OptionGroup var one: One
        @Flag(help: "Skips the confirmation.") var yes = false

        func ask(_ client: GatewayClient) async throws -> Output {
            try confirm("Cancel the message \(one.id)? Pushes that were not sent yet will not be sent.", yes)
            return account(try await client.send("POST", try one.path("cancel"), as: .message))
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
            return account(try await client.send("PATCH", try one.path(), ["rate_per_second": rate], as: .message))
        }
    }
}
