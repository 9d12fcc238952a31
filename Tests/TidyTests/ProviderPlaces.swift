/// The files that name a concrete provider, such as APNs, in code or in a text. Comments may: they say where a fact is
/// from.
enum ProviderPlaces {
    /// A new provider adds something to these. docs/architecture.md says what, in the same order. The end "/" marks a
    /// folder.
    static let touched = [
        "Sources/Providers/", "Package.swift", "Sources/Model/Providers.swift",
        "Sources/Server/SettingsCatalogue.swift", "Sources/Server/SettingsReader.swift",
        "Sources/Server/ProviderEndpoints.swift", "Sources/CommandLine/CredentialsCommand.swift",
        "docs/openapi.yaml", "Sources/Simulator/", "Sources/Server/SimulateCommand.swift",
        "Sources/Server/SimulatorFiles.swift",
    ]

    /// These know today's providers, and a new one needs none of them.
    static let known = texts + namesOnTheWire + demonstrations

    /// Explanations and examples for people, which may name a provider as an example.
    private static let texts = [
        "Sources/Requests/Devices/ImportForm.swift", "Sources/Requests/Messages/AudienceRequest.swift",
        "Sources/Requests/Messages/MessageRequest.swift", "Sources/Requests/Problems/ErrorPage.swift",
        "Sources/Requests/Problems/ProblemCode+Credentials.swift",
        "Sources/Requests/Problems/ProblemCode+Messages.swift", "Sources/Requests/Problems/ProblemCode+Values.swift",
        "Sources/CommandLine/DevicesCommand.swift", "Sources/CommandLine/MessageOptions.swift",
        "Sources/CommandLine/SendCommand.swift", "Sources/CommandLine/Campaign/TextOptions.swift",
        "Sources/Server/CarillonCommand.swift",
    ]

    /// Members of the API and of stored settings, APNs' header for a push's id, and the extensions of its certificates.
    private static let namesOnTheWire = [
        "Sources/Requests/Apps/WakeUpRequest.swift", "Sources/API/Messages/HistoryAnswer.swift",
        "Sources/CarillonClient/DeviceRegistration.swift",
        "Sources/CommandLine/WakeUpText.swift", "Sources/Encodings/PushIdentity.swift",
        "Sources/HTTP2/ClientNotes.swift", "Sources/HTTP2/HTTP2ClientEvent.swift", "Sources/HTTP2/ServerNotes.swift",
        "Sources/Store/Registry/WakeUpSettings+JSON.swift", "Sources/TLS/AppleExtensions.swift",
        "Sources/TLS/CertificateAuthority.swift", "Sources/TLS/TLSCertificate.swift",
    ]

    /// Gateways of their own with stand-ins, for demonstrations and measurements.
    private static let demonstrations = [
        "Sources/Bench/", "Sources/CommandLine/Demo/BroadcastDemo.swift", "Sources/CommandLine/Demo/DeferralText.swift",
        "Sources/CommandLine/Demo/DemoCommand.swift", "Sources/CommandLine/Demo/DemoScenario.swift",
        "Sources/CommandLine/Demo/StockPhone.swift", "Sources/CommandLine/Demo/StocksDemo.swift",
        "Sources/CommandLine/Demo/StocksScenario.swift",
        "Sources/CommandLine/Demo/WakeUpDemo.swift", "Sources/CommandLine/Demo/WakeUpScenario.swift",
        "Sources/CommandLine/OwnWorld/OwnGateway.swift", "Sources/CommandLine/OwnWorld/OwnStandIns.swift",
    ]

    private static let names = [
        "APNs", "APNS", "apns", "FCM", "fcm", "HMS", "hms", "WebPush", "webpush", "Apple", "Google", "Firebase",
        "Android", "iPhone",
    ]

    /// Whether the line names a provider or its maker, as a word or as the beginning of a name such as `fcmPort`.
    static func names(in line: some StringProtocol) -> Bool {
        names.contains { name in
            line.ranges(of: name).contains { range in
                range.lowerBound == line.startIndex || !line[line.index(before: range.lowerBound)].isLetter
            }
        }
    }

    /// The line without the comment at its end.
    static func code(of line: Substring) -> Substring {
        if line.drop(while: { $0 == " " }).hasPrefix("//") { return "" }
        return line.firstRange(of: " // ").map { line[..<$0.lowerBound] } ?? line
    }

    static func covers(_ place: String, _ path: String) -> Bool {
        place.hasSuffix("/") ? path.hasPrefix(place) : path == place
    }
}
