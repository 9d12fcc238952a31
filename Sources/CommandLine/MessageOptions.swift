import ArgumentParser
import JSON

struct MessageOptions: ParsableArguments {
    @Option(
        help: .value("path", "The whole message as JSON; the options below override it."),
        completion: .file(extensions: ["json"]))
    var file: String?
    @Option(help: "The title.") var title: String?
    @Option(help: "The subtitle (iPhones).") var subtitle: String?
    @Option(help: "The text.") var body: String?
    @Option(help: "increment, or a number.", completion: .list(["increment"])) var badge: String?
    @Option(help: "A sound's file name, or default.", completion: .list(["default"])) var sound: String?
    @Option(help: .value("name=text", "A member of data, as text; repeatable.")) var data: [String] = []
    @Option(help: "high or normal.", completion: .list(["high", "normal"])) var priority: String?
    @Option(help: .value("type", "alert, background, voip, ..."), completion: OptionValues.pushTypes)
    var pushType: String?
    @Option(help: .value("seconds", "How long the message may be delivered.")) var ttl: Int?
    @Option(
        name: .customLong("at"),
        help: .value("2026-12-01T12:00:00Z", "Schedules the message for this time; does not wait."))
    var sendAt: String?
    @Flag(help: "With --at 2026-12-01T12:00:00: sends at that local time of each device (or of the app).")
    var deviceLocalTime = false
    @Option(
        help: .value(
            "suppress|send", "With --device-local-time: suppress (default) or send at once where the time has passed."),
        completion: .list(["suppress", "send"]))
    var localTimePassed: String?
    @Option(help: .value("number", "The maximum number of pushes per second.")) var rate: Int?
    @Option(help: .value("id", "A later push with the same id replaces this one.")) var collapseID: String?
    @Flag(help: "Sends during the app's quiet hours too.") var ignoreQuietHours = false
    @Flag(help: "Sends to users who have reached the app's daily cap too.") var ignoreDailyCap = false
    @Flag(help: "Checks the message (FCM validates it too); delivers nothing.") var dryRun = false

    func members() throws(CommandFault) -> [JSONMember] {
        var members: [JSONMember] = []
        if let file { members = try Self.object(inFile: file).members }
        let text = pairs([("title", title), ("subtitle", subtitle), ("body", body)])
        merge(text, into: "notification", of: &members)
        if let badge { replace("badge", Int64(badge).map { .number(.whole($0)) } ?? .string(badge), in: &members) }
        if let sound { replace("sound", .string(sound), in: &members) }
        merge(try dataMembers(), into: "data", of: &members)
        var options = pairs([
            ("priority", priority), ("push_type", pushType), ("collapse_id", collapseID), ("send_at", sendAt),
            ("local_time_passed", localTimePassed),
        ])
        if let ttl { options.append(JSONMember("ttl_seconds", .number(.whole(Int64(ttl))))) }
        if deviceLocalTime { options.append(JSONMember("device_local_time", true)) }
        if ignoreQuietHours { options.append(JSONMember("ignore_quiet_hours", true)) }
        if ignoreDailyCap { options.append(JSONMember("ignore_daily_cap", true)) }
        if let rate { options.append(JSONMember("rate_per_second", .number(.whole(Int64(rate))))) }
        if dryRun { options.append(JSONMember("dry_run", true)) }
        merge(options, into: "options", of: &members)
        return members
    }

    private static func object(inFile path: String) throws(CommandFault) -> JSONObject {
        let bytes = try contents(ofFile: path)
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(bytes) } catch {
            throw CommandFault(.usage, "\(path) can't be read as a message: \(error.sentence)")
        }
        guard let object = value.object else {
            throw CommandFault(.usage, "\(path) holds \(value.kindName); a message must be a JSON object, {...}")
        }
        return object
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
