import Basis
import Content
import JSON
import Model
import ProviderInterface

/// Compiles a message's content to the JSON that APNs reads: one payload for the common text, one for each
/// localization.
///
/// The common part is built first. The sender's `apns` object is then a merge patch (RFC 7396) over it: member by
/// member, null removes a member. The result is checked, whichever part a member came from.
struct APNsPayloadCompiler {
    /// Content larger than this cannot shrink to a payload, so it is not merged. It counts one text of the message and
    /// the parts that go to every device.
    private static let contentBytesMax = 4 * APNsLimits.voipPayloadBytesMax

    private let content: MessageContent
    private let row: APNsPushTypeRow
    private let acceptedAt: WallInstant
    /// The bytes of the part that goes to every device, in any language.
    private let contentBytes: Int
    /// The part of the sender's `apns` object that patches `aps`.
    private let apsPatch: JSONObject
    /// The sender's data, and the part of the sender's `apns` object that patches the members beside `aps`.
    private let data: JSONObject
    private let besidePatch: JSONObject

    /// Compiles the payloads. Index 0 has the common text, index i that of `content.localizations[i - 1]`.
    static func compile(
        _ content: MessageContent, _ row: APNsPushTypeRow, acceptedAt: WallInstant
    ) throws(ProviderFault) -> (payloads: [CompiledAPNsPayload], isActivityStart: Bool) {
        try APNsPayloadRules.checkCommonPart(content, row)
        let compiler = try APNsPayloadCompiler(content, row, acceptedAt)
        let texts = LocaleTable.texts(content.notification, content.localizations)
        let common = try compiler.aps(texts[0], locale: nil)
        let neighbours = compiler.neighbours(of: texts[0])
        try APNsPayloadRules.check(aps: common, beside: neighbours, content, row.type)
        let tail = compiler.tail(behind: common, neighbours)
        var payloads = [compiler.payload(common, tail)]
        // A common part that is too large is so in every language: it is compiled once, not 64 times.
        try compiler.checkSizes(payloads)
        for (localization, text) in zip(content.localizations, texts.dropFirst()) {
            let aps = try compiler.aps(text, locale: localization.locale)
            // Most messages have one link for all languages, so that these share the array.
            let isShared = text?.image == texts[0]?.image && text?.link == texts[0]?.link
            payloads.append(
                compiler.payload(aps, isShared ? tail : compiler.tail(behind: aps, compiler.neighbours(of: text))))
        }
        try compiler.checkSizes(payloads)
        return (payloads, common["event"]?.string == "start")
    }

    private init(_ content: MessageContent, _ row: APNsPushTypeRow, _ acceptedAt: WallInstant) throws(ProviderFault) {
        (self.content, self.row, self.acceptedAt) = (content, row, acceptedAt)
        contentBytes = content.sharedBytes(for: .apns)
        guard contentBytes <= Self.contentBytesMax else {
            throw .payloadTooLarge(bytes: contentBytes, bytesMax: row.payloadBytesMax)
        }
        var patch = try Self.patch(content)
        if patch["aps"] != nil, row.aps == .never { throw .notForType(row.type, .root / "apns" / "aps") }
        apsPatch = patch["aps"]?.object ?? JSONObject()
        patch["aps"] = nil
        var members: [JSONMember] = []
        for member in content.data {
            let pointer = JSONPointer.root / "data" / member.name
            if member.name == "aps" { throw .reservedKey(pointer) }
            members.append(JSONMember(member.name, try member.json.value(at: pointer)))
        }
        (data, besidePatch) = (JSONObject(members), patch)
    }

    /// The members beside `aps`: the sender's data and the text's addresses, with the patch applied.
    private func neighbours(of text: NotificationText?) -> JSONObject {
        let addresses = DataName.addresses(of: text).map { JSONMember($0.name, .string($0.address)) }
        let members = JSONObject(data.members + addresses)
        return JSONValue.object(members).mergePatched(with: .object(besidePatch)).object ?? JSONObject()
    }

    private static func patch(_ content: MessageContent) throws(ProviderFault) -> JSONObject {
        let pointer = JSONPointer.root / "apns"
        guard let text = content.overrides[.apns] else { return JSONObject() }
        guard let patch = try text.value(at: pointer).object else { throw .wrongValue(pointer, expected: "an object") }
        if let name = memberInFCMsForm(of: patch) { throw .inFCMsForm(pointer / name) }
        if let aps = patch["aps"] {
            guard let members = aps.object else { throw .wrongValue(pointer / "aps", expected: "an object") }
            // The registry counts the badge. It would not know of a number given here, and would later set the phone
            // back.
            if content.badge != .none, members["badge"] != nil { throw .badgeTwice }
        }
        return patch
    }

    /// Returns a member that has a meaning in FCM's `apns` object, and that a phone would get as data here; nil: none.
    private static func memberInFCMsForm(of patch: JSONObject) -> String? {
        if patch["payload"]?.object?["aps"] != nil { return "payload" }
        let headers = patch["headers"]?.object?.members ?? []
        if headers.contains(where: { $0.name.lowercased().utf8.starts(with: "apns-".utf8) }) { return "headers" }
        return ["fcm_options", "fcmOptions"].first { patch[$0]?.object != nil }
    }

    private func aps(_ text: NotificationText?, locale: String?) throws(ProviderFault) -> JSONObject {
        let bytes = contentBytes + (text?.byteCount ?? 0)
        guard bytes <= Self.contentBytesMax else {
            throw .payloadTooLarge(bytes: bytes, bytesMax: row.payloadBytesMax, locale: locale)
        }
        let merged = JSONValue.object(commonPart(text)).mergePatched(with: .object(apsPatch)).object ?? JSONObject()
        let aps = merged.keepingActivityMembers(of: apsPatch)
        try APNsPayloadKeys.check(aps, row.type)
        return aps
    }

    private func commonPart(_ text: NotificationText?) -> JSONObject {
        var aps = JSONObject()
        switch row.type {
        case .background: aps["content-available"] = 1
        case .widgets, .controls: aps["content-changed"] = true
        case .liveActivity: aps["timestamp"] = .number(.whole(acceptedAt.secondsSince1970))
        case .alert, .voip, .complication, .fileProvider, .mdm, .pushToTalk, .location: break
        }
        var alert = JSONObject()
        alert["title"] = text?.title.map { .string($0) }
        alert["subtitle"] = text?.subtitle.map { .string($0) }
        alert["body"] = text?.body.map { .string($0) }
        // A Live Activity has its sound inside the alert.
        if row.shows == .activity { alert["sound"] = content.sound.map { .string($0) } }
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        guard row.shows == .everything else { return aps }
        aps["sound"] = NotificationExtras.sound(content)
        for member in NotificationExtras.aps(content, text) { aps[member.name] = member.value }
        return aps
    }

    /// Refuses payloads that are too large. Reports the largest, so that the sender knows how much has to go.
    private func checkSizes(_ payloads: [CompiledAPNsPayload]) throws(ProviderFault) {
        guard let excess = content.excess(of: payloads.map(\.bytesMax), over: row.payloadBytesMax) else { return }
        throw .payloadTooLarge(bytes: excess.bytes, bytesMax: row.payloadBytesMax, locale: excess.locale)
    }
}

extension APNsPayloadCompiler {
    /// Writes a payload. The badge goes last in `aps`, so that it needs at most one comma.
    private func payload(_ aps: JSONObject, _ tail: [UInt8]) -> CompiledAPNsPayload {
        guard hasAps(aps) else {
            return CompiledAPNsPayload(head: [], badgeLead: [], tail: tail, isTemplate: content.isTemplate)
        }
        var head = JSONWriter(capacity: 512)
        head.beginObject()
        head.name("aps")
        head.beginObject()
        for member in aps.members { head.member(member.name, member.value) }
        let lead = content.badge == .none ? "" : aps.isEmpty ? #""badge":"# : #","badge":"#
        return CompiledAPNsPayload(
            head: head.bytes, badgeLead: Array(lead.utf8), tail: tail, isTemplate: content.isTemplate)
    }

    private func hasAps(_ aps: JSONObject) -> Bool {
        switch row.aps {
        case .always: true
        case .ifGiven: !aps.isEmpty
        case .never: false
        }
    }

    /// Returns the bytes after the members of `aps`, or the whole payload without `aps`.
    private func tail(behind aps: JSONObject, _ neighbours: JSONObject) -> [UInt8] {
        guard hasAps(aps) else { return JSONValue.object(neighbours).bytes }
        let whole = JSONWriter.body(capacity: 512) {
            $0.member("aps", true)
            for member in neighbours.members { $0.member(member.name, member.value) }
        }
        // The writer placed the commas after a stand-in for `aps`, whose bytes are dropped.
        return [UInt8(ascii: "}")] + whole.dropFirst(#"{"aps":true"#.utf8.count)
    }
}
