import ArgumentParser
import Foundation
import JSON

/// `carillon send`: a message, looked at first, tested first, and followed to its end.
package struct SendCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Sends a message.",
        discussion: """
            carillon send --app garden --installation my-phone --title Hello --body "From the garden"
            carillon send --app garden --all --title Noon --body "Twelve o'clock" --badge increment --preview
            carillon send --app garden --all --file noon.json --test-to ann-phone,ben-tablet
            carillon send --app garden --tag news --body "It rains" --dry-run --yes

            --preview sends nothing: it shows what an iPhone and an Android phone would get, and how large it is.
            --test-to sends to those installations first, and asks before it goes on to the audience.
            A message that is sent to an audience that is described (all, tags) is asked for once more; --yes answers.
            """)

    @OptionGroup var app: AppOptions
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Message") var message: MessageOptions
    @Flag(help: "Shows what phones would get, and sends nothing.") var preview = false
    @Option(help: ArgumentHelp("With --preview: the phones' locale.", valueName: "tag")) var locale: String?
    @Option(help: ArgumentHelp("Sends to these installations first.", valueName: "a,b")) var testTo: String?
    @Flag(help: "Does not wait for the end.") var detach = false
    @Flag(help: "Does not ask.") var yes = false
    @Option(help: ArgumentHelp("Makes a repetition of this command harmless, for 48 hours.", valueName: "key"))
    var idempotencyKey: String?

    package init() {}

    package func run() async throws {
        try await orComplain {
            let content = try message.members()
            let whole = try audience.member(isGivenIn: content).map { [$0] + content } ?? content
            if preview {
                let name = try app.slug()
                for line in try MessagePreview(JSONValue.object(JSONObject(whole)).bytes, app: name).lines(
                    locale: locale)
                {
                    Console.say(line)
                }
                return
            }
            let client = try app.gateway.client()
            let asked = whole.first { $0.name == "audience" }?.value.object
            if let testTo {
                // Before anything is sent.
                guard yes || Console.isInteractive else {
                    throw CommandFault(.usage, "nobody is here to answer after the test; --yes goes on without asking")
                }
                try await test(on: testTo, content, client)
            }
            if testTo != nil || AudienceOptions.isDescribed(asked) {
                let words = String(decoding: JSONValue.object(asked ?? JSONObject()).bytes, as: UTF8.self)
                try confirm("Send to \(words) of \(try app.slug())?", yes)
            }
            try await deliver(whole, client, key: idempotencyKey ?? UUID().uuidString)
        }
    }

    private func test(on list: String, _ content: [JSONMember], _ client: GatewayClient) async throws {
        let names = list.split(separator: ",").map { JSONValue.string(String($0)) }
        guard !names.isEmpty else { throw CommandFault(.usage, "--test-to names nobody") }
        let named = JSONMember("audience", ["installations": .array(names)])
        Console.remark("First to \(list):")
        let accounts = try await deliver(
            [named] + content.filter { $0.name != "audience" }, client, key: UUID().uuidString, mustWait: true)
        let isDry = content.first { $0.name == "options" }?.value.object?["dry_run"]?.bool == true
        let reached = accounts.map { ($0.object?["outcomes"] ?? .null).count("accepted") }
        guard isDry || reached.allSatisfy({ $0 >= Int64(names.count) }) else {
            throw CommandFault(
                .failed,
                "not every test installation got it, so it went to nobody else. carillon messages failures tells why")
        }
    }

    /// The account of each message that it becomes, once it has finished; none where nobody waits.
    @discardableResult
    private func deliver(
        _ members: [JSONMember], _ client: GatewayClient, key: String, mustWait: Bool = false
    ) async throws -> [JSONValue] {
        let accepted = try await client.send(
            "POST", try app.path("messages"), .object(JSONObject(members)), idempotencyKey: key)
        let ids = accepted.words("messages").isEmpty ? [accepted.shown("id")] : accepted.words("messages")
        guard !detach || mustWait else {
            if app.gateway.json { sayJSON(accepted) } else { for id in ids { Console.say(id) } }
            return []
        }
        var accounts: [JSONValue] = []
        for id in ids {
            let account = try await client.watch(try app.path("messages", id))
            if app.gateway.json { sayJSON(account) } else { AccountText(account).say() }
            accounts.append(account)
        }
        return accounts
    }
}

/// Whom it is for.
struct AudienceOptions: ParsableArguments {
    @Flag(help: "Every device of the app.") var all = false
    @Option(help: ArgumentHelp("This installation; again for each.", valueName: "name")) var installation: [String] = []
    @Option(help: ArgumentHelp("This user's devices; again for each.", valueName: "user")) var user: [String] = []
    @Option(help: ArgumentHelp("Devices with this tag; again for more.", valueName: "tag")) var tag: [String] = []

    /// Whom nobody named one by one, wherever that is said: by an option or in the file.
    static func isDescribed(_ audience: JSONObject?) -> Bool {
        ["installations", "users", "tokens"].allSatisfy { audience?[$0] == nil }
    }

    /// nil: the file says it.
    func member(isGivenIn content: [JSONMember]) throws(CommandFault) -> JSONMember? {
        func strings(_ names: [String]) -> JSONValue { .array(names.map { .string($0) }) }
        var given: [JSONValue] = []
        if all { given.append(["all": true]) }
        if !installation.isEmpty { given.append(["installations": strings(installation)]) }
        if !user.isEmpty { given.append(["users": strings(user)]) }
        if !tag.isEmpty { given.append(["tags": ["any": strings(tag)]]) }
        if content.contains(where: { $0.name == "audience" }) {
            guard given.isEmpty else { throw CommandFault(.usage, "the file names an audience, and so do the options") }
            return nil
        }
        guard given.count == 1 else {
            throw CommandFault(.usage, "to whom? Say exactly one of --all, --installation, --user and --tag")
        }
        return JSONMember("audience", given[0])
    }
}

/// What it says.
struct MessageOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The whole message as JSON; the options below override it.", valueName: "path"))
    var file: String?
    @Option(help: "The title.") var title: String?
    @Option(help: "The subtitle (iPhones).") var subtitle: String?
    @Option(help: "The text.") var body: String?
    @Option(help: "increment, or a number.") var badge: String?
    @Option(help: "A sound's file name, or default.") var sound: String?
    @Option(help: ArgumentHelp("A member of data, as text; again for each.", valueName: "name=text"))
    var data: [String] = []
    @Option(help: "high or normal.") var priority: String?
    @Option(help: "alert, background, voip, ...") var pushType: String?
    @Option(help: ArgumentHelp("How long it is worth something.", valueName: "seconds")) var ttl: Int?
    @Option(help: ArgumentHelp("A later push with the same one takes its place.", valueName: "id"))
    var collapseID: String?
    @Flag(help: "Checked, and validated by FCM; delivered to nobody.") var dryRun = false

    func members() throws(CommandFault) -> [JSONMember] {
        var members: [JSONMember] = []
        if let file {
            guard let object = (try? JSONReader.read(try contents(ofFile: file)))?.object else {
                throw CommandFault(.usage, "\(file) holds no JSON object")
            }
            members = object.members
        }
        let text = pairs([("title", title), ("subtitle", subtitle), ("body", body)])
        merge(text, into: "notification", of: &members)
        if let badge { replace("badge", Int64(badge).map { .number(.whole($0)) } ?? .string(badge), in: &members) }
        if let sound { replace("sound", .string(sound), in: &members) }
        merge(try dataMembers(), into: "data", of: &members)
        var options = pairs([("priority", priority), ("push_type", pushType), ("collapse_id", collapseID)])
        if let ttl { options.append(JSONMember("ttl_seconds", .number(.whole(Int64(ttl))))) }
        if dryRun { options.append(JSONMember("dry_run", true)) }
        merge(options, into: "options", of: &members)
        return members
    }

    private func pairs(_ pairs: [(String, String?)]) -> [JSONMember] {
        pairs.compactMap { name, text in text.map { JSONMember(name, .string($0)) } }
    }

    private func dataMembers() throws(CommandFault) -> [JSONMember] {
        var members: [JSONMember] = []
        for pair in data {
            guard let sign = pair.firstIndex(of: "="), sign != pair.startIndex else {
                throw CommandFault(.usage, "--data takes name=text")
            }
            members.append(JSONMember(String(pair[..<sign]), .string(String(pair[pair.index(after: sign)...]))))
        }
        return members
    }

    private func merge(_ new: [JSONMember], into name: String, of members: inout [JSONMember]) {
        guard !new.isEmpty else { return }
        var inner = members.first { $0.name == name }?.value.object?.members ?? []
        for member in new { replace(member.name, member.value, in: &inner) }
        replace(name, .object(JSONObject(inner)), in: &members)
    }

    private func replace(_ name: String, _ value: JSONValue, in members: inout [JSONMember]) {
        if let place = members.firstIndex(where: { $0.name == name }) {
            members[place] = JSONMember(name, value)
        } else {
            members.append(JSONMember(name, value))
        }
    }
}
