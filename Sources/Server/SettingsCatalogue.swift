import FCM

/// Every setting. A new one takes one declaration in its chapter, and is read as `settings.itsName`.
package enum SettingsCatalogue {
    static let places = PlaceSettings()
    static let providers = ProviderSettings()
    static let limits = LimitSettings()

    package static let chapters = [
        SettingsChapter("Places", of: places), SettingsChapter("Providers", of: providers),
        SettingsChapter("Limits", of: limits),
    ]

    /// In the order of the chapters.
    package static let all = chapters.flatMap(\.settings)
}

/// Settings that are listed together.
package struct SettingsChapter: Sendable {
    package let heading: String
    package let settings: [any AnySetting]

    /// - Parameter declarations: a value whose stored properties are settings, in their order.
    init(_ heading: String, of declarations: some Sendable) {
        self.heading = heading
        settings = Mirror(reflecting: declarations).children.map { child in
            guard let setting = child.value as? any AnySetting else {
                preconditionFailure("a chapter has settings alone")
            }
            return setting
        }
    }
}

/// Settings of the places where the program finds things, and is found.
package struct PlaceSettings: Sendable {
    package let databaseURL = Setting(
        "DATABASE_URL", none: "(a private PostgreSQL in DATA_DIR)",
        "PostgreSQL to use, as a URL. Needs MASTER_KEY_FILE and ADMIN_KEY.", isSecret: true,
        read: SettingText.databaseURL)
    package let dataFolder = Setting(
        "DATA_DIR", "data", "Folder for the private PostgreSQL and for keys made here.", read: SettingText.path)
    package let listen = Setting(
        "LISTEN", "127.0.0.1:8080", "host:port of the HTTP API; port 0 takes a free one.",
        read: SettingText.listenAddress)
    package let tlsCertificateFile = Setting(
        "TLS_CERTIFICATE", none: "(none: plain HTTP)",
        "PEM file with the certificate of the HTTP API's port and those that lead to its authority. Needs TLS_KEY.",
        read: SettingText.path)
    package let tlsKeyFile = Setting(
        "TLS_KEY", none: "(none: plain HTTP)", "PEM file with that certificate's key.", read: SettingText.path)
    package let masterKeyFile = Setting(
        "MASTER_KEY_FILE", none: "(made in DATA_DIR with a private PostgreSQL)",
        "File with the 32-byte key that seals credentials: raw, or as 64 hexadecimal digits.", read: SettingText.path)
    package let adminKey = Setting(
        "ADMIN_KEY", none: "(made in DATA_DIR with a private PostgreSQL)",
        "API key with every right, at least 32 characters.", isSecret: true, read: SettingText.adminKey)
    package let logLevel = Setting(
        "LOG_LEVEL", "info", "trace, debug, info, notice, warning, error or critical.", read: SettingText.logLevel)
    package let logFormat = Setting(
        "LOG_FORMAT", "text", "text, for people; or json, an object a line, for what collects logs.",
        read: SettingText.logFormat)
}

/// Settings of the providers, and of the way to them.
package struct ProviderSettings: Sendable {
    package let apnsProduction = Setting(
        "APNS_PRODUCTION_URL", "https://api.push.apple.com", "APNs for production tokens.", read: SettingText.httpsURL)
    package let apnsSandbox = Setting(
        "APNS_SANDBOX_URL", "https://api.sandbox.push.apple.com", "APNs for sandbox tokens.",
        read: SettingText.httpsURL)
    package let fcm = Setting("FCM_URL", "https://fcm.googleapis.com", "FCM.", read: SettingText.httpsURL)
    package let providerCAFile = Setting(
        "PROVIDER_CA_FILE", none: "(the system's)", "PEM file of authorities to trust as well.",
        read: SettingText.path)
    package let providerProxy = Setting(
        "PROVIDER_PROXY", none: "(none)",
        "HTTP CONNECT proxy in front of the providers: http://host:port, or http://user:password@host:port.",
        read: SettingText.proxyURL)
    package let allowsPrivateTargets = Setting(
        "ALLOW_PRIVATE_TARGETS", "false",
        "Whether URLs that credentials name (token_uri) may lead to this machine or its network: true or false.",
        read: SettingText.claim)
}

/// Settings of the bounds that an operator may move. Every other bound is a constant of the module that keeps to it.
package struct LimitSettings: Sendable {
    package let requestDeadline = Setting(
        "REQUEST_DEADLINE_SECONDS", seconds: 20, in: 1...60, "How long a provider may take for one push.")
    package let lease = Setting(
        "LEASE_SECONDS", seconds: 60, in: 2...600, "How long a process owns a parcel that it went silent on.")
    package let suspectWindow = Setting(
        "SUSPECT_WINDOW_SECONDS", seconds: 600, in: 1...604_800,
        "How long a doubted token waits before it can be retired.")
    package let suspectShare = Setting(
        "SUSPECT_SHARE", "0.2",
        "Above this share of doubted tokens a route blames itself and retires none; of found ones, it moves none.",
        range: "above 0 to 1", read: SettingText.share)
    package let suspectSample = Setting(
        "SUSPECT_SAMPLE", 50, in: 1...1_000_000, "How many answers a route needs before its doubts count.")
    package let connectionsPerLane = Setting(
        "CONNECTIONS_PER_LANE", 16, in: 1...64, "Connections to a provider, per credential and process.")
    package let fcmMessagesPerMinute = Setting(
        "FCM_MESSAGES_PER_MINUTE", FCMLimits.messagesPerMinute, in: 60...1_000_000_000,
        "What is sent to one FCM project in a minute at most, by all processes together, reached within a minute:"
            + " your project's quota.")
    package let parcelMembers = Setting(
        "PARCEL_MEMBERS", 5_000, in: 1...20_000, "Pushes that are leased, sent and settled together.")
    package let backlogMessages = Setting(
        "BACKLOG_MESSAGES", 1_000_000, in: 1...100_000_000,
        "Unfinished messages of one app that name their receivers, at most 100; further ones are answered 429."
            + " Those that wait count: for their hour, for the end of quiet hours, for a credential.")
    package let backlogBroadcasts = Setting(
        "BACKLOG_BROADCASTS", 1_000, in: 1...1_000_000,
        "The same of all other messages, which have a backlog of their own.")
    package let historyDays = Setting(
        "HISTORY_DAYS", 30, in: 1...3_650,
        "How long it can be asked what happened to each push of a message, from the message's day on.")
    package let contentDays = Setting(
        "CONTENT_DAYS", 30, in: 1...3_650,
        "How long what a message said is kept after it was accepted; in any case until it is over.")
    package let feedbackDays = Setting(
        "FEEDBACK_DAYS", 365, in: 1...3_650,
        "How long an entry of the feed is kept, and can be undone; a reader who was away for longer is told.")
    package let bodyBytes = Setting(
        "BODY_BYTES", 1_048_576, in: 4_096...67_108_864, "The largest request body that is read.")
}
