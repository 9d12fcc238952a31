/// The members that the sender's `fcm` object may have. Keys that are not listed pass: Google may know more tomorrow.
/// Source: "FCM HTTP v1 API", REST resource projects.messages; "Web Notifications API" for `webpush.notification`.
enum FCMMessageKeys {
    static let message: [FCMField] = [
        FCMField("notification", .message(notification)), FCMField("data", .strings(.appData)),
        FCMField("android", .message(android)), FCMField("apns", .message(apns)),
        FCMField("webpush", .message(webpush)), FCMField("fcm_options", .message([label])),
        // The audience decides the targets of a message, and FCM assigns its name.
        FCMField("token", .reserved), FCMField("topic", .reserved), FCMField("condition", .reserved),
        FCMField("fid", .reserved), FCMField("name", .reserved),
        // Members of the request around a message, which the gateway writes.
        FCMField("validate_only", .reserved), FCMField("message", .reserved),
    ]

    private static let notification: [FCMField] = [
        FCMField("title", .string), FCMField("body", .string), FCMField("image", .url(isSecure: true)),
    ]

    private static let label = FCMField("analytics_label", .analyticsLabel)

    private static let android: [FCMField] = [
        FCMField("collapse_key", .string),
        // Lower case is accepted too.
        FCMField("priority", .names(["NORMAL", "HIGH", "normal", "high"])),
        FCMField("ttl", .timeToLive), FCMField("restricted_package_name", .string),
        FCMField("data", .strings(.appData)), FCMField("notification", .message(androidNotification)),
        FCMField("fcm_options", .message([label])), FCMField("direct_boot_ok", .bool),
        FCMField("bandwidth_constrained_ok", .bool), FCMField("restricted_satellite_ok", .bool),
    ]

    static let androidNotification: [FCMField] = [
        FCMField("title", .string), FCMField("body", .string), FCMField("icon", .string),
        FCMField("color", .color), FCMField("sound", .string), FCMField("tag", .string),
        FCMField("click_action", .string),
        FCMField("body_loc_key", .string), FCMField("body_loc_args", .list(.string)),
        FCMField("title_loc_key", .string), FCMField("title_loc_args", .list(.string)),
        FCMField("channel_id", .string), FCMField("ticker", .string),
        FCMField("sticky", .bool), FCMField("event_time", .timestamp), FCMField("local_only", .bool),
        FCMField(
            "notification_priority",
            .names([
                "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
                "PRIORITY_MAX",
            ])),
        FCMField("default_sound", .bool), FCMField("default_vibrate_timings", .bool),
        FCMField("default_light_settings", .bool), FCMField("vibrate_timings", .list(.duration)),
        FCMField("visibility", .names(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"])),
        FCMField("notification_count", .count), FCMField("light_settings", .complete(lightSettings)),
        FCMField("image", .url(isSecure: false)), FCMField("bypass_proxy_notification", .bool),
        FCMField("proxy", .names(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"])),
    ]

    private static let lightSettings: [FCMField] = [
        FCMField("color", .complete(["red", "green", "blue", "alpha"].map { FCMField($0, .fraction) })),
        FCMField("light_on_duration", .duration), FCMField("light_off_duration", .duration),
    ]

    private static let apns: [FCMField] = [
        FCMField("headers", .strings(.apnsHeaders)),
        FCMField("payload", .members([FCMField("aps", .members(aps))])),
        FCMField("fcm_options", .message([label, FCMField("image", .url(isSecure: false))])),
        FCMField("live_activity_token", .string),
    ]

    /// The members that the common part has too. Apple judges the others. A message sent to APNs directly has them
    /// checked in that module.
    private static let aps: [FCMField] = [
        FCMField("alert", .stringOrObject), FCMField("sound", .stringOrObject), FCMField("badge", .count),
    ]

    private static let webpush: [FCMField] = [
        FCMField("headers", .strings(.webPushHeaders)), FCMField("data", .strings(.appData)),
        FCMField("notification", .members(webNotification)),
        FCMField("fcm_options", .message([label, FCMField("link", .url(isSecure: true))])),
    ]

    private static let webNotification: [FCMField] = [
        FCMField("title", .string), FCMField("body", .string), FCMField("icon", .string), FCMField("badge", .string),
        FCMField("image", .string), FCMField("dir", .names(["auto", "ltr", "rtl"])), FCMField("lang", .string),
        FCMField("tag", .string), FCMField("renotify", .bool), FCMField("requireInteraction", .bool),
        FCMField("silent", .bool), FCMField("timestamp", .number), FCMField("vibrate", .list(.count)),
        FCMField(
            "actions",
            .list(.members([FCMField("action", .string), FCMField("title", .string), FCMField("icon", .string)]))),
    ]
}

struct FCMField: Equatable, Sendable {
    let name: String
    let shape: FCMShape

    init(_ name: String, _ shape: FCMShape) { (self.name, self.shape) = (name, shape) }
}

indirect enum FCMShape: Equatable, Sendable {
    case string
    case bool
    case number
    /// A whole number that 32 bits hold, not negative.
    case count
    /// 0 to 1.
    case fraction
    case names([String])
    /// "3.5s"
    case duration
    case timeToLive
    /// RFC 3339.
    case timestamp
    /// "#rrggbb"
    case color
    case url(isSecure: Bool)
    case analyticsLabel
    case stringOrObject
    case list(FCMShape)
    /// An object whose values are all strings.
    case strings(FCMStringsUse)
    /// An object of the protocol: its names are written with underscores or with capitals.
    case message([FCMField])
    /// A message none of whose members may be left out.
    case complete([FCMField])
    /// An object whose names have one spelling only.
    case members([FCMField])
    /// A member that the sender may not give.
    case reserved
}

/// The meaning of the names in a map.
enum FCMStringsUse: Equatable, Sendable {
    case appData
    case apnsHeaders
    case webPushHeaders
}
