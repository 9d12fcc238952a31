import Foundation
import JSON
import Model
import ProviderInterface
import Providers

/// Writes the demo's story to standard output, or to standard error if a script reads the answer.
struct Narrator {
    let isBesideTheAnswer: Bool

    func write(_ line: String) { isBesideTheAnswer ? Console.remark(line) : Console.write(line) }

    func headline(_ text: String) {
        write("")
        guard !isBesideTheAnswer, Console.isColoured else { return write(text) }
        Console.write(Array("\u{1b}[1m\(text)\u{1b}[0m\n".utf8))
    }
}

struct DemoScenario: Sendable {
    static let app = "garden"
    private static let text = (title: "Carillon", body: "Twelve o'clock in the garden")

    let narrator: Narrator
    let gateway: OwnGateway
    let standIns: OwnStandIns
    let installations: Int

    private var client: GatewayClient { gateway.client }

    func fill(_ folder: OwnFolder) async throws {
        try await client.send("POST", "/v1/apps", ["slug": .string(Self.app), "name": "Garden"], as: .app)
        for credential in try standIns.credentials() {
            try await client.send("POST", path("credentials"), credential, as: .list(of: .credential))
        }
        guard try await !isRegistered(DemoDevice(installations)) else {
            narrator.write(
                "phone-1 to phone-\(installations) are registered since an earlier run, and maybe more; dead tokens "
                    + "are retired")
            return
        }
        let file = folder.file("devices.ndjson")
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw CommandFault(.failed, "\(file) can't be read")
        }
        var last = JSONValue.null
        try await client.stream(path("devices", "import"), file: handle) { last = $0 }
        guard last.object?["done"]?.bool == true, last.count("refused") == 0 else {
            throw CommandFault(.failed, "the import ended: \(String(decoding: last.bytes, as: UTF8.self))")
        }
        let known = Int64(installations) - last.count("created")
        if known > 0 { narrator.write("\(known) are registered since an earlier run") }
        narrator.write("\(last.count("created")) registered by one import. \(DemoDevice.sentence(upTo: installations))")
    }

    /// Whether an earlier run registered the device; it may have had fewer.
    private func isRegistered(_ device: DemoDevice) async throws(CommandFault) -> Bool {
        do throws(CommandFault) {
            _ = try await client.get(path("devices", device.installation), as: .wholeDevice)
            return true
        } catch {
            guard error.kind == .refused else { throw error }
            return false
        }
    }

    private func path(_ segments: String...) -> String { "/v1/apps/" + ([Self.app] + segments).joined(separator: "/") }

    private var lines: [String] { (1...installations).map { DemoDevice($0).registration } }

    func broadcast() async throws -> JSONValue {
        let before = try await standIns.summaries()
        let message: JSONValue = [
            "audience": ["all": true], "badge": "increment", "sound": "default", "data": ["article": "42"],
            "notification": [
                "title": .string(Self.text.title), "body": .string(Self.text.body),
                "image": "https://carillon.example/garden.jpg", "link": "https://carillon.example/garden",
                "localizations": ["fr": ["body": "Midi au jardin"], "de": ["body": "Zwölf Uhr im Garten"]],
            ],
        ]
        let clock = ContinuousClock()
        let started = clock.now
        let accepted = try await client.send(
            "POST", path("messages"), message, idempotencyKey: UUID().uuidString, as: .message)
        let account = try await client.watch(path("messages", accepted.shown("id")), app: Self.app)
        let took = clock.now - started
        let after = try await standIns.summaries()
        let pushes = after.map { $0.count("requests") }.sum - before.map { $0.count("requests") }.sum
        let repeated = pushes - account.count("audience")
        let seconds = (took / .milliseconds(100)).rounded() / 10
        narrator.write(
            "from the request to the last push in \(seconds) s; \(pushes) requests reached the providers, "
                + "\(max(0, repeated)) of them retries after a pause that a provider requested")
        for line in DeferralText.lines(before: before, after: after) { narrator.write(line) }
        return account
    }

    /// Checks that every device of the audience ended in exactly one terminal state, also by provider.
    func checkAccount(_ account: JSONValue) throws {
        func sum(_ outcomes: JSONValue?) -> Int64 {
            outcomes?.object?.members.reduce(0) { $0 + ($1.value.integer ?? 0) } ?? 0
        }
        let audience = account.count("audience")
        let providers = account.members("providers")
        let byProvider = providers.reduce(0) { $0 + sum($1.value.object?["outcomes"]) }
        guard account.shown("state") == "finished", audience > 0, sum(account.object?["outcomes"]) == audience,
            byProvider == audience, account.count("pending") == 0
        else { throw CommandFault(.failed, "the account does not add up") }
        narrator.write("It adds up: \(audience) devices, each in exactly one place.")
    }

    func showPhones() async throws {
        let iPhone = DemoDevice.first(of: .apns)
        if let payload = try await standIns.received(iPhone.token, at: standIns.production) {
            narrator.write("\(iPhone.installation), an iPhone whose language is \(iPhone.locale ?? "unknown"):")
            draw(payload, of: .apns)
        }
        let android = DemoDevice.first(of: .fcm)
        if let request = try await standIns.received(android.token, at: standIns.fcm) {
            narrator.write(
                "\(android.installation), an Android phone whose language is \(android.locale ?? "unknown"):")
            draw(request, of: .fcm)
        }
    }

    private func draw(_ body: JSONValue, of provider: Provider) {
        let picture = PushProviders.offered(provider)?.picture(of: body, badge: nil)
        for line in NotificationDrawing(picture, app: Self.app).lines { narrator.write(line) }
    }

    func showFeedback() async throws {
        let page = try await client.get(path("feedback"), [("limit", "1000")], as: .list(of: .feedback))
        let items = page.elements("items")
        for item in items.prefix(3) {
            narrator.write("  \(item.shown("installation")) \(item.shown("verdict")): \(item.shown("reason"))")
        }
        if items.count > 3 { narrator.write("  and \(items.count - 3) more") }
    }

    func suggestions(program: String) -> [String] {
        [
            "export CARILLON_URL=\(client.base) CARILLON_KEY=$(cat \(gateway.keyFile)) CARILLON_APP=\(Self.app)",
            "\(program) devices list --tag news --limit 5",
            "\(program) send --installation \(DemoDevice.first(of: .apns).installation) --title Hello --body World --preview",
            "\(program) send --installation \(DemoDevice.first(of: .apns).installation) --title Hello --body World",
            "\(program) messages list",
            "\(program) keys create backend --app \(Self.app) --scopes devices,messages",
            "curl -H \"Authorization: Bearer $CARILLON_KEY\" $CARILLON_URL/v1/apps/\(Self.app)/feedback",
        ]
    }
}

/// The installation of a number, always the same. Its token names its fate at the stand-ins (docs/simulator.md).
package struct DemoDevice {
    enum Target: Equatable { case apns, sandbox, fcm }

    let number: Int

    init(_ number: Int) { self.number = number }

    /// Says how many of the installations belong to which provider.
    package static func sentence(upTo installations: Int) -> String {
        func count(_ way: Target) -> Int { (1...installations).count { DemoDevice($0).way == way } }
        return "Of phone-1 to phone-\(installations), \(count(.apns)) have tokens of APNs, \(count(.sandbox)) of its "
            + "sandbox, and \(count(.fcm)) of FCM"
    }

    /// The first device whose token is accepted and whose language is not the default.
    static func first(of way: Target) -> DemoDevice {
        var number = 1
        while true {
            let device = DemoDevice(number)
            if device.way == way, device.fate == .live, device.locale == "fr-CA" { return device }
            number += 1
        }
    }

    private enum Fate { case live, dead, busyOnce }

    var installation: String { "phone-\(number)" }

    var way: Target {
        switch number % 10 {
        case 0...4: .apns
        case 5, 6: .sandbox
        default: .fcm
        }
    }

    private var fate: Fate {
        if number % 41 == 0 { return .dead }
        return number % 97 == 0 ? .busyOnce : .live
    }

    var locale: String? { [nil, "en-GB", "fr-CA", "de"][number / 10 % 4] }

    var token: String {
        let digits = String(number, radix: 16)
        switch (way, fate) {
        case (.fcm, .dead): return "UNREGISTERED-garden-\(number)"
        case (.fcm, _): return "garden-\(number):APA91b" + String(repeating: "q", count: 40)
        case (_, .dead): return "dead0100" + padded(digits)
        case (_, .busyOnce): return "dead0801" + padded(digits)
        case (_, .live): return "a11e0000" + padded(digits)
        }
    }

    private func padded(_ digits: String) -> String { String(repeating: "0", count: 56 - digits.count) + digits }

    var registration: String {
        var members = [
            JSONMember("installation", .string(installation)), JSONMember("provider", way == .fcm ? "fcm" : "apns"),
            JSONMember("token", .string(token)), JSONMember("user", .string("user-\(number % 700)")),
            JSONMember("tags", .array(number % 3 == 0 ? ["news"] : number % 3 == 1 ? ["weather"] : [])),
        ]
        if way == .sandbox { members.append(JSONMember("environment", "sandbox")) }
        if way != .fcm { members.append(JSONMember("topic", .string(OwnStandIns.topic))) }
        if let locale { members.append(JSONMember("locale", .string(locale))) }
        return String(decoding: JSONValue.object(JSONObject(members)).bytes, as: UTF8.self)
    }
}
