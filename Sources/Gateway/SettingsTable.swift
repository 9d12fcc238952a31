import PushModel

/// One setting: what it is called, what it is when nobody says anything, and what it means.
package struct Setting: Sendable {
    /// Without the prefix `CARILLON_`, which only the environment needs.
    package let name: String
    /// As `carillon settings` shows it; a sentence in parentheses where there is no plain value.
    let defaultText: String
    let meaning: String
    let isSecret: Bool
    /// Takes the text over, or says in a few words why it can't.
    let adopt: @Sendable (_ text: String, _ settings: inout Settings) throws(SettingComplaint) -> Void

    init(
        _ name: String, default defaultText: String, _ meaning: String, isSecret: Bool = false,
        adopt: @escaping @Sendable (_ text: String, _ settings: inout Settings) throws(SettingComplaint) -> Void
    ) {
        self.name = name
        self.defaultText = defaultText
        self.meaning = meaning
        self.isSecret = isSecret
        self.adopt = adopt
    }

    /// Without what is secret. Of an address that is not understood nobody knows where its password ends.
    func shown(_ text: String) -> String {
        guard !isSecret else { return "(hidden)" }
        guard SettingText.hasUserinfo(text) else { return text }
        var scratch = Settings()
        return (try? adopt(text, &scratch)) == nil ? "(hidden)" : SettingText.withoutUserinfo(text)
    }
}

/// Continues the sentence "CARILLON_NAME ...": "must be ...".
package struct SettingComplaint: Error, Equatable {
    let words: String
    init(_ words: String) { self.words = words }
}

package enum SettingsTable {
    package static let rows: [Setting] = places + providers + limits

    private static let places: [Setting] = [
        Setting(
            "DATABASE_URL", default: "(a private PostgreSQL in DATA_DIR)",
            "PostgreSQL to use, as a URL. Needs MASTER_KEY_FILE and ADMIN_KEY.", isSecret: true
        ) { text, settings throws(SettingComplaint) in
            guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") || text.contains("=") else {
                throw SettingComplaint("must be a URL such as postgresql://user@host/database")
            }
            settings.databaseURL = text
        },
        Setting("DATA_DIR", default: "data", "Folder for the private PostgreSQL and for keys made here.") {
            text, settings throws(SettingComplaint) in settings.dataFolder = try SettingText.path(text)
        },
        Setting("LISTEN", default: "127.0.0.1:8080", "host:port of the HTTP API; port 0 takes a free one.") {
            text, settings throws(SettingComplaint) in settings.listen = try SettingText.listenAddress(text)
        },
        Setting(
            "TLS_CERTIFICATE", default: "(none: plain HTTP)",
            "PEM file with the certificate of the HTTP API's port and those that lead to its authority. Needs TLS_KEY."
        ) { text, settings throws(SettingComplaint) in settings.tlsCertificateFile = try SettingText.path(text) },
        Setting("TLS_KEY", default: "(none: plain HTTP)", "PEM file with that certificate's key.") {
            text, settings throws(SettingComplaint) in settings.tlsKeyFile = try SettingText.path(text)
        },
        Setting(
            "MASTER_KEY_FILE", default: "(made in DATA_DIR with a private PostgreSQL)",
            "File with the 32-byte key that seals credentials: raw, or as 64 hexadecimal digits."
        ) { text, settings throws(SettingComplaint) in settings.masterKeyFile = try SettingText.path(text) },
        Setting(
            "ADMIN_KEY", default: "(made in DATA_DIR with a private PostgreSQL)",
            "API key with every right, at least 32 characters.", isSecret: true
        ) { text, settings throws(SettingComplaint) in
            // Shorter could be guessed; a space or a control character can't stand in a header.
            guard text.utf8.count >= 32, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw SettingComplaint("must be at least 32 characters without spaces")
            }
            settings.adminKey = Secret(text)
        },
        Setting("LOG_LEVEL", default: "info", "trace, debug, info, notice, warning, error or critical.") {
            text, settings throws(SettingComplaint) in settings.logLevel = try SettingText.logLevel(text)
        },
        Setting("LOG_FORMAT", default: "text", "text, for people; or json, an object a line, for what collects logs.") {
            text, settings throws(SettingComplaint) in settings.logFormat = try SettingText.logFormat(text)
        },
    ]

    private static let providers: [Setting] = [
        Setting("APNS_PRODUCTION_URL", default: "https://api.push.apple.com", "APNs for production tokens.") {
            text, settings throws(SettingComplaint) in settings.apnsProduction = try SettingText.httpsURL(text)
        },
        Setting("APNS_SANDBOX_URL", default: "https://api.sandbox.push.apple.com", "APNs for sandbox tokens.") {
            text, settings throws(SettingComplaint) in settings.apnsSandbox = try SettingText.httpsURL(text)
        },
        Setting("FCM_URL", default: "https://fcm.googleapis.com", "FCM.") {
            text, settings throws(SettingComplaint) in settings.fcm = try SettingText.httpsURL(text)
        },
        Setting("PROVIDER_CA_FILE", default: "(the system's)", "PEM file of authorities to trust as well.") {
            text, settings throws(SettingComplaint) in settings.providerCAFile = try SettingText.path(text)
        },
        Setting(
            "PROVIDER_PROXY", default: "(none)",
            "HTTP CONNECT proxy in front of the providers: http://host:port, or http://user:password@host:port."
        ) {
            text, settings throws(SettingComplaint) in settings.providerProxy = try SettingText.proxyURL(text)
        },
        Setting(
            "ALLOW_PRIVATE_TARGETS", default: "false",
            "Whether URLs that credentials name (token_uri) may lead to this machine or its network: true or false."
        ) {
            text, settings throws(SettingComplaint) in settings.allowsPrivateTargets = try SettingText.claim(text)
        },
    ]

    private static let limits: [Setting] = [
        seconds("REQUEST_DEADLINE_SECONDS", \.requestDeadline, 1...60, "How long a provider may take for one push."),
        seconds("LEASE_SECONDS", \.lease, 2...600, "How long a process owns a parcel that it went silent on."),
        seconds(
            "SUSPECT_WINDOW_SECONDS", \.suspectWindow, 1...604_800,
            "How long a doubted token waits before it can be retired."),
        Setting(
            "SUSPECT_SHARE", default: "\(Limits().suspectShare)",
            "Above this share of doubted tokens a route blames itself and retires none; of found ones, it moves none."
        ) { text, settings throws(SettingComplaint) in
            guard let share = Double(text), share > 0, share <= 1 else {
                throw SettingComplaint("must be a number above 0 and at most 1")
            }
            settings.limits.suspectShare = share
        },
        count(
            "SUSPECT_SAMPLE", \.suspectSample, 1...1_000_000, "How many answers a route needs before its doubts count."),
        count(
            "CONNECTIONS_PER_LANE", \.connectionsPerLane, 1...64, "Connections to a provider, per route and process."),
        count(
            "FCM_MESSAGES_PER_MINUTE", \.fcmMessagesPerMinute, 60...1_000_000_000,
            "What is sent to one FCM project in a minute at most, by all processes together, reached within a minute:"
                + " your project's quota."),
        count("PARCEL_MEMBERS", \.parcelMembers, 1...20_000, "Pushes that are leased, sent and settled together."),
        count(
            "BACKLOG_MESSAGES", \.backlogMessages, 1...100_000_000,
            "Unfinished messages of one app that name their receivers, at most 100; further ones are answered 429."
                + " Those that wait count: for their hour, for the end of quiet hours, for a credential."),
        count(
            "BACKLOG_BROADCASTS", \.backlogBroadcasts, 1...1_000_000,
            "The same of all other messages, which have a backlog of their own."),
        count(
            "HISTORY_DAYS", \.historyDays, 1...3_650,
            "How long it can be asked what happened to each push of a message, from the message's day on."),
        count(
            "CONTENT_DAYS", \.contentDays, 1...3_650,
            "How long what a message said is kept after it was accepted; in any case until it is over."),
        count(
            "FEEDBACK_DAYS", \.feedbackDays, 1...3_650,
            "How long an entry of the feed is kept, and can be undone; a reader who was away for longer is told."),
        count("BODY_BYTES", \.bodyBytes, 4_096...67_108_864, "The largest request body that is read."),
    ]

    private static func seconds(
        _ name: String, _ place: WritableKeyPath<Limits, Duration> & Sendable, _ range: ClosedRange<Int>,
        _ meaning: String
    ) -> Setting {
        Setting(name, default: "\(Limits()[keyPath: place].components.seconds)", meaning) {
            text, settings throws(SettingComplaint) in
            settings.limits[keyPath: place] = .seconds(try SettingText.integer(text, range))
        }
    }

    private static func count(
        _ name: String, _ place: WritableKeyPath<Limits, Int> & Sendable, _ range: ClosedRange<Int>, _ meaning: String
    ) -> Setting {
        Setting(name, default: "\(Limits()[keyPath: place])", meaning) { text, settings throws(SettingComplaint) in
            settings.limits[keyPath: place] = try SettingText.integer(text, range)
        }
    }
}
