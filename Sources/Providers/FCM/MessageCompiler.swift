import Content
import JSON
import Model
import ProviderInterface

/// Compiles a message's content to the v1 message that FCM reads.
///
/// The common part is built first. The sender's `fcm` object is then a merge patch (RFC 7396) over it: member by
/// member, null removes a member. Values known only at sending are `true` for now, which no checked patch can put
/// there.
struct FCMMessageCompiler {
    /// Content larger than this cannot shrink to a payload, so it is not merged. It counts one text of the message and
    /// the parts that go to every device.
    private static let contentBytesMax = 4 * FCMLimits.payloadBytesMax
    static let standIn: JSONValue = true

    private let content: MessageContent
    /// The bytes of the part that goes to every device, in any language.
    private let contentBytes: Int
    private let patch: JSONObject
    private let sent: JSONValue
    private let appData: JSONObject
    private let identity: String
    /// The sender's collapse id, or the message's id: a repeated push replaces itself on Android and on the web (P4).
    private let tag: String
    /// The same for Apple's devices. The id has 32 digits, as for APNs itself, so that a phone reached both ways shows
    /// one push.
    private let collapseID: String

    init(_ content: MessageContent, _ message: MessageID) throws(ProviderFault) {
        guard FCMMessage.serves(content.options.pushType) else { throw .pushTypeNotOffered(content.options.pushType) }
        contentBytes = content.sharedBytes(for: .fcm)
        guard contentBytes <= Self.contentBytesMax else {
            throw .payloadTooLarge(bytes: contentBytes, bytesMax: FCMLimits.payloadBytesMax)
        }
        let requested = try content.options.checkedCollapseID(bytesMax: FCMLimits.collapseIDBytesMax)
        self.content = content
        identity = message.value.text
        tag = requested ?? identity
        collapseID = requested ?? identity.filter { $0 != "-" }
        appData = try Self.appData(content)
        sent =
            try content.overrides[.fcm].map { (text) throws(ProviderFault) in try text.value(at: .root / "fcm") }
            ?? .object(JSONObject())
        patch = try FCMOverrideReader.read(sent)
        if content.options.pushType == .background { try checkBackground() }
        if content.badge != .none { try checkBadge() }
    }

    /// Compiles one text of the message. Throws if none of it would be seen or read.
    /// - Parameter locale: the text's locale; nil: it is the common text.
    func variant(_ text: NotificationText?, locale: String?) throws(ProviderFault) -> FCMVariant {
        let bytes = contentBytes + (text?.byteCount ?? 0)
        guard bytes <= Self.contentBytesMax else {
            throw .payloadTooLarge(bytes: bytes, bytesMax: FCMLimits.payloadBytesMax, locale: locale)
        }
        let message = try merged(text)
        return FCMVariant(
            marked: FCMMessageWriter.write(message, content.options),
            measure: FCMMeasure(message, isTemplate: content.isTemplate), isTemplate: content.isTemplate)
    }

    private static func appData(_ content: MessageContent) throws(ProviderFault) -> JSONObject {
        var members: [JSONMember] = []
        for member in content.data {
            let pointer = JSONPointer.root / "data" / member.name
            if FCMReservedNames.isReserved(member.name) { throw .reservedKey(pointer) }
            // FCM takes strings only: other values are sent as their JSON.
            let text = try member.json.value(at: pointer).string ?? Self.nested(member.json, content.isTemplate)
            members.append(JSONMember(member.name, .string(text)))
        }
        return JSONObject(members)
    }

    private static func nested(_ json: JSONText, _ isTemplate: Bool) -> String {
        let text = String(decoding: json.bytes, as: UTF8.self)
        return isTemplate ? PlaceholderMark.nesting(text) : text
    }

}

extension FCMMessageCompiler {
    private func checkBackground() throws(ProviderFault) {
        let isText = content.notification != nil || !content.localizations.isEmpty
        let common = [("notification", isText), ("badge", content.badge != .none), ("sound", content.sound != nil)]
        for (name, isThere) in common where isThere { throw .notForBackground(.root / name) }
        let shown = [
            ["notification"], ["android", "notification"], ["webpush", "notification"],
            ["apns", "payload", "aps", "alert"], ["apns", "payload", "aps", "sound"],
            ["apns", "payload", "aps", "badge"],
        ]
        for path in shown where isGiven(path) { throw .notForBackground(place(path)) }
    }

    /// Refuses a second badge. The registry counts the badge. It would not know of a number given here, and would later
    /// set the device back.
    private func checkBadge() throws(ProviderFault) {
        let badges = [["android", "notification", "notification_count"], ["apns", "payload", "aps", "badge"]]
        for path in badges where isGiven(path) { throw .badgeTwice(place(path)) }
    }

    private func place(_ path: [String]) -> JSONPointer {
        var pointer = JSONPointer.root / "fcm"
        var value: JSONValue? = sent
        for name in path {
            let member = value?.object?.members.first { FCMSpelling.snakeCase($0.name) == name }
            pointer = pointer / (member?.name ?? name)
            value = member?.value
        }
        return pointer
    }

    private func isGiven(_ path: [String]) -> Bool {
        guard !patch.isEmpty, let value = JSONValue.object(patch).value(at: JSONPointer(tokens: path)) else {
            return false
        }
        return !value.isNull
    }

    private func isFilled(_ path: [String]) -> Bool {
        guard !patch.isEmpty, let object = JSONValue.object(patch).value(at: JSONPointer(tokens: path))?.object
        else { return false }
        return object.members.contains { !$0.value.isNull }
    }
}

extension FCMMessageCompiler {
    /// The platforms on which the push is seen, heard or counted.
    private struct Showing {
        let onAndroid: Bool
        let onApple: Bool
        let onWeb: Bool
    }

    private func merged(_ text: NotificationText?) throws(ProviderFault) -> JSONObject {
        var notification = JSONObject()
        notification["title"] = text?.title.map { .string($0) }
        notification["body"] = text?.body.map { .string($0) }
        // Android would show a picture alone as an empty notification.
        if !notification.isEmpty || isGiven(["notification"]) {
            notification["image"] = text?.image.map { .string($0) }
        }
        let showing = showing(notification, text)
        let isAlert = content.options.pushType == .alert
        if isAlert, !showing.onAndroid, !showing.onApple, !showing.onWeb, !hasData {
            throw content.localizations.isEmpty ? .nothingToShow : .noCommonText
        }

        var base = JSONObject()
        if !notification.isEmpty { base["notification"] = .object(notification) }
        let addresses = DataName.addresses(of: text).map { JSONMember($0.name, .string($0.address)) }
        base["data"] = .object(JSONObject(appData.members + addresses))
        base["android"] = .object(android(showing))
        base["apns"] = .object(apns(showing, text))
        base["webpush"] = .object(webpush(showing))
        var message =
            patch.isEmpty ? base : JSONValue.object(base).mergePatched(with: .object(patch)).object ?? JSONObject()
        keepActivityMembers(in: &message)
        finish(&message)
        return message
    }

    private func showing(_ notification: JSONObject, _ text: NotificationText?) -> Showing {
        let common = JSONValue.object(notification).mergePatched(with: patch["notification"] ?? .object(JSONObject()))
            .object
        let isCommon = !(common?.isEmpty ?? true)
        let onApple =
            text?.subtitle != nil || content.sound != nil || content.badge != .none
            || ["alert", "sound", "badge"].contains { isGiven(["apns", "payload", "aps", $0]) }
            || isGiven(["apns", "live_activity_token"])
        return Showing(
            onAndroid: isCommon || isFilled(["android", "notification"]), onApple: isCommon || onApple,
            onWeb: isCommon || isFilled(["webpush", "notification"]))
    }

    private var hasData: Bool {
        !appData.isEmpty || [["data"], ["android", "data"], ["webpush", "data"]].contains(where: isFilled)
            || isGiven(["apns", "payload"])
    }

    private func android(_ showing: Showing) -> JSONObject {
        var android = JSONObject()
        let priority = content.options.priority ?? (showing.onAndroid ? .high : .normal)
        android["priority"] = priority == .high ? "HIGH" : "NORMAL"
        // Four per device, and throttled in bursts: used only if the sender asks for it.
        android["collapse_key"] = content.options.collapseID.map { .string($0) }
        android["ttl"] = Self.standIn
        guard showing.onAndroid else { return android }
        var notification = JSONObject([JSONMember("tag", .string(tag))])
        notification["sound"] = content.sound.map { .string($0) }
        notification["channel_id"] = content.presentation.channel.map { .string($0) }
        notification["notification_priority"] = content.presentation.interruption.map { .string(Self.priority(of: $0)) }
        if content.badge != .none { notification["notification_count"] = Self.standIn }
        android["notification"] = .object(notification)
        return android
    }

    /// How prominent Android shows it, which is not how fast it is delivered.
    ///
    /// Source: Firebase, "AndroidNotification", NotificationPriority.
    private static func priority(of level: InterruptionLevel) -> String {
        switch level {
        case .passive: "PRIORITY_LOW"
        case .active: "PRIORITY_DEFAULT"
        case .timeSensitive: "PRIORITY_HIGH"
        case .critical: "PRIORITY_MAX"
        }
    }

    private func apns(_ showing: Showing, _ text: NotificationText?) -> JSONObject {
        var headers = JSONObject()
        var aps = JSONObject()
        if showing.onApple {
            headers["apns-priority"] = content.options.priority.map { $0 == .high ? "10" : "5" }
        } else {
            // Apple takes a push that shows nothing as a background push, without hurry or not at all.
            headers["apns-push-type"] = "background"
            headers["apns-priority"] = "5"
            aps["content-available"] = 1
        }
        headers["apns-collapse-id"] = .string(collapseID)
        headers["apns-expiration"] = Self.standIn
        if let subtitle = text?.subtitle {
            // Only this alert can have a subtitle, and it replaces the common notification as a whole.
            var alert = JSONObject()
            alert["title"] = text?.title.map { .string($0) }
            alert["subtitle"] = .string(subtitle)
            alert["body"] = text?.body.map { .string($0) }
            aps["alert"] = .object(alert)
        }
        aps["sound"] = NotificationExtras.sound(content)
        for member in NotificationExtras.aps(content, text) { aps[member.name] = member.value }
        if content.badge != .none { aps["badge"] = Self.standIn }
        return JSONObject([
            JSONMember("payload", .object(JSONObject([JSONMember("aps", .object(aps))]))),
            JSONMember("headers", .object(headers)),
        ])
    }

    private func webpush(_ showing: Showing) -> JSONObject {
        var webpush = JSONObject([JSONMember("headers", .object(JSONObject([JSONMember("TTL", Self.standIn)])))])
        if showing.onWeb { webpush["notification"] = .object(JSONObject([JSONMember("tag", .string(tag))])) }
        return webpush
    }

    private func keepActivityMembers(in message: inout JSONObject) {
        guard let sent = patch["apns"]?.object?["payload"]?.object?["aps"]?.object, var apns = message["apns"]?.object,
            var payload = apns["payload"]?.object, let aps = payload["aps"]?.object
        else { return }
        payload["aps"] = .object(aps.keepingActivityMembers(of: sent))
        apns["payload"] = .object(payload)
        message["apns"] = .object(apns)
    }

    /// Completes the patched message: its data, and no empty objects.
    private func finish(_ message: inout JSONObject) {
        completeData(of: &message)
        guard var apns = message["apns"]?.object, var payload = apns["payload"]?.object else { return }
        if payload["aps"]?.object?.isEmpty ?? false { payload["aps"] = nil }
        apns["payload"] = payload.isEmpty ? nil : .object(payload)
        message["apns"] = .object(apns)
    }

    /// Adds the push's identity. A platform's own data replaces the common one as a whole, so the identity and the
    /// notification's addresses are added to it too.
    private func completeData(of message: inout JSONObject) {
        var shared = message["data"]?.object ?? JSONObject()
        if content.options.carriesIdentity {
            shared[FCMReservedNames.identity] = .string(identity)
            message["data"] = .object(shared)
        }
        for platform in ["android", "webpush"] {
            guard var config = message[platform]?.object, var own = config["data"]?.object else { continue }
            for name in [FCMReservedNames.identity] + DataName.all where own[name] == nil { own[name] = shared[name] }
            config["data"] = .object(own)
            message[platform] = .object(config)
        }
    }
}
