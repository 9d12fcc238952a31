import Content
import JSON
import Model
import ProviderInterface
import Providers

package enum MessageLimits {
    /// The most `localizations`: each is compiled, and checked, for every provider.
    package static let localizationsMax = 64
    /// Longer text could not fit any provider's payload.
    static let textBytesMax = 5_120
    static let collapseIDBytesMax = 1_024
    /// The most elements of `apns` as a list: each is a message of its own.
    package static let recordsMax = 16
}

package struct MessageRequest: Equatable, Sendable {
    /// One content, or one for each record if `apns` is a list. Each is sent as one push, in order.
    package let contents: [MessageContent]
    /// Whether `apns` is a list of records, even of a single one.
    package let isList: Bool
    package let audience: Audience
    /// The time to send; nil for at once.
    package let sendAt: SendHour?
    /// Pushes a second; nil for as fast as the providers take them.
    package let ratePerSecond: Int32?
    package let name: String?

    /// Reads the body of `POST .../messages`. The compiler finds what a provider would refuse.
    package static func read(_ body: [UInt8]) throws(Problem) -> MessageRequest {
        var reader = try EnvelopeReader(body: body)
        let name = try reader.messageName()
        let audience = try AudienceRequest.read(&reader)
        for provider in Provider.allCases where PushProviders.offered(provider) == nil {
            try reader.notYet(provider.name)
        }
        let shown = try GivenNotification.read(&reader)
        let (options, sendAt, rate) = try readOptions(&reader)
        var content = MessageContent(
            notification: shown.text, localizations: shown.localizations, presentation: shown.presentation,
            badge: try readBadge(&reader), sound: try reader.string("sound", bytesMax: MessageLimits.textBytesMax),
            data: try readMembers(&reader), options: options)
        var records: (provider: Provider, texts: [JSONText])?
        for provider in PushProviders.offered {
            if provider.takesRecords, let texts = try readRecords(provider.id, &reader) {
                if case .local = sendAt { throw .localHourOfRecords }
                records = (provider.id, texts)
            } else {
                content.overrides[provider.id] = try readOverrides(provider.id, &reader)
            }
        }
        try reader.end()
        try checkKind(of: audience, content.options.pushType)
        content.isTemplate = content.hasBraces
        let contents =
            records.map { records in
                records.texts.map { record in
                    var own = content
                    own.overrides[records.provider] = record
                    own.isTemplate = content.isTemplate || TemplateText.hasOpening(record.bytes.span)
                    return own
                }
            } ?? [content]
        return MessageRequest(
            contents: contents, isList: records != nil, audience: audience, sendAt: sendAt, ratePerSecond: rate,
            name: name)
    }

    /// Refuses a kind that the push type can't reach: the provider would refuse its tokens one by one.
    package static func checkKind(of audience: Audience, _ type: PushType) throws(Problem) {
        let kinds = PushProviders.tokenKinds(of: type)
        guard let kind = audience.kind, let usual = kinds.first, !kinds.contains(kind) else { return }
        throw Problem(
            .notForPushType,
            "A push of type \(type.name) goes to tokens of the kind \(usual.name). Leave kind out, or name the "
                + "push type of \(kind.name) in options.push_type.", at: .root / "audience" / "kind")
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

    static func readMembers(_ reader: inout EnvelopeReader) throws(Problem) -> [DataMember] {
        guard let value = reader.take("data") else { return [] }
        let pointer = reader.pointer / "data"
        let object = try value.members(at: pointer)
        var members: [DataMember] = []
        members.reserveCapacity(object.count)
        // Null is absence here too: FCM's texts have no null, and Apple's devices may drop a notification with one.
        for member in object.members where !member.value.isNull {
            guard !member.name.isEmpty else {
                throw Problem(.invalidValue, "A key of data is empty; FCM requires a name.", at: pointer / member.name)
            }
            // No message may use these, whichever provider it reaches. FCM's compiler refuses FCM's reserved names.
            guard !(["aps", "carillon_id"] + DataName.all).contains(member.name) else {
                throw Problem(
                    .reservedKey, "This name is reserved for APNs or the gateway; choose another one.",
                    at: pointer / member.name)
            }
            members.append(DataMember(name: member.name, json: JSONText(member.value)))
        }
        return members
    }

    static func readOptions(
        _ message: inout EnvelopeReader
    ) throws(Problem) -> (MessageOptions, sendAt: SendHour?, ratePerSecond: Int32?) {
        guard var reader = try message.object("options") else { return (MessageOptions(), nil, nil) }
        let sendAt = try reader.sendHour()
        let rate = try reader.integer("rate_per_second", ChangeRequest.perSecond)
        let ignored = try reader.ignoredLimits()
        var options = MessageOptions(
            priority: try reader.choice("priority"),
            ttlSeconds: try reader.integer("ttl_seconds", 0...MessageOptions.ttlSecondsMax),
            collapseID: try reader.string("collapse_id", bytesMax: MessageLimits.collapseIDBytesMax),
            pushType: try reader.choice("push_type") ?? .alert, isDryRun: try reader.bool("dry_run") ?? false)
        options.ignored = ignored
        try reader.end()
        return (options, sendAt, rate)
    }

    /// Reads a list of records in the provider's form; nil if its member is no list.
    private static func readRecords(
        _ provider: Provider, _ reader: inout EnvelopeReader
    ) throws(Problem) -> [JSONText]? {
        guard let values = reader.peek(provider.name)?.array else { return nil }
        _ = reader.take(provider.name)
        let pointer = reader.pointer / provider.name
        guard !values.isEmpty, values.count <= MessageLimits.recordsMax else {
            throw Problem(
                .invalidValue, "A list of records must have 1 to \(MessageLimits.recordsMax) records.", at: pointer)
        }
        return try values.enumerated().map { (place, value) throws(Problem) in
            try JSONText(.object(value.members(at: pointer / place)))
        }
    }

    /// Reads an object that is passed through as it is. The provider's module checks its members.
    static func readOverrides(
        _ provider: Provider, _ reader: inout EnvelopeReader
    ) throws(Problem) -> JSONText? {
        guard let value = reader.take(provider.name) else { return nil }
        return try JSONText(.object(value.members(at: reader.pointer / provider.name)))
    }
}

extension EnvelopeReader {
    /// Takes the options of a message that ignore an app's limits for its users.
    fileprivate mutating func ignoredLimits() throws(Problem) -> AppLimits {
        var ignored: AppLimits = []
        if try bool("ignore_quiet_hours") == true { ignored.insert(.quietHours) }
        if try bool("ignore_daily_cap") == true { ignored.insert(.dailyCap) }
        return ignored
    }
}

extension MessageContent {
    /// Whether two opening braces stand side by side. Outside of its texts, JSON without white space has none.
    package var hasBraces: Bool {
        let texts = [notification].compactMap(\.self) + localizations.map(\.text)
        let shown =
            texts.flatMap { text in NotificationPart.allCases.map { text[$0] } }
            + [presentation.category, presentation.channel, presentation.thread, sound, options.collapseID]
        return shown.contains { $0.map(TemplateText.isOne) ?? false }
            || data.contains { TemplateText.isOne($0.name) || TemplateText.hasOpening($0.json.bytes.span) }
            || overrides.providers.contains { overrides[$0].map { TemplateText.hasOpening($0.bytes.span) } ?? false }
    }
}
