import JSON
import PushModel

/// From a message's content to the JSON that APNs reads.
///
/// The common part is built first; the sender's `apns` object is then a merge patch (RFC 7396) over it: member by
/// member, null takes a member away. What comes out is checked, wherever it came from.
enum APNsPayloadCompiler {
    /// More than this cannot shrink to a payload: not worth merging.
    private static let contentBytesMax = 4 * APNsLimits.voipPayloadBytesMax

    static func compile(
        _ content: MessageContent, _ row: APNsPushTypeRow
    ) throws(APNsContentFault) -> (CompiledAPNsPayload, isActivityStart: Bool) {
        var contentBytes = content.apns?.bytes.count ?? 0
        for member in content.data { contentBytes += member.name.utf8.count + member.json.bytes.count }
        guard contentBytes <= contentBytesMax else {
            throw .payloadTooLarge(bytes: contentBytes, bytesMax: row.payloadBytesMax)
        }
        let merged = JSONValue.object(try commonPart(content, row)).mergePatched(with: try overrides(content))
        guard let root = merged.object, let aps = root["aps"]?.object else {
            throw .wrongValue(.root / "apns" / "aps", expected: "an object")
        }
        try APNsPayloadKeys.check(aps, row.type)
        if row.type == .background { try checkBackground(aps) }
        if row.type == .alert, aps["alert"] == nil, aps["sound"] == nil, aps["badge"] == nil, content.badge == .none {
            throw .nothingToShow
        }
        let payload = write(root, aps, badge: content.badge)
        guard payload.bytesMax <= row.payloadBytesMax else {
            throw .payloadTooLarge(bytes: payload.bytesMax, bytesMax: row.payloadBytesMax)
        }
        return (payload, aps["event"]?.string == "start")
    }

    private static func commonPart(
        _ content: MessageContent, _ row: APNsPushTypeRow
    ) throws(APNsContentFault) -> JSONObject {
        var aps = JSONObject()
        if row.type == .background {
            if content.notification != nil { throw .notForBackground(.root / "notification") }
            if content.badge != .none { throw .notForBackground(.root / "badge") }
            if content.sound != nil { throw .notForBackground(.root / "sound") }
            aps["content-available"] = 1
        }
        if let notification = content.notification {
            var alert = JSONObject()
            alert["title"] = notification.title.map { .string($0) }
            alert["subtitle"] = notification.subtitle.map { .string($0) }
            alert["body"] = notification.body.map { .string($0) }
            if !alert.isEmpty { aps["alert"] = .object(alert) }
        }
        aps["sound"] = content.sound.map { .string($0) }
        var members = [JSONMember("aps", .object(aps))]
        for member in content.data {
            let pointer = JSONPointer.root / "data" / member.name
            if member.name == "aps" { throw .reservedKey(pointer) }
            members.append(JSONMember(member.name, try value(of: member.json, at: pointer)))
        }
        return JSONObject(members)
    }

    private static func overrides(_ content: MessageContent) throws(APNsContentFault) -> JSONValue {
        let pointer = JSONPointer.root / "apns"
        guard let text = content.apns else { return .object(JSONObject()) }
        let patch = try value(of: text, at: pointer)
        guard let object = patch.object else { throw .wrongValue(pointer, expected: "an object") }
        if let aps = object["aps"] {
            guard let members = aps.object else { throw .wrongValue(pointer / "aps", expected: "an object") }
            // The registry keeps the badge's count; a number that it never hears of would turn the phone back later.
            if content.badge != .none, members["badge"] != nil { throw .badgeTwice }
        }
        return patch
    }

    private static func value(of text: JSONText, at pointer: JSONPointer) throws(APNsContentFault) -> JSONValue {
        do throws(JSONError) { return try text.value() } catch { throw .wrongValue(pointer, expected: "JSON") }
    }

    /// APNs refuses, delays or silently drops a background push that has more than its one flag.
    private static func checkBackground(_ aps: JSONObject) throws(APNsContentFault) {
        let pointer = JSONPointer.root / "apns" / "aps"
        for member in aps.members where member.name != "content-available" {
            throw .notForBackground(pointer / member.name)
        }
        guard aps["content-available"] == 1 else { throw .wrongValue(pointer / "content-available", expected: "1") }
    }

    /// The badge goes last in `aps`, so that one comma decides.
    private static func write(_ root: JSONObject, _ aps: JSONObject, badge: BadgeChange) -> CompiledAPNsPayload {
        var head = JSONWriter(capacity: 512)
        head.beginObject()
        head.name("aps")
        head.beginObject()
        for member in aps.members { head.member(member.name, member.value) }
        var tail = JSONWriter(capacity: 512)
        tail.beginObject()
        tail.member("aps", true)
        for member in root.members where member.name != "aps" { tail.member(member.name, member.value) }
        tail.endObject()
        // The tail's own writer placed the commas behind a stand-in for `aps`, whose bytes are not wanted.
        let rest = [UInt8(ascii: "}")] + tail.bytes.dropFirst(#"{"aps":true"#.utf8.count)
        guard badge != .none else { return CompiledAPNsPayload(head: head.bytes + rest, badgeLead: [], tail: []) }
        let lead = aps.isEmpty ? #""badge":"# : #","badge":"#
        return CompiledAPNsPayload(head: head.bytes, badgeLead: Array(lead.utf8), tail: rest)
    }
}
