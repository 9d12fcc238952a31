import ArgumentParser
import Foundation
import JSON

/// The options that change a message before it starts.
struct ChangeOptions: ParsableArguments {
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Message") var texts: TextOptions
    @OptionGroup(title: "Message") var name: NameOption
    @OptionGroup(title: "Message") var hour: HourOption

    func change() throws(CommandFault) -> MessageChange {
        var change = MessageChange()
        change.texts = try texts.given()
        change.audience = try audience.given()
        change.name = name.name
        change.hour = try hour.asked()
        return change
    }
}

extension GatewayClient {
    /// Reads a message, changes what is given, and sends the whole parts back.
    ///
    /// - Parameters:
    ///   - path: the message's.
    ///   - confirm: called with the message as it will be, before it is changed.
    fileprivate func edit(
        _ path: String, _ change: MessageChange, confirm: (JSONObject) async throws(CommandFault) -> Void = { _ in }
    ) async throws(CommandFault) -> JSONValue {
        let message = try await get(path, as: .message)
        let body = try change.body(over: message)
        try await confirm(MessageChange.applied(body, to: message.object?["request"]?.object ?? JSONObject()))
        return try await send("PATCH", path, .object(body), as: .message)
    }
}

extension MessagesCommand {
    struct Edit: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Edits a message that has not started: its texts, name, audience or time.",
            discussion: """
                A message that has started can't be edited: cancel it, and send a duplicate. Texts in languages that \
                are not named stay as they are. An audience replaces the whole audience. --at now starts the message. \
                A new audience for a broadcast, and the start of one, are shown with the number of devices and asked \
                about, unless --yes is given.
                """,
            examples: [
                #"carillon messages edit \#(exampleID) --app garden --text "fr:body=Il est midi""#,
                #"carillon messages edit \#(exampleID) --app garden --at "tomorrow 9:00""#,
                "carillon messages edit \(exampleID) --app garden --texts noon.txt --tag news",
            ])
        @OptionGroup var one: One
        @OptionGroup var options: ChangeOptions
        @Flag(help: "Skips the confirmation.") var yes = false

        func ask(_ client: GatewayClient) async throws -> Output {
            let change = try options.change()
            guard !change.isEmpty else {
                throw CommandFault(.usage, "nothing to edit is given: a text, --name, --at or an audience")
            }
            let asksFirst = !yes && (change.audience != nil || change.hour == .now)
            let edited = try await client.edit(try await one.path(client), change) { message throws(CommandFault) in
                guard asksFirst, AudienceDescription(of: message).isDescribed else { return }
                let slug = try app.slug()
                let count = (try? await client.count(message, app: slug)).map { AudienceCount($0) }
                let question = SendQuestion(message, count: count, appZone: await client.timeZone(ofApp: slug))
                if !gateway.json { for line in question.lines() { Console.remark(line) } }
                try confirm(question.sentence(app: slug), yes)
            }
            return account(edited)
        }
    }

    struct Duplicate: MessageCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a paused copy of a message, and changes what is given in it.",
            discussion: """
                The copy is sent once it is resumed, or at its time if that is later. Its options are those of \
                messages edit. The first line is the copy's id.
                """,
            examples: [
                "carillon messages duplicate \(exampleID) --app garden",
                #"carillon messages duplicate \#(exampleID) --app garden --name "Noon, corrected" --body "Twelve""#,
            ])
        @OptionGroup var one: One
        @OptionGroup var options: ChangeOptions

        func ask(_ client: GatewayClient) async throws -> Output {
            let change = try options.change()
            var copy = try await client.send(
                "POST", try await one.path(client, "duplicate"), idempotencyKey: UUID().uuidString, as: .message)
            let (id, app) = (copy.shown("id"), try app.slug())
            if !change.isEmpty {
                do throws(CommandFault) {
                    copy = try await client.edit(try self.app.path("messages", id), change)
                } catch {
                    if !gateway.json { Console.remark("The copy \(id) was made, but it could not be changed.") }
                    throw error
                }
            }
            let account = copy
            return Output(account) {
                Console.write(id)
                AccountText(account, app: app).write()
                Console.write("To start it: carillon messages resume \(id) --app \(app)")
            }
        }
    }
}
