/// The device as an app registers it at the gateway: the provider's token, to which pushes are sent, and its language.
///
/// Its description leaves the token out.
public struct DeviceRegistration: Equatable, Sendable {
    /// The service that carries pushes to the device.
    public struct Provider: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let apns = Provider(rawValue: "apns")
        public static let fcm = Provider(rawValue: "fcm")

        /// The providers whose own objects this version of the library reads.
        static let known = [apns, fcm]
        fileprivate static let ofAppleTokens = apns
    }

    /// The environment of an APNs token: that of apps from the store, or that of development.
    public struct Environment: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let production = Environment(rawValue: "production")
        public static let sandbox = Environment(rawValue: "sandbox")
    }

    public var provider: Provider
    /// The token as the provider's own library gives it; for APNs in hexadecimal.
    public var token: String
    /// nil: the gateway's default.
    public var environment: Environment?
    /// The app's bundle id, for APNs.
    public var topic: String?
    /// The device's language, such as `en-GB`.
    public var locale: String?
    /// The device's time zone, such as `Europe/Rome`.
    public var timeZone: String?
    public var appVersion: String?

    public init(provider: Provider, token: String) { (self.provider, self.token) = (provider, token) }

    /// A device with a token of APNs.
    /// - Parameters:
    ///   - bytes: the device token, as the system gives it to the app.
    ///   - topic: the app's bundle id.
    public init(appleToken bytes: some Sequence<UInt8>, topic: String, environment: Environment = .production) {
        let digits = bytes.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }.joined()
        self.init(provider: Provider.ofAppleTokens, token: digits)
        (self.topic, self.environment) = (topic, environment)
    }

    /// The members of a request.
    var members: JSON.Object {
        let texts: [(name: String, text: String?)] = [
            ("provider", provider.rawValue), ("token", token), ("environment", environment?.rawValue), ("topic", topic),
            ("locale", locale), ("time_zone", timeZone), ("app_version", appVersion),
        ]
        return JSON.Object(given: texts.map { (name: $0.name, value: $0.text.map { JSON.string($0) }) })
    }
}

extension DeviceRegistration: CustomStringConvertible {
    public var description: String { "a registration with \(provider.rawValue)" }
}

/// The effect of a registration on the device's token. The set is open: a later gateway may send another.
public struct TokenStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The gateway knew no token of the device.
    public static let firstUse = TokenStatus(rawValue: "first_use")
    public static let unchanged = TokenStatus(rawValue: "unchanged")
    /// The device has another token than before. Its subscriptions go on with the new one.
    public static let changed = TokenStatus(rawValue: "changed")
}

extension JSON.Object {
    /// Leaves out the members without a value.
    init(given members: [(name: String, value: JSON?)]) {
        self.init(members.compactMap { member in member.value.map { (name: member.name, value: $0) } })
    }
}
