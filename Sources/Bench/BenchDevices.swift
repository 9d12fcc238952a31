import CommandLine
import Foundation

/// A phone as a mobile backend would register it: one user, one of a few locales and time zones, and attributes. Its
/// tags are ones that all, a tenth and a hundredth of the phones have. The same number is always the same phone.
struct BenchDevice {
    private static let locales = ["en-GB", "de-DE", "fr-FR", "pt-BR", "ja-JP"]
    private static let timeZones = [
        "Europe/London", "Europe/Berlin", "America/Sao_Paulo", "America/Los_Angeles", "Asia/Kolkata", "Asia/Tokyo",
        "Australia/Sydney",
    ]

    /// The phone's number, from 1.
    let number: Int

    var installation: String { "phone-\(number)" }
    var user: String { "reader-\(number)" }
    var locale: String { Self.locales[number % Self.locales.count] }
    var timeZone: String { Self.timeZones[number % Self.timeZones.count] }
    var appVersion: String { "4.\(number % 40)" }
    var tags: [String] {
        ["news"] + (number.isMultiple(of: 10) ? ["sport"] : []) + (number.isMultiple(of: 100) ? ["chess"] : [])
    }
    /// A JSON object.
    var attributes: String {
        #"{"first_name":"Reader \#(number)","plan":"\#(number.isMultiple(of: 20) ? "pro" : "free")"}"#
    }

    /// A distinct token, as long as an APNs token.
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

extension BenchDevice {
    private static let linesAtOnce = 10_000

    /// Writes a file with one line for each of these numbers.
    static func write(_ numbers: Range<Int>, to path: String, _ line: (BenchDevice) -> String) throws {
        // Not only for this user, because PostgreSQL may run as another one.
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644]),
            let out = FileHandle(forWritingAtPath: path)
        else { throw CommandFault(.failed, "\(path) can't be written") }
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: linesAtOnce) {
            let end = min(numbers.upperBound, start + linesAtOnce)
            try out.write(contentsOf: Data((start..<end).map { line(BenchDevice(number: $0)) + "\n" }.joined().utf8))
        }
        try out.close()
    }
}

extension BenchWorld {
    /// The data folder for this number of devices. The next measurement with the same number finds the rows there.
    static func data(of devices: Int) -> String { "devices-\(devices)" }

    func has(devices: Int) async -> Bool {
        (try? await client.get(Self.app + "/devices/" + BenchDevice(number: devices).installation, as: .wholeDevice))
            != nil
    }
}
