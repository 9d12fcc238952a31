import JSON
import PushModel

/// How much one message may say, before its provider's own limits.
package enum MessageLimits {
    package static let installationsMax = 10_000
    /// Longer could not fit any provider's payload.
    static let textBytesMax = 5_120
    static let collapseIDBytesMax = 1_024
}

/// A message as it was asked for: what to say, and to whom.
package struct MessageRequest: Equatable, Sendable {
    package let content: MessageContent
    package let audience: Audience

    /// From the bytes of `POST .../messages`. What a provider would refuse of it is found later, when it is compiled.
    package static func read(_ body: [UInt8]) throws(Problem) -> MessageRequest {
        var reader = try EnvelopeReader(body: body)
        let audience = try readAudience(&reader)
        for provider in ["fcm", "hms", "webpush"] { try reader.notYet(provider) }
        let content = MessageContent(
            notification: try readNotification(&reader), badge: try readBadge(&reader),
            sound: try reader.string("sound", bytesMax: MessageLimits.textBytesMax), data: try readMembers(&reader),
            options: try readOptions(&reader), apns: try readAPNs(&reader))
        try reader.end()
        return MessageRequest(content: content, audience: audience)
    }

    private static func readAudience(_ message: inout EnvelopeReader) throws(Problem) -> Audience {
        let meaning = "who is to get the message: {\"all\": true} or {\"installations\": [...]}"
        var reader = try EnvelopeReader(try message.required("audience", meaning), at: message.pointer / "audience")
        for name in ["tokens", "users", "tags", "filter", "providers", "kind"] { try reader.notYet(name) }
        let everyone = try reader.bool("all")
        let installations = try reader.array("installations", countMax: MessageLimits.installationsMax)
        try reader.end()
        switch (everyone, installations) {
        case (true?, nil): return .all
        case (nil, let elements?): return .installations(try names(elements, at: reader.pointer / "installations"))
        case (false?, _):
            throw Problem(.invalidValue, "all can only be true; leave it out otherwise.", at: reader.pointer / "all")
        case (true?, _?), (nil, nil):
            throw Problem(
                .invalidValue, "An audience names exactly one of all and installations.", at: reader.pointer)
        }
    }

    private static func names(_ elements: [JSONValue], at pointer: JSONPointer) throws(Problem) -> [String] {
        var names = DistinctTexts()
        for (place, element) in elements.enumerated() {
            names.add(try element.text(bytesMax: RegistrationLimits.installationBytesMax, at: pointer / place))
        }
        return names.texts
    }

    private static func readNotification(_ message: inout EnvelopeReader) throws(Problem) -> NotificationText? {
        guard var reader = try message.object("notification") else { return nil }
        try reader.notYet("localizations")
        let text = NotificationText(
            title: try reader.shownText("title"), subtitle: try reader.shownText("subtitle"),
            body: try reader.shownText("body"))
        try reader.end()
        return text
    }

    private static func readBadge(_ reader: inout EnvelopeReader) throws(Problem) -> BadgeChange {
        guard let value = reader.take("badge") else { return .none }
        let pointer = reader.pointer / "badge"
        if value.string == "increment" { return .increment }
        guard let badge = value.integer.flatMap(Int32.init(exactly:)), badge >= 0 else {
            throw Problem(
                .invalidValue, "A badge is \"increment\" or a whole number from 0 to \(Int32.max).", at: pointer)
        }
        return .value(badge)
    }

    private static func readMembers(_ reader: inout EnvelopeReader) throws(Problem) -> [DataMember] {
        guard let value = reader.take("data") else { return [] }
        let pointer = reader.pointer / "data"
        guard let object = value.object else { throw .wrongType(value, "an object", at: pointer) }
        var members: [DataMember] = []
        members.reserveCapacity(object.count)
        for member in object.members {
            guard !isReserved(member.name) else {
                throw Problem(
                    .reservedKey, "This name belongs to a provider or to the gateway; choose another one.",
                    at: pointer / member.name)
            }
            members.append(DataMember(name: member.name, json: JSONText(member.value)))
        }
        return members
    }

    /// Names that some provider refuses or overwrites, refused for all, so that a message fits every device.
    private static func isReserved(_ name: String) -> Bool {
        let bytes = name.utf8
        return ["", "aps", "from", "message_type", "notification", "carillon_id"].contains(name)
            || bytes.starts(with: "google.".utf8) || bytes.starts(with: "gcm.".utf8)
    }

    private static func readOptions(_ message: inout EnvelopeReader) throws(Problem) -> MessageOptions {
        guard var reader = try message.object("options") else { return MessageOptions() }
        try reader.notYet("send_at")
        try reader.notYet("rate_per_second")
        // false asks for what is done anyway.
        for name in ["device_local_time", "dry_run"] where try reader.bool(name) == true {
            throw Problem(
                .notSupported, "\(name) is not offered by this version. Leave it out.", at: reader.pointer / name)
        }
        let options = MessageOptions(
            priority: try reader.word("priority", PushPriority.allCases.map(\.name), PushPriority.init(name:)),
            ttlSeconds: try reader.integer("ttl_seconds", 0...MessageOptions.ttlSecondsMax),
            collapseID: try reader.string("collapse_id", bytesMax: MessageLimits.collapseIDBytesMax),
            pushType: try reader.word("push_type", PushType.allCases.map(\.name), PushType.init(name:)) ?? .alert)
        try reader.end()
        return options
    }

    /// Passed through as it is; room APNs knows what is inside.
    private static func readAPNs(_ reader: inout EnvelopeReader) throws(Problem) -> JSONText? {
        guard let value = reader.take("apns") else { return nil }
        guard value.object != nil else { throw .wrongType(value, "an object", at: reader.pointer / "apns") }
        return JSONText(value)
    }
}

extension EnvelopeReader {
    /// What a person reads may be empty; a line of its own may stand in it.
    fileprivate mutating func shownText(_ name: String) throws(Problem) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw .wrongType(value, "a string", at: pointer / name) }
        return text
    }
}
