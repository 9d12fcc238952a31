import JSON
import Model

/// Writes a whole request body with a mark in each placeholder, in the order that keeps a push's own bytes together.
enum FCMMessageWriter {
    static func write(_ message: JSONObject, _ options: MessageOptions) -> [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        writer.beginObject()
        if options.isDryRun { writer.member("validate_only", true) }
        writer.name("message")
        writer.beginObject()
        for member in message.members where member.name != "android" && member.name != "apns" {
            if member.name == "webpush", let webpush = member.value.object {
                writer.name("webpush")
                writer.beginObject()
                writeMembers(of: webpush, headersPlaceholder: ("TTL", text([.ttlSeconds])), to: &writer)
                writer.endObject()
            } else {
                writer.member(member.name, member.value)
            }
        }
        if let android = message["android"]?.object { write(android: android, to: &writer) }
        writer.name("token")
        writer.raw(text([.token]))
        if let apns = message["apns"]?.object { write(apns: apns, to: &writer) }
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    /// Writes the Android part. The notification goes last, and its badge last in it.
    private static func write(android: JSONObject, to writer: inout JSONWriter) {
        writer.name("android")
        writer.beginObject()
        for member in android.members where member.name != "notification" {
            if member.name == "ttl", member.value == true {
                writer.name("ttl")
                writer.raw(text([.ttlSeconds], unit: "s"))
            } else {
                writer.member(member.name, member.value)
            }
        }
        if let notification = android["notification"]?.object {
            writer.name("notification")
            writer.beginObject()
            var hasPlaceholder = false
            for member in notification.members {
                if member.name == "notification_count", member.value == true {
                    hasPlaceholder = true
                } else {
                    writer.member(member.name, member.value)
                }
            }
            if hasPlaceholder { writer.raw([FCMPlaceholderMark.count.rawValue]) }
            writer.endObject()
        }
        writer.endObject()
    }

    /// Writes the Apple part. The payload goes first, `aps` first in it, and the badge first in that.
    private static func write(apns: JSONObject, to writer: inout JSONWriter) {
        writer.name("apns")
        writer.beginObject()
        if let payload = apns["payload"]?.object {
            writer.name("payload")
            writer.beginObject()
            if let aps = payload["aps"]?.object {
                writer.name("aps")
                writer.beginObject()
                if aps["badge"] == true { writer.raw([FCMPlaceholderMark.badge.rawValue]) }
                for member in aps.members where member.name != "badge" || member.value != true {
                    writer.member(member.name, member.value)
                }
                writer.endObject()
            }
            for member in payload.members where member.name != "aps" { writer.member(member.name, member.value) }
            writer.endObject()
        }
        var others = apns
        others["payload"] = nil
        writeMembers(of: others, headersPlaceholder: ("apns-expiration", text([.expiration])), to: &writer)
        writer.endObject()
    }

    private static func writeMembers(
        of config: JSONObject, headersPlaceholder placeholder: (name: String, json: [UInt8]),
        to writer: inout JSONWriter
    ) {
        for member in config.members {
            if member.name == "headers", let headers = member.value.object {
                writer.name("headers")
                write(headers, placeholder: placeholder, to: &writer)
            } else {
                writer.member(member.name, member.value)
            }
        }
    }

    private static func write(
        _ headers: JSONObject, placeholder: (name: String, json: [UInt8]), to writer: inout JSONWriter
    ) {
        writer.beginObject()
        for member in headers.members {
            if member.name == placeholder.name, member.value == true {
                writer.name(member.name)
                writer.raw(placeholder.json)
            } else {
                writer.member(member.name, member.value)
            }
        }
        writer.endObject()
    }

    private static func text(_ marks: [FCMPlaceholderMark], unit: String = "") -> [UInt8] {
        [UInt8(ascii: "\"")] + marks.map(\.rawValue) + Array(unit.utf8) + [UInt8(ascii: "\"")]
    }
}
