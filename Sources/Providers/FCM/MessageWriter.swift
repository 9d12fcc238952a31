import JSON
import Model

/// Writes a whole request body with a mark in each placeholder, in the order that keeps a push's own bytes together.
enum FCMMessageWriter {
    static func write(_ message: JSONObject, _ options: MessageOptions) -> [UInt8] {
        JSONWriter.body(capacity: 1_024) { writer in
            if options.isDryRun { writer.member("validate_only", true) }
            writer.object("message") { write(message, to: &$0) }
        }
    }

    private static func write(_ message: JSONObject, to writer: inout JSONWriter) {
        for member in message.members where member.name != "android" && member.name != "apns" {
            if member.name == "webpush", let webpush = member.value.object {
                writer.object("webpush") {
                    writeMembers(of: webpush, headersPlaceholder: ("TTL", text([.ttlSeconds])), to: &$0)
                }
            } else {
                writer.member(member.name, member.value)
            }
        }
        if let android = message["android"]?.object { writer.object("android") { write(android: android, to: &$0) } }
        writer.member("token", raw: text([.token]))
        if let apns = message["apns"]?.object { writer.object("apns") { write(apns: apns, to: &$0) } }
    }

    /// Writes the Android part. The notification goes last, and its badge last in it.
    private static func write(android: JSONObject, to writer: inout JSONWriter) {
        for member in android.members where member.name != "notification" {
            if member.name == "ttl", member.value == true {
                writer.member("ttl", raw: text([.ttlSeconds], unit: "s"))
            } else {
                writer.member(member.name, member.value)
            }
        }
        guard let notification = android["notification"]?.object else { return }
        writer.object("notification") { writer in
            var hasPlaceholder = false
            for member in notification.members {
                if member.name == "notification_count", member.value == true {
                    hasPlaceholder = true
                } else {
                    writer.member(member.name, member.value)
                }
            }
            if hasPlaceholder { writer.raw([FCMPlaceholderMark.count.rawValue]) }
        }
    }

    /// Writes the Apple part. The payload goes first, `aps` first in it, and the badge first in that.
    private static func write(apns: JSONObject, to writer: inout JSONWriter) {
        if let payload = apns["payload"]?.object {
            writer.object("payload") { writer in
                if let aps = payload["aps"]?.object {
                    writer.object("aps") { writer in
                        if aps["badge"] == true { writer.raw([FCMPlaceholderMark.badge.rawValue]) }
                        for member in aps.members where member.name != "badge" || member.value != true {
                            writer.member(member.name, member.value)
                        }
                    }
                }
                for member in payload.members where member.name != "aps" { writer.member(member.name, member.value) }
            }
        }
        var others = apns
        others["payload"] = nil
        writeMembers(of: others, headersPlaceholder: ("apns-expiration", text([.expiration])), to: &writer)
    }

    private static func writeMembers(
        of config: JSONObject, headersPlaceholder placeholder: (name: String, json: [UInt8]),
        to writer: inout JSONWriter
    ) {
        for member in config.members {
            if member.name == "headers", let headers = member.value.object {
                writer.object("headers") { write(headers, placeholder: placeholder, to: &$0) }
            } else {
                writer.member(member.name, member.value)
            }
        }
    }

    private static func write(
        _ headers: JSONObject, placeholder: (name: String, json: [UInt8]), to writer: inout JSONWriter
    ) {
        for member in headers.members {
            if member.name == placeholder.name, member.value == true {
                writer.member(member.name, raw: placeholder.json)
            } else {
                writer.member(member.name, member.value)
            }
        }
    }

    private static func text(_ marks: [FCMPlaceholderMark], unit: String = "") -> [UInt8] {
        [UInt8(ascii: "\"")] + marks.map(\.rawValue) + Array(unit.utf8) + [UInt8(ascii: "\"")]
    }
}
