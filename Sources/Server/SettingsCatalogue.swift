import Logging

/// Every setting. A new one takes one declaration in its chapter, and is read as `settings.itsName`.
package enum SettingsCatalogue {
    static let places = PlaceSettings()
    static let providers = ProviderSettings()
    static let limits = LimitSettings()

    package static let chapters = [
        SettingsChapter("Places", of: places), SettingsChapter("Providers", of: providers),
        SettingsChapter("Limits", of: limits),
    ]

    package static let all = chapters.flatMap(\.settings)
}

package struct SettingsChapter: Sendable {
    package let heading: String
    package let settings: [any AnySetting]

    /// - Parameter declarations: a value whose stored properties are settings, in their order.
    init(_ heading: String, of declarations: some Sendable) {
        self.heading = heading
        settings = Mirror(reflecting: declarations).children.map { child in
            guard let setting = child.value as? any AnySetting else {
                preconditionFailure("every property of a chapter is a setting")
            }
            return setting
        }
    }
}

package struct PlaceSettings: Sendable {
    package let databaseURL = Setting(
        "DATABASE_URL", none: "(a private PostgreSQL in DATA_DIR)",
        "URL of the PostgreSQL to use. Needs MASTER_KEY_FILE and ADMIN_KEY.", isSecret: true,
        read: SettingText.databaseURL)
    package let dataFolder = Setting(
        "DATA_DIR", "data", "Folder of the private PostgreSQL and of the keys made here.", read: SettingText.path)
    package let listen = Setting(
        "LISTEN", "127.0.0.1:8080", "Host and port of the HTTP API; port 0 takes a free one.",
        read: SettingText.listenAddress)
    package let tlsCertificateFile = Setting(
        "TLS_CERTIFICATE", none: "(none: plain HTTP)",
        "PEM file with the API's certificate chain. Needs TLS_KEY.",
        read: SettingText.path)
    package let tlsKeyFile = Setting(
        "TLS_KEY", none: "(none: plain HTTP)", "PEM file with the key of that certificate.", read: SettingText.path)
    package let masterKeyFile = Setting(
        "MASTER_KEY_FILE", none: "(made in DATA_DIR with a private PostgreSQL)",
        "File with the 32-byte key that seals credentials: raw, or 64 hexadecimal digits.", read: SettingText.path)
    package let adminKey = Setting(
        "ADMIN_KEY", none: "(made in DATA_DIR with a private PostgreSQL)",
        "API key with every right, at least 32 characters.", isSecret: true, read: SettingText.adminKey)
    package let logLevel = Setting<Logger.Level>(
        "LOG_LEVEL", "info", "trace, debug, info, notice, warning, error or critical.", read: SettingText.choice)
    package let logFormat = Setting<LogFormat>(
        "LOG_FORMAT", "text", "text for people, or json with one object per line.", read: SettingText.choice)
}

package struct ProviderSettings: Sendable {
    package let apnsProduction = Setting(
        "APNS_PRODUCTION_URL", "https://api.push.apple.com", "APNs for production tokens.", read: SettingText.httpsURL)
    package let apnsSandbox = Setting(
        "APNS_SANDBOX_URL", "https://api.sandbox.push.apple.com", "APNs for sandbox tokens.",
        read: SettingText.httpsURL)
    package let fcm = Setting("FCM_URL", "https://fcm.googleapis.com", "FCM.", read: SettingText.httpsURL)
    package let providerCAFile = Setting(
        "PROVIDER_CA_FILE", none: "(the system's)", "PEM file of authorities to trust in addition.",
        read: SettingText.path)
    package let providerProxy = Setting(
        "PROVIDER_PROXY", none: "(none)",
        "HTTP CONNECT proxy to the providers: http://host:port or http://user:password@host:port.",
        read: SettingText.proxyURL)
    /// The default has the hosts in Google's key files, old ones too.
    package let tokenHosts = Setting(
        "TOKEN_HOSTS", "oauth2.googleapis.com,accounts.google.com,www.googleapis.com",
        "With PROVIDER_PROXY: the hosts that a credential's token_uri may name, separated by commas.",
        read: SettingText.hosts)
    package let allowsPrivateTargets = Setting(
        "ALLOW_PRIVATE_TARGETS", "false",
        "Whether a credential's token_uri may lead into this machine or its network: true or false.",
        read: SettingText.claim)
}

/// The limits that an operator may change. Every other limit is a constant of the module that applies it.
package struct LimitSettings: Sendable {
    package let requestDeadline = Setting(
        "REQUEST_DEADLINE_SECONDS", seconds: 20, in: 1...60, "How long a provider may take for one push.")
    package let lease = Setting(
        "LEASE_SECONDS", seconds: 60, in: 2...600,
        "How long a silent process keeps a parcel before another process may take it.")
    package let suspectWindow = Setting(
        "SUSPECT_WINDOW_SECONDS", seconds: 600, in: 1...604_800,
        "How long a suspected token waits before it can be retired.")
    package let suspectShare = Setting(
        "SUSPECT_SHARE", "0.2",
        "Largest share of suspected tokens per route. Above it no token is retired or moved: the cause is probably a"
            + " configuration error.",
        range: "above 0 to 1", read: SettingText.share)
    package let suspectSample = Setting(
        "SUSPECT_SAMPLE", 50, in: 1...1_000_000, "Answers that a route needs before its suspicions count.")
    package let connectionsPerLane = Setting(
        "CONNECTIONS_PER_LANE", 16, in: 1...64, "Connections to a provider, per credential, environment and process.")
    /// The default is what a project may send unless Google granted it more. Source: "Throttling and quotas".
    package let fcmMessagesPerMinute = Setting(
        "FCM_MESSAGES_PER_MINUTE", 600_000, in: 60...1_000_000_000,
        "Quota of an FCM project: the most pushes that all processes together send it in a minute.")
    package let parcelMembers = Setting(
        "PARCEL_MEMBERS", 5_000, in: 1...20_000, "Pushes that are leased, sent and settled together.")
    package let backlogMessages = Setting(
        "BACKLOG_MESSAGES", 1_000_000, in: 1...100_000_000,
        "Unfinished direct messages of an app, scheduled ones included; further ones are answered 429.")
    package let backlogBroadcasts = Setting(
        "BACKLOG_BROADCASTS", 1_000, in: 1...1_000_000,
        "Unfinished broadcasts of an app, scheduled ones included; further ones are answered 429.")
    package let historyDays = Setting(
        "HISTORY_DAYS", 30, in: 1...3_650,
        "How long the steps of each push can be read, from the message's day on.")
    package let contentDays = Setting(
        "CONTENT_DAYS", 30, in: 1...3_650,
        "How long a message's content is kept, and at least until it finished.")
    package let feedbackDays = Setting(
        "FEEDBACK_DAYS", 365, in: 1...3_650,
        "How long feedback is kept and can be undone. An older cursor gets feedback_swept.")
    package let bodyBytes = Setting(
        "BODY_BYTES", 1_048_576, in: 4_096...67_108_864, "The largest request body that is read.")
}
