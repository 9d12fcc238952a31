import ArgumentParser
import Foundation
import JSON

/// `carillon send`: a message that can be previewed and tested before it is sent, and followed to its end.
package struct SendCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Sends a message.",
        discussion: """
            --preview sends nothing: it shows what an iPhone and an Android phone would receive, and the sizes. \
            --test-to sends to the named installations first, and asks before it sends to the audience. For a \
            broadcast (all, tags, a filter) the command shows the number of devices and asks first, unless --yes is \
            given. The exit code is 1 if no device received the message.
            """,
        examples: [
            #"carillon send --app garden --installation my-phone --title Hello --body "From the garden""#,
            #"carillon send --app garden --all --title Noon --body "Twelve o'clock" --badge increment --preview"#,
            "carillon send --app garden --all --file noon.json --test-to ann-phone,ben-tablet",
            "carillon send --app garden --all --file noon.json --at 2026-12-01T12:00:00 --device-local-time",
            #"carillon send --app garden --all --title Noon --body "Twelve o'clock" --at 2026-12-01T12:00:00Z --yes"#,
            #"carillon send --app garden --tag news --body "It rains" --dry-run --yes --json"#,
            #"carillon send --app garden --filter "app_version < '4.2'" --body "Please update""#,
        ])

    @OptionGroup var app: AppOptions
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Message") var message: MessageOptions
    @Flag(help: "Shows what phones would receive; sends nothing.") var preview = false
    @Option(help: .value("tag", "With --preview: the locale (default: that of --installation).")) var locale: String?
    @Option(help: .value("a,b", "Sends to these installations first.")) var testTo: String?
    @Flag(help: "Returns without waiting for the message to finish.") var detach = false
    @Flag(help: "Skips the confirmation.") var yes = false
    @Option(help: .value("key", "Commands with the same key send only once within 48 hours."))
    var idempotencyKey: String?

    package init() {}

    package func run() async throws {
        try await orComplain(asJSON: app.gateway.json) {
            let content = try message.members()
            let whole = JSONObject(try audience.member(isGivenIn: content).map { [$0] + content } ?? content)
            if preview { return try await show(whole) }
            var sent = SentMessages()
            let outcome = await Result(of: { try await send(whole, &sent) })
            // Also after a failure: messages may have been sent before it.
            if app.gateway.json, !sent.isEmpty { writeJSON(sent.json) }
            try outcome.get()
        }
    }

    private func show(_ message: JSONObject) async throws(CommandFault) {
        let preview = try MessagePreview(JSONValue.object(message).bytes, app: try app.slug())
        let phone = await phone(for: message, isTemplate: preview.isTemplate)
        if app.gateway.json { return writeJSON(preview.json(phone)) }
        for line in preview.lines(phone) { Console.write(line) }
    }

    /// The device of the preview: one in the given locale, else the one named installation if the gateway can be asked.
    private func phone(for message: JSONObject, isTemplate: Bool) async -> PreviewDevice {
        let names = message["audience"]?.object?["installations"]?.array ?? []
        let asksLocale = locale == nil && message["notification"]?.object?["localizations"] != nil
        guard asksLocale || isTemplate, names.count == 1, let name = names[0].string,
            let path = try? app.path("devices", name),
            let device = try? await app.gateway.client().get(path, as: .wholeDevice)
        else {
            if isTemplate, !app.gateway.json { Console.remark("For a device without attributes:") }
            return PreviewDevice(locale: locale, device: nil)
        }
        let theirs = device.object?["locale"]?.string
        if !app.gateway.json {
            if isTemplate { Console.remark("With the attributes of \(name):") }
            if asksLocale, let theirs { Console.remark("In the language of \(name), \(theirs):") }
        }
        return PreviewDevice(locale: asksLocale ? theirs : locale, device: device)
    }

    private func send(_ message: JSONObject, _ sent: inout SentMessages) async throws {
        let client = try app.gateway.client()
        if let testTo {
            // Before anything is sent.
            guard yes || Console.isInteractive else {
                throw CommandFault(.usage, "no terminal to ask after the test; give --yes to continue without asking")
            }
            try await test(on: testTo, message, client, &sent)
        }
        let strings = AudienceDescription(of: message)
        if !yes, testTo != nil || strings.isDescribed {
            let count = await client.count(strings, devices: try app.path("devices"))
            try confirm(
                "Send to \(strings.sentence(count: count)) of the app \(try app.slug())?", yes,
                otherwise: testTo.map(Self.testedOnly) ?? "nothing was done")
        }
        try await deliver(message, client, key: idempotencyKey ?? UUID().uuidString, waits: !detach) {
            sent.messages.append($0)
        }
        if !detach { try sent.messages.filter { !$0.isToCome }.checkReach() }
    }

    private static func names(_ list: String) -> [Substring] { list.split(separator: ",") }

    private static func testedOnly(_ list: String) -> String {
        let count = names(list).count
        return "sent to the " + (count == 1 ? "test installation only" : "\(count) test installations only")
    }

    private func test(
        on list: String, _ message: JSONObject, _ client: GatewayClient, _ sent: inout SentMessages
    ) async throws {
        let names = Self.names(list).map { JSONValue.string(String($0)) }
        guard !names.isEmpty else { throw CommandFault(.usage, "--test-to names no installation") }
        let named = JSONMember("audience", ["installations": .array(names)])
        if !app.gateway.json { Console.remark("First to \(list):") }
        let content = JSONObject([named] + message.members.filter { $0.name != "audience" }).sentNow
        try await deliver(content, client, key: UUID().uuidString, waits: true) { sent.tests.append($0) }
        guard sent.tests.allSatisfy({ $0.reached >= Int64(names.count) }) else {
            throw CommandFault(
                .failed,
                "not every test installation received it; the audience was not sent to. See carillon messages failures")
        }
    }

    /// - Parameter note: called for each resulting message: with its account, or with the answer if not waited for.
    private func deliver(
        _ message: JSONObject, _ client: GatewayClient, key: String, waits: Bool, _ note: (JSONValue) -> Void
    ) async throws {
        let accepted = try await client.send(
            "POST", try app.path("messages"), .object(message), idempotencyKey: key, as: .message)
        let ids = accepted.strings("messages").isEmpty ? [accepted.shown("id")] : accepted.strings("messages")
        for id in ids {
            let isLocal = JSONValue.object(message).isAtLocalHour
            let isToCome = isLocal || accepted.isToCome
            guard waits, !isToCome else {
                var answer = JSONObject([JSONMember("id", .string(id))])
                answer["state"] = .string(accepted.shown("state"))
                if isLocal { answer["device_local_time"] = true }
                note(.object(answer))
                if !app.gateway.json { Console.write(id) }
                if isToCome, !app.gateway.json {
                    Console.remark(Self.toCome(id, app: try app.slug(), isLocal: isLocal))
                }
                continue
            }
            let account = try await client.watch(try app.path("messages", id), app: try app.slug())
            note(account)
            if !app.gateway.json { AccountText(account, app: try app.slug()).write() }
        }
    }
}

extension SendCommand {
    fileprivate static func toCome(_ id: String, app: String, isLocal: Bool) -> String {
        let cancel = "carillon messages cancel \(id) --app \(app)"
        return isLocal
            ? "Scheduled by each device's local time. To cancel what is left: \(cancel)"
            : "Scheduled. To cancel it before it is sent: \(cancel)"
    }
}

extension JSONObject {
    private static let ofHour = ["send_at", "device_local_time", "local_time_passed"]

    /// The same message without an hour, so that a test arrives at once.
    fileprivate var sentNow: JSONObject {
        JSONObject(
            members.map { member in
                guard member.name == "options", let options = member.value.object else { return member }
                let others = options.members.filter { !Self.ofHour.contains($0.name) }
                return JSONMember("options", .object(JSONObject(others)))
            })
    }
}

private struct SentMessages {
    var tests: [JSONValue] = []
    var messages: [JSONValue] = []

    var isEmpty: Bool { tests.isEmpty && messages.isEmpty }
    var json: JSONValue { ["tests": .array(tests), "messages": .array(messages)] }
}
