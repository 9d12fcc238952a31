import ArgumentParser
import JSON

struct AppSettingsCommand: GatewayCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Shows an app's settings, and changes those that are given.",
        examples: [
            "carillon apps settings garden",
            "carillon apps settings garden --time-zone Europe/Paris --quiet-hours 22:00-07:30 --daily-cap 3",
            "carillon apps settings garden --quiet-hours none",
        ])
    @OptionGroup(title: "Gateway") var gateway: GatewayOptions
    @Argument(help: "The app.") var slug: String
    @Option(help: .value("Europe/Paris", "The time zone of the app's days, and of devices without their own."))
    var timeZone: String?
    @Option(
        help: .value("22:00-07:30", "When no device is disturbed, in its local time; none: no quiet hours."),
        completion: .list(["none"]))
    var quietHours: String?
    @Option(
        help: .value("number", "The maximum number of messages per user and day; none: no limit."),
        completion: .list(["none"]))
    var dailyCap: String?

    func ask(_ client: GatewayClient) async throws -> Output {
        let settings = try changes()
        let path = "/v1/apps/" + GatewayClient.escaped(slug)
        let app =
            settings.isEmpty
            ? try await client.get(path, as: .app)
            : try await client.send("PATCH", path, ["settings": .object(settings)], as: .app)
        return Output(app) {
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

    private func changes() throws(CommandFault) -> JSONObject {
        var settings = JSONObject()
        settings["time_zone"] = timeZone.map(JSONValue.string)
        if let quietHours { settings["quiet_hours"] = try Self.hours(quietHours) }
        if let dailyCap { settings["daily_cap"] = try Self.cap(dailyCap) }
        return settings
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
