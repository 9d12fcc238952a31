/// The kinds of fields that FCM's `messages:send` takes. Written anew and not shared with the gateway: a stand-in that
/// used the gateway's own table would agree with its mistakes.
/// Source: Firebase, "REST resource: projects.messages"; the discovery document of 2024-11.
indirect enum FieldKind: Sendable {
    case text
    case textAs(TextForm)
    case boolean
    /// A whole number of 32 bits, also as text.
    case int32
    /// A number from 0 to 1.
    case fraction
    /// "3.5s"
    case duration
    /// RFC 3339.
    case timestamp
    /// - Parameter lenient: accepts lower case.
    case choice([String], lenient: Bool)
    case stringMap
    /// Any JSON object, kept unchanged.
    case object
    case list(FieldKind)
    case message([SchemaField])
}

enum TextForm: Sendable {
    case topic
    case analyticsLabel
    /// `#rrggbb`
    case color
    case httpsLink
}

struct SchemaField: Sendable {
    /// The name in the protocol buffers. JSON may also use lowerCamelCase.
    let name: String
    let camelName: String
    let kind: FieldKind

    init(_ name: String, _ kind: FieldKind) {
        (self.name, self.kind) = (name, kind)
        var camel = ""
        for part in name.split(separator: "_") {
            camel += camel.isEmpty ? String(part) : part.prefix(1).uppercased() + part.dropFirst()
        }
        camelName = camel
    }
}

enum MessageSchema {
    static let request = fields(.boolean, "validate_only") + fields(.message(message), "message")

    private static let label = SchemaField("analytics_label", .textAs(.analyticsLabel))

    static let message: [SchemaField] =
        fields(.text, "name", "token", "fid", "condition") + [
            SchemaField("data", .stringMap), SchemaField("notification", .message(notification)),
            SchemaField("android", .message(android)), SchemaField("webpush", .message(webpush)),
            SchemaField("apns", .message(apns)), SchemaField("fcm_options", .message([label])),
            SchemaField("topic", .textAs(.topic)),
        ]

    private static let notification = fields(.text, "title", "body", "image")

    private static let android: [SchemaField] =
        fields(.text, "collapse_key", "restricted_package_name")
        + fields(.boolean, "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok") + [
            SchemaField("priority", .choice(["NORMAL", "HIGH"], lenient: true)), SchemaField("ttl", .duration),
            SchemaField("data", .stringMap), SchemaField("notification", .message(androidNotification)),
            SchemaField("fcm_options", .message([label])),
        ]

    private static let androidNotification: [SchemaField] =
        fields(
            .text, "title", "body", "icon", "sound", "tag", "click_action", "body_loc_key", "title_loc_key",
            "channel_id", "ticker", "image")
        + fields(.list(.text), "body_loc_args", "title_loc_args")
        + fields(
            .boolean, "sticky", "local_only", "default_sound", "default_vibrate_timings", "default_light_settings",
            "bypass_proxy_notification") + [
            SchemaField("color", .textAs(.color)), SchemaField("event_time", .timestamp),
            SchemaField("vibrate_timings", .list(.duration)), SchemaField("notification_count", .int32),
            SchemaField("light_settings", .message(lightSettings)),
            choice(
                "notification_priority", "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
                "PRIORITY_HIGH", "PRIORITY_MAX"),
            choice("visibility", "VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"),
            choice("proxy", "PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"),
        ]

    private static let lightSettings =
        fields(.message(fields(.fraction, "red", "green", "blue", "alpha")), "color")
        + fields(.duration, "light_on_duration", "light_off_duration")

    private static let webpush: [SchemaField] =
        fields(.stringMap, "headers", "data") + [
            SchemaField("notification", .object),
            SchemaField("fcm_options", .message([SchemaField("link", .textAs(.httpsLink)), label])),
        ]

    private static let apns = [
        SchemaField("headers", .stringMap), SchemaField("payload", .object), SchemaField("live_activity_token", .text),
        SchemaField("fcm_options", .message([label, SchemaField("image", .text)])),
    ]

    private static func fields(_ kind: FieldKind, _ names: String...) -> [SchemaField] {
        names.map { SchemaField($0, kind) }
    }

    private static func choice(_ name: String, _ values: String...) -> SchemaField {
        SchemaField(name, .choice(values, lenient: false))
    }
}
