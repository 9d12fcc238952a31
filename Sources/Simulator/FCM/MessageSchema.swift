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
    static let request: [SchemaField] = [
        SchemaField("validate_only", .boolean), SchemaField("message", .message(message)),
    ]

    private static let label = SchemaField("analytics_label", .textAs(.analyticsLabel))

    static let message: [SchemaField] = [
        SchemaField("name", .text), SchemaField("data", .stringMap),
        SchemaField("notification", .message(notification)), SchemaField("android", .message(android)),
        SchemaField("webpush", .message(webpush)), SchemaField("apns", .message(apns)),
        SchemaField("fcm_options", .message([label])), SchemaField("token", .text), SchemaField("fid", .text),
        SchemaField("topic", .textAs(.topic)), SchemaField("condition", .text),
    ]

    private static let notification: [SchemaField] = [
        SchemaField("title", .text), SchemaField("body", .text), SchemaField("image", .text),
    ]

    private static let android: [SchemaField] = [
        SchemaField("collapse_key", .text), SchemaField("priority", .choice(["NORMAL", "HIGH"], lenient: true)),
        SchemaField("ttl", .duration), SchemaField("restricted_package_name", .text),
        SchemaField("data", .stringMap), SchemaField("notification", .message(androidNotification)),
        SchemaField("fcm_options", .message([label])), SchemaField("direct_boot_ok", .boolean),
        SchemaField("bandwidth_constrained_ok", .boolean), SchemaField("restricted_satellite_ok", .boolean),
    ]

    private static let androidNotification: [SchemaField] = [
        SchemaField("title", .text), SchemaField("body", .text), SchemaField("icon", .text),
        SchemaField("color", .textAs(.color)), SchemaField("sound", .text), SchemaField("tag", .text),
        SchemaField("click_action", .text), SchemaField("body_loc_key", .text),
        SchemaField("body_loc_args", .list(.text)), SchemaField("title_loc_key", .text),
        SchemaField("title_loc_args", .list(.text)), SchemaField("channel_id", .text),
        SchemaField("ticker", .text), SchemaField("sticky", .boolean), SchemaField("event_time", .timestamp),
        SchemaField("local_only", .boolean),
        SchemaField(
            "notification_priority",
            .choice(
                [
                    "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
                    "PRIORITY_MAX",
                ], lenient: false)),
        SchemaField("default_sound", .boolean), SchemaField("default_vibrate_timings", .boolean),
        SchemaField("default_light_settings", .boolean), SchemaField("vibrate_timings", .list(.duration)),
        SchemaField("visibility", .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"], lenient: false)),
        SchemaField("notification_count", .int32), SchemaField("light_settings", .message(lightSettings)),
        SchemaField("image", .text), SchemaField("bypass_proxy_notification", .boolean),
        SchemaField("proxy", .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"], lenient: false)),
    ]

    private static let lightSettings: [SchemaField] = [
        SchemaField(
            "color",
            .message([
                SchemaField("red", .fraction), SchemaField("green", .fraction), SchemaField("blue", .fraction),
                SchemaField("alpha", .fraction),
            ])),
        SchemaField("light_on_duration", .duration), SchemaField("light_off_duration", .duration),
    ]

    private static let webpush: [SchemaField] = [
        SchemaField("headers", .stringMap), SchemaField("data", .stringMap), SchemaField("notification", .object),
        SchemaField("fcm_options", .message([SchemaField("link", .textAs(.httpsLink)), label])),
    ]

    private static let apns: [SchemaField] = [
        SchemaField("headers", .stringMap), SchemaField("payload", .object),
        SchemaField("fcm_options", .message([label, SchemaField("image", .text)])),
        SchemaField("live_activity_token", .text),
    ]
}
