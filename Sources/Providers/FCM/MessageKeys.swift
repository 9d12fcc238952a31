/// The members that the sender's `fcm` object may have. Keys that are not listed pass: Google may know more tomorrow.
/// Source: "FCM HTTP v1 API", REST resource projects.messages; "Web Notifications API" for `webpush.notification`.
enum FCMMessageKeys {
    static let message: [FCMField] =
        // The audience decides the targets of a message, and FCM assigns its name. The last two are members of the
        // request around a message, which the gateway writes.
        fields(.reserved, "token", "topic", "condition", "fid", "name", "validate_only", "message") + [
            FCMField("notification", .message(notification)), FCMField("data", .strings(.appData)),
            FCMField("android", .message(android)), FCMField("apns", .message(apns)),
            FCMField("webpush", .message(webpush)), FCMField("fcm_options", .message([label])),
        ] + legacy

    private static let notification =
        fields(.string, "title", "body") + fields(.url(isSecure: true), "image") + legacyNotification

    /// The members of the older protocol's messages, with today's names. FCM refuses them for every device.
    private static let legacy =
        fields(.legacy("audience.tokens"), "to", "registration_ids", "notification_key")
        + fields(.legacy("options.ttl_seconds, or fcm.android.ttl"), "time_to_live") + [
            FCMField("priority", .legacy("options.priority, or fcm.android.priority")),
            FCMField("collapse_key", .legacy("options.collapse_id, or fcm.android.collapse_key")),
            FCMField("content_available", .legacy("fcm.apns.payload.aps.content-available")),
            FCMField("mutable_content", .legacy("fcm.apns.payload.aps.mutable-content")),
            FCMField("dry_run", .legacy("options.dry_run")),
            FCMField("restricted_package_name", .legacy("fcm.android.restricted_package_name")),
            FCMField("direct_boot_ok", .legacy("fcm.android.direct_boot_ok")),
            FCMField("delay_while_idle", .legacy("nothing: FCM has no such wait any more")),
        ]

    /// The same for its notifications, which had members that now belong to one platform.
    private static let legacyNotification =
        [
            "sound", "tag", "icon", "color", "click_action", "body_loc_key", "body_loc_args", "title_loc_key",
            "title_loc_args",
        ].map { FCMField($0, .legacy("fcm.android.notification.\($0)")) } + [
            FCMField("badge", .legacy("badge, which the gateway counts")),
            FCMField("android_channel_id", .legacy("fcm.android.notification.channel_id")),
            FCMField("subtitle", .legacy("fcm.apns.payload.aps.alert.subtitle")),
        ]

    private static let label = FCMField("analytics_label", .analyticsLabel)

    private static let android: [FCMField] =
        fields(.string, "collapse_key", "restricted_package_name")
        + fields(.bool, "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok") + [
            // Lower case is accepted too.
            FCMField("priority", .names(["NORMAL", "HIGH", "normal", "high"])), FCMField("ttl", .timeToLive),
            FCMField("data", .strings(.appData)), FCMField("notification", .message(androidNotification)),
            FCMField("fcm_options", .message([label])),
        ]

    private static let androidNotification: [FCMField] =
        fields(
            .string, "title", "body", "icon", "sound", "tag", "click_action", "body_loc_key", "title_loc_key",
            "channel_id", "ticker")
        + fields(.list(.string), "body_loc_args", "title_loc_args")
        + fields(
            .bool, "sticky", "local_only", "default_sound", "default_vibrate_timings", "default_light_settings",
            "bypass_proxy_notification") + [
            FCMField("color", .color), FCMField("event_time", .timestamp),
            FCMField("vibrate_timings", .list(.duration)), FCMField("notification_count", .count),
            FCMField("light_settings", .complete(lightSettings)), FCMField("image", .url(isSecure: false)),
            names(
                "notification_priority", "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
                "PRIORITY_HIGH", "PRIORITY_MAX"),
            names("visibility", "VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"),
            names("proxy", "PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"),
        ]

    private static let lightSettings =
        fields(.complete(fields(.fraction, "red", "green", "blue", "alpha")), "color")
        + fields(.duration, "light_on_duration", "light_off_duration")

    private static let apns = [
        FCMField("headers", .strings(.apnsHeaders)), FCMField("live_activity_token", .string),
        FCMField("payload", .members([FCMField("aps", .members(aps))])),
        FCMField("fcm_options", .message([label, FCMField("image", .url(isSecure: false))])),
    ]

    /// The members that the common part has too. Apple judges the others. A message sent to APNs directly has them
    /// checked in that module.
    private static let aps = fields(.stringOrObject, "alert", "sound") + fields(.count, "badge")

    private static let webpush = [
        FCMField("headers", .strings(.webPushHeaders)), FCMField("data", .strings(.appData)),
        FCMField("notification", .members(webNotification)),
        FCMField("fcm_options", .message([label, FCMField("link", .url(isSecure: true))])),
    ]

    private static let webNotification: [FCMField] =
        fields(.string, "title", "body", "icon", "badge", "image", "lang", "tag")
        + fields(.bool, "renotify", "requireInteraction", "silent") + [
            names("dir", "auto", "ltr", "rtl"), FCMField("timestamp", .number), FCMField("vibrate", .list(.count)),
            FCMField("actions", .list(.members(fields(.string, "action", "title", "icon")))),
        ]

    private static func fields(_ shape: FCMShape, _ names: String...) -> [FCMField] {
        names.map { FCMField($0, shape) }
    }

    private static func names(_ name: String, _ values: String...) -> FCMField { FCMField(name, .names(values)) }
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
    /// A member of FCM's older protocol, with today's name.
    case legacy(String)
}

/// The meaning of the names in a map.
enum FCMStringsUse: Equatable, Sendable {
    case appData
    case apnsHeaders
    case webPushHeaders
}
