import ArgumentParser
import Foundation
import JSON
import Reactor
import Requests

/// `carillon send`: a message that can be previewed, counted and tested before it is sent, and followed to its end.
package struct SendCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Sends a message.",
        discussion: """
            --preview sends nothing: it shows what an iPhone and an Android phone would receive, and the sizes. \
            --count sends nothing: it shows how many devices would receive it. --test-to sends to these receivers \
            only, and asks before it sends to the audience; without an audience only the test is sent. With --locale, \
            the preview shows and the test sends the text of that language, on a phone of any language. For a \
            broadcast (all, tags, a filter) the command shows the number of devices and asks first, unless --yes is \
            given. It also asks if the same text went to the same audience within the last minute. Its first line is \
            the message's id. Ctrl-C stops watching; the message continues. The exit code is 1 if no device received \
            the message.
            """,
        examples: [
            #"carillon send --app garden --installation my-phone --title Hello --body "From the garden""#,
            #"carillon send --app garden --all --title Noon --body "Twelve o'clock" --badge increment --preview"#,
            #"carillon send --app garden --all --body "Noon" --text "fr:body=Midi" --text "de:body=Mittag" --count"#,
            "carillon send --app garden --texts noon.txt --test-to ann-phone --test-to user:ben --test-to tag:staff",
            "carillon send --app garden --texts noon.txt --test-to ann-phone --locale ja --locale fr",
            #"carillon send --app garden --all --texts noon.txt --name "Noon bells" --at "tomorrow 9:00""#,
            "carillon send --app garden --all --file noon.json --at 9:00 --device-local-time",
            #"carillon send --app garden --all --title Noon --body "Twelve o'clock" --at 2026-12-01T12:00:00Z --yes"#,
            #"carillon send --app garden --tag news --body "It rains" --dry-run --yes --json"#,
            #"carillon send --app garden --filter "app_version < '4.2'" --body "Please update""#,
        ])

    @OptionGroup var app: AppOptions
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Message") var message: MessageOptions
    @Flag(help: "Shows what phones would receive; sends nothing.") var preview = false
    @Option(
        help: .value(
            "tag", "With --preview or --test-to: the language to show or test, such as ja; repeatable, or with commas.")
    )
    var locale: [String] = []
    @Flag(help: "Shows how many devices would receive it; sends nothing.") var count = false
    @Option(
        help: .value(
            "phone-1", "Sends to this installation first, or to user:name or tag:name; repeatable, or with commas."))
    var testTo: [String] = []
    @Flag(help: "Returns without waiting for the message to finish.") var detach = false
    @Flag(help: "Skips the confirmation.") var yes = false
    @Option(help: .value("key", "Commands with the same key send only once within 48 hours."))
    var idempotencyKey: String?

    package init() {}

    package func run() async throws {
        try await orComplain(asJSON: app.gateway.json) {
            _ = try locales()
            let content = try message.members()
            let receivers = testTo.isEmpty ? nil : try TestReceivers(testTo)
            let named = try audience.member(isGivenIn: content, isRequired: receivers == nil || count)
            let whole = JSONObject((named.map { [$0] } ?? []) + content)
            if preview { return try await show(whole, receivers) }
            if count { return try await showCount(whole) }
            var sent = SentMessages()
            let interruption = Interruption()
            let trap = await interruption.trap()
            defer { trap.cancel() }
            let outcome = await Result(of: { try await send(whole, receivers, &sent, interruption) })
            // Also after a failure: messages may have been sent before it.
            if app.gateway.json, !sent.isEmpty { writeJSON(sent.json) }
            try outcome.get()
        }
    }

    private func showCount(_ message: JSONObject) async throws {
        let client = try app.gateway.client()
        let answer = try await client.count(message, app: try app.slug())
        if app.gateway.json { return writeJSON(answer) }
        let question = try await question(message, AudienceCount(answer), client)
        Console.write(AudienceCount(answer).sentence)
        for line in question.audienceLines(withZones: true) { Console.write(line) }
        if let hour = question.hour { Console.write("  Sent \(hour).") }
    }

    private func question(
        _ message: JSONObject, _ count: AudienceCount?, _ client: GatewayClient
    ) async throws(CommandFault) -> SendQuestion {
        let isLocal = JSONValue.object(message).isAtLocalHour
        let zone = isLocal ? await client.timeZone(ofApp: try app.slug()) : nil
        return SendQuestion(message, count: count, appZone: zone)
    }

    private func send(
        _ message: JSONObject, _ receivers: TestReceivers?, _ sent: inout SentMessages, _ interruption: Interruption
    ) async throws {
        let client = try app.gateway.client()
        if let receivers {
            let isTestOnly = message["audience"] == nil
            // Before anything is sent.
            guard isTestOnly || yes || Console.isInteractive else {
                throw CommandFault(.usage, "no terminal to ask after the test; give --yes to continue without asking")
            }
            try await test(on: receivers, message, client, &sent, interruption)
            if isTestOnly { return remark("Only the test was sent, because no audience is given (--all, --tag, ...).") }
        }
        if !yes { try await ask(message, receivers, client, tests: sent.tests) }
        try await deliver(message, client, key: idempotencyKey ?? UUID().uuidString, waits: !detach, interruption) {
            sent.messages.append($0)
        }
        if !detach { try sent.messages.filter { !$0.isToCome }.checkReach() }
    }

    /// Asks before a broadcast, after a test, and before a repetition. A script's message to named receivers is not
    /// compared with earlier ones: scripts often send the same text.
    private func ask(
        _ message: JSONObject, _ receivers: TestReceivers?, _ client: GatewayClient, tests: [JSONValue]
    ) async throws {
        let isDescribed = AudienceDescription(of: message).isDescribed
        guard isDescribed || receivers != nil || Console.isInteractive else { return }
        let duplicate =
            idempotencyKey == nil
            ? await client.recentDuplicate(
                of: message, path: try app.path("messages"), except: tests.map { $0.shown("id") }) : nil
        guard isDescribed || receivers != nil || duplicate != nil else { return }
        let question = try await question(message, isDescribed ? try await count(message, client) : nil, client)
        for line in question.lines() { remark(line) }
        let repetition = duplicate.map { RecentDuplicate.sentence($0) + " " } ?? ""
        try confirm(
            repetition + question.sentence(app: try app.slug()), yes,
            otherwise: receivers.map { "sent to \($0.sentence) only" } ?? "nothing was done")
    }

    /// nil: the gateway doesn't count in time, not for this key, or not at all. A message that can't be accepted is
    /// refused here, before the question.
    private func count(_ message: JSONObject, _ client: GatewayClient) async throws(CommandFault) -> AudienceCount? {
        do throws(CommandFault) { return AudienceCount(try await client.count(message, app: try app.slug())) } catch {
            guard error.kind == .refused, error.code != ProblemCode.notFound.rawValue else { return nil }
            throw error
        }
    }

    func remark(_ line: String) {
        if !app.gateway.json { Console.remark(line) }
    }

    /// - Parameters:
    ///   - isAside: another message follows, whose id is the first line of standard output.
    ///   - note: called for each resulting message: with its account, or with the answer if not waited for.
    func deliver(
        _ message: JSONObject, _ client: GatewayClient, key: String, waits: Bool, isAside: Bool = false,
        _ interruption: Interruption, _ note: (JSONValue) -> Void
    ) async throws {
        func write(_ line: String) {
            guard !app.gateway.json else { return }
            if isAside { Console.remark(line) } else { Console.write(line) }
        }
        let slug = try app.slug()
        interruption.mayLeave(app: slug)
        defer { interruption.willLeave([], app: slug) }
        let accepted = try await client.send(
            "POST", try app.path("messages"), .object(message), idempotencyKey: key, as: .message)
        let ids = accepted.strings("messages").isEmpty ? [accepted.shown("id")] : accepted.strings("messages")
        interruption.willLeave(ids, app: slug)
        // At once, so that the message can be stopped while this command watches it.
        for id in ids { write(id) }
        let isLocal = JSONValue.object(message).isAtLocalHour
        for id in ids {
            guard waits, !isLocal, !accepted.isToCome else {
                var answer = JSONObject([JSONMember("id", .string(id))])
                answer["state"] = .string(accepted.shown("state"))
                if isLocal { answer["device_local_time"] = true }
                note(.object(answer))
                if isLocal || accepted.isToCome { remark(Self.toCome(accepted, id, app: slug, message)) }
                continue
            }
            let account = try await client.watch(try app.path("messages", id), app: slug)
            note(account)
            for line in AccountText(account, app: slug).lines { write(line) }
        }
    }

    private static func toCome(_ accepted: JSONValue, _ id: String, app: String, _ message: JSONObject) -> String {
        let hour = SendQuestion(message, count: nil).hour.map { " It is sent " + $0 + "." } ?? ""
        let cancel = "carillon messages cancel \(id) --app \(app)"
        guard accepted.shown("state") == "scheduled" else {
            return
                "Accepted.\(hour) The first devices are due, so it can't be edited. To cancel what is left: \(cancel)"
        }
        let until = accepted.editableUntil(in: .current).map { " It can be edited until \($0)." } ?? ""
        return "Scheduled.\(hour)\(until) To cancel it before it is sent: \(cancel)"
    }
}

struct SentMessages {
    var tests: [JSONValue] = []
    var messages: [JSONValue] = []

    var isEmpty: Bool { tests.isEmpty && messages.isEmpty }
    var json: JSONValue { ["tests": .array(tests), "messages": .array(messages)] }
}
