import ArgumentParser
import Foundation
import Model
import Reactor

/// The texts of a message, which its author may also edit later.
struct TextOptions: ParsableArguments {
    @Option(help: "The title.") var title: String?
    @Option(help: "The subtitle (iPhones).") var subtitle: String?
    @Option(help: "The text.") var body: String?
    @Option(help: .value("url", "A picture in the notification: https://...")) var image: String?
    @Option(help: .value("url", "What the app opens when it is tapped.")) var link: String?
    @Option(help: .value("id", "The group of actions that the app has registered (iPhones).")) var category: String?
    @Option(help: .value("id", "The notification channel (Android).")) var channel: String?
    @Option(help: .value("id", "Groups notifications (iPhones).")) var thread: String?
    @Option(
        help: .value("level", "How much it may disturb: passive, active, time_sensitive or critical."),
        completion: .list(InterruptionLevel.allCases.map(\.name)))
    var interruption: String?
    @Option(
        help: .value(
            "fr:title=...",
            "The title, subtitle, body, image or link in a language; repeatable. Without a language: the common one."
        )
    )
    var text: [String] = []
    @Option(
        help: .value("path", "A file with sections such as [fr] and lines title: and body: (docs/campaigns.md)."),
        completion: .file())
    var texts: String?

    /// Single options win over the file.
    func given() throws(CommandFault) -> MessageTexts {
        var given = MessageTexts()
        for option in text { try given.add(option: option) }
        for part in MessageTexts.Part.allCases {
            guard let value = value(of: part) else { continue }
            try MessageTexts.checkVisible(value, "--\(part.rawValue)")
            guard given.set(part, of: nil, to: value) else {
                throw CommandFault(.usage, "--\(part.rawValue) and --text \(part.rawValue)=... are the same; give one")
            }
        }
        guard let texts else { return given }
        let name = texts == "-" ? "standard input" : texts
        return given.over(try TextsFile.read(try filledContents(ofFile: texts), name: name))
    }
}

extension TextOptions {
    private func value(of part: MessageTexts.Part) -> String? {
        switch part {
        case .title: title
        case .subtitle: subtitle
        case .body: body
        case .image: image
        case .link: link
        case .category: category
        case .channel: channel
        case .thread: thread
        case .interruption: interruption
        }
    }
}

struct NameOption: ParsableArguments {
    @Option(help: .value("text", "The campaign's name, which lists show. Devices don't get it.")) var name: String?
}

struct HourOption: ParsableArguments {
    @Option(
        help: .value(
            "9:00",
            """
            Schedules the message: 9:00, "tomorrow 9:00", 2026-12-01T12:00 (your time), 2026-12-01T12:00:00Z, or now; \
            does not wait.
            """))
    var at: String?

    /// nil: no time is given.
    func asked() throws(CommandFault) -> AskedTime? {
        guard let at else { return nil }
        return try AskedTime(at, now: Clocks.wallNow(), zone: .current)
    }
}
