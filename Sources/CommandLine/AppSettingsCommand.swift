import ArgumentParser
import JSON

/// `carillon apps settings`: an app's settings.
struct AppSettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Shows an app's settings, and changes those that are given.",
        discussion: HelpText.of(examples: [
            "carillon apps settings garden",
            "carillon apps settings garden --time-zone Europe/Paris --quiet-hours 22:00-07:30 --daily-cap 3",
            "carillon apps settings garden --quiet-hours none",
        ]))
    @OptionGroup(title: "Gateway") var gateway: GatewayOptions
    @Argument(help: "The app.") var slug: String
    @Option(
        help: ArgumentHelp(
            "The time zone of the app's days, and of devices without their own.", valueName: "Europe/Paris"))
    var timeZone: String?
    @Option(
        help: ArgumentHelp(
            "When no device is disturbed, in its local time; none: no quiet hours.", valueName: "22:00-07:30"),
        completion: .list(["none"]))
    var quietHours: String?
    @Option(
        help: ArgumentHelp("The maximum number of messages per user and day; none: no limit.", valueName: "number"),
        completion: .list(["none"]))
    var dailyCap: String?

    func run() async throws {
        try await orComplain(asJSON: gateway.json) {
            let settings = try changes()
            let path = "/v1/apps/" + GatewayClient.escaped(slug)
            let client = try gateway.client()
            let app =
                settings.isEmpty
                ? try await client.get(path, as: .app)
                : try await client.send("PATCH", path, ["settings": .object(JSONObject(settings))], as: .app)
            if gateway.json { return writeJSON(app) }
            for line in Self.lines(app.object?["settings"] ?? .null) { Console.write(line) }
        }
    }

    private static func lines(_ settings: JSONValue) -> [String] {
        let hours = settings.object?["quiet_hours"] ?? .null
        let cap = settings.object?["daily_cap"] ?? .null
        return [
            "time zone    " + settings.shown("time_zone"),
            "quiet hours  " + (hours.isNull ? "none" : hours.shown("from") + " to " + hours.shown("to")),
            "daily cap    " + (cap.isNull ? "none" : settings.shown("daily_cap")),
        ]
    }

    private func changes() throws(CommandFault) -> [JSONMember] {
        var members: [JSONMember] = []
        if let timeZone { members.append(JSONMember("time_zone", .string(timeZone))) }
        if let quietHours { members.append(JSONMember("quiet_hours", try Self.hours(quietHours))) }
        if let dailyCap { members.append(JSONMember("daily_cap", try Self.cap(dailyCap))) }
        return members
    }

    /// The gateway validates the hours.
    private static func hours(_ text: String) throws(CommandFault) -> JSONValue {
        if text == "none" { return .null }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw CommandFault(.usage, "--quiet-hours takes a time range, such as 22:00-07:30, or none")
        }
        return ["from": .string(String(parts[0])), "to": .string(String(parts[1]))]
    }

    private static func cap(_ text: String) throws(CommandFault) -> JSONValue {
        if text == "none" { return .null }
        guard let number = Int64(text) else { throw CommandFault(.usage, "--daily-cap takes a whole number, or none") }
        return .number(.whole(number))
    }
}
