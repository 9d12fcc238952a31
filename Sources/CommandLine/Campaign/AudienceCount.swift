import JSON

/// The gateway's count of an audience, in words.
package struct AudienceCount {
    private let answer: JSONValue
    private static let zonesShown = 8

    package init(_ answer: JSONValue) { self.answer = answer }

    /// Whether the gateway counted to the end. Otherwise there may be more devices.
    package var isExact: Bool { answer.object?["exact"]?.bool == true }

    /// "1,204".
    package var number: String { Self.grouped(answer.count("count")) }

    /// "1,204 devices", or "at least 10,000 devices".
    package var sentence: String { atLeast + Self.devices(answer.count("count")) }

    private var atLeast: String { isExact ? "" : "at least " }

    /// The parts by provider and by language, and by time zone if asked.
    package func parts(withZones: Bool) -> [String] {
        let kinds = [("provider", "by provider"), ("language", "by language"), ("time_zone", "by time zone")]
        return kinds.filter { withZones || $0.0 != "time_zone" }.compactMap { member, title in
            let parts = counts(member)
            guard !parts.isEmpty else { return nil }
            let shown = parts.prefix(Self.zonesShown).map { "\(Self.name($0.name)) \(Self.grouped($0.count))" }
            let others = parts.dropFirst(Self.zonesShown).map(\.count).sum
            return "  \(title): "
                + (shown + (others > 0 ? ["others \(Self.grouped(others))"] : [])).joined(separator: ", ")
        }
    }

    /// The devices whose hour has passed already and what happens to them, and whose clock decides for devices without
    /// a time zone.
    ///
    /// - Parameter appZone: the app's time zone; nil: not known.
    package func hourLines(appZone: String?, sendsPassed: Bool) -> [String] {
        var lines: [String] = []
        if let passed = answer.object?["passed"]?.integer {
            lines.append(
                passed == 0
                    ? "  This hour has passed for no device yet" + (isExact ? "." : " among those that were counted.")
                    : "  This hour has passed already for \(atLeast)\(Self.devices(passed)): "
                        + (sendsPassed
                            ? "they get the message at once."
                            : "they get nothing (--local-time-passed send sends it to them at once)."))
        }
        let without = answer.object?["by"]?.object?["time_zone"]?.count("none") ?? 0
        if without > 0 {
            let zone = appZone.map { TerminalText.clean($0) } ?? "the app's time zone, else UTC"
            lines.append("  \(atLeast)\(Self.devices(without)) without a time zone: the app's clock decides (\(zone)).")
        }
        return lines
    }

    /// The most frequent first. Devices without a value, and the gateway's sum of others, go last.
    private func counts(_ member: String) -> [(name: String, count: Int64)] {
        let parts = (answer.object?["by"] ?? .null).members(member).map {
            (name: $0.name, count: $0.value.integer ?? 0)
        }
        let last = ["none", "other"]
        let named = parts.filter { !last.contains($0.name) }.enumerated().sorted { one, other in
            (other.element.count, one.offset) < (one.element.count, other.offset)
        }
        return named.map(\.element) + parts.filter { last.contains($0.name) }
    }

    private static func name(_ name: String) -> String {
        switch name {
        case "none": "not known"
        case "other": "others"
        default: TerminalText.clean(name)
        }
    }

    private static func devices(_ count: Int64) -> String { count == 1 ? "1 device" : "\(grouped(count)) devices" }

    /// Groups digits: 1,000 for 1000.
    static func grouped(_ count: Int64) -> String {
        var text = ""
        for (place, digit) in String(count).reversed().enumerated() {
            if place > 0, place.isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}

extension GatewayClient {
    /// Counts the devices that a message would reach if it were sent now.
    func count(_ message: JSONObject, app: String) async throws(CommandFault) -> JSONValue {
        let asked = message.members.filter { $0.name == "audience" || $0.name == "options" }
        return try await send(
            "POST", "/v1/apps/\(Self.escaped(app))/audience", .object(JSONObject(asked)), as: .audienceCount)
    }

    /// The time zone of the app's clock; nil: not known.
    func timeZone(ofApp app: String) async -> String? {
        guard let answer = try? await get("/v1/apps/\(Self.escaped(app))", as: .app) else { return nil }
        return answer.object?["settings"]?.object?["time_zone"]?.string ?? "UTC"
    }
}
