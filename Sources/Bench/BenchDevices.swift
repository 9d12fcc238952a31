import CommandLine

/// Phones as a mobile backend would bring them: one user each, of a few languages and clocks, with tags that all, a tenth
/// and a hundredth of them have, and attributes. The same number is always the same phone.
struct BenchDevice {
    private static let locales = ["en-GB", "de-DE", "fr-FR", "pt-BR", "ja-JP"]
    private static let timeZones = [
        "Europe/London", "Europe/Berlin", "America/Sao_Paulo", "America/Los_Angeles", "Asia/Kolkata", "Asia/Tokyo",
        "Australia/Sydney",
    ]

    /// From 1 on.
    let number: Int

    var installation: String { "phone-\(number)" }
    var user: String { "reader-\(number)" }
    var locale: String { Self.locales[number % Self.locales.count] }
    var timeZone: String { Self.timeZones[number % Self.timeZones.count] }
    var appVersion: String { "4.\(number % 40)" }
    var tags: [String] {
        ["news"] + (number.isMultiple(of: 10) ? ["sport"] : []) + (number.isMultiple(of: 100) ? ["chess"] : [])
    }
    /// An object of JSON.
    var attributes: String {
        #"{"first_name":"Reader \#(number)","plan":"\#(number.isMultiple(of: 20) ? "pro" : "free")"}"#
    }

    /// Distinct, and as long as APNs'.
    var token: String {
        let digits = String(number, radix: 16)
        return "a11e" + String(repeating: "0", count: 60 - digits.count) + digits
    }

    /// A line of an import.
    var line: String {
        #"{"installation":"\#(installation)","provider":"apns","topic":"\#(OwnStandIns.topic)","token":"\#(token)","#
            + #""user":"\#(user)","locale":"\#(locale)","time_zone":"\#(timeZone)","app_version":"\#(appVersion)","#
            + #""tags":["\#(tags.joined(separator: #"",""#))"],"attributes":\#(attributes)}"#
    }
}

extension BenchWorld {
    /// Where the rows of so many of these devices lie: whoever measures with as many finds them there.
    static func data(of devices: Int) -> String { "devices-\(devices)" }

    func has(devices: Int) async -> Bool {
        (try? await client.get(Self.app + "/devices/" + BenchDevice(number: devices).installation, as: .wholeDevice))
            != nil
    }
}
