import ArgumentParser
import JSON

struct MessageOptions: ParsableArguments {
    @Option(
        help: .value("path", "The whole message as JSON; the options below override it."),
        completion: .file(extensions: ["json"]))
    var file: String?
    @OptionGroup var texts: TextOptions
    @OptionGroup var name: NameOption
    @Option(help: "increment, or a number.", completion: .list(["increment"])) var badge: String?
    @Option(help: "A sound's file name, or default.", completion: .list(["default"])) var sound: String?
    @Option(help: .value("name=text", "A member of data, as text; repeatable.")) var data: [String] = []
    @Option(help: "high or normal.", completion: .list(["high", "normal"])) var priority: String?
    @Option(help: .value("type", "alert, background, voip, ..."), completion: OptionValues.pushTypes)
    var pushType: String?
    @Option(help: .value("seconds", "How long the message may be delivered.")) var ttl: Int?
    @OptionGroup var hour: HourOption
    @Flag(help: "The time of --at is that of each device's own clock (or of the app's).")
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
        let texts = try texts.given()
        if !texts.isEmpty {
            let stored = members.first { $0.name == "notification" }?.value.object ?? JSONObject()
            replace("notification", .object(texts.notification(over: stored)), in: &members)
        }
        if let name = name.name { replace("name", .string(name), in: &members) }
        if let badge { replace("badge", Int64(badge).map { .number(.whole($0)) } ?? .string(badge), in: &members) }
        if let sound { replace("sound", .string(sound), in: &members) }
        merge(try dataMembers(), into: "data", of: &members)
        let asked = try hour.asked()
        let isDeviceLocal = deviceLocalTime || JSONValue.object(JSONObject(members)).isAtLocalHour
        var options = pairs([
            ("priority", priority), ("push_type", pushType), ("collapse_id", collapseID),
            ("send_at", asked?.sendAt(isDeviceLocal: isDeviceLocal, zone: .current)),
            ("local_time_passed", localTimePassed),
        ])
        if let ttl { options.append(JSONMember("ttl_seconds", .number(.whole(Int64(ttl))))) }
        if deviceLocalTime { options.append(JSONMember("device_local_time", true)) }
        if ignoreQuietHours { options.append(JSONMember("ignore_quiet_hours", true)) }
        if ignoreDailyCap { options.append(JSONMember("ignore_daily_cap", true)) }
        if let rate { options.append(JSONMember("rate_per_second", .number(.whole(Int64(rate))))) }
        if dryRun { options.append(JSONMember("dry_run", true)) }
        merge(options, into: "options", of: &members)
        return asked == .now ? JSONObject(members).sentNow.members : members
    }

    private static func object(inFile path: String) throws(CommandFault) -> JSONObject {
        let bytes = try contents(ofFile: path)
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(bytes) } catch {
            throw CommandFault(.usage, "\(path): \(error.sentence)")
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

extension JSONObject {
    private static let ofHour = ["send_at", "device_local_time", "local_time_passed"]

    /// The same message without an hour.
    var sentNow: JSONObject {
        JSONObject(
            members.map { member in
                guard member.name == "options", let options = member.value.object else { return member }
                let others = options.members.filter { !Self.ofHour.contains($0.name) }
                return JSONMember("options", .object(JSONObject(others)))
            })
    }
}
