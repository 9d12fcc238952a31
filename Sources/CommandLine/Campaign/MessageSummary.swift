import Foundation
import JSON

/// The lines and cells by which people recognize a message: its name, texts, audience, author and hour.
package struct MessageSummary {
    private let message: JSONValue
    private let zone: TimeZone
    private static let cellColumns = 32

    package init(_ message: JSONValue, zone: TimeZone = .current) { (self.message, self.zone) = (message, zone) }

    package var lines: [String] {
        var lines: [String] = []
        if let name { lines.append("  name: \(name)") }
        lines += textLines
        if let audience { lines.append("  to: \(audience)") }
        let author = text("author").map { "by \($0), " } ?? ""
        if let accepted = text("accepted_at") {
            lines.append("  \(author)accepted on \(ClockText.text(accepted, in: zone))")
        } else if !author.isEmpty {
            lines.append("  \(author.dropLast(", ".count))")
        }
        return lines
    }

    private var textLines: [String] {
        guard let texts = message.object?["texts"] else { return [] }
        if texts.isNull { return ["  text: no longer stored"] }
        let lines = message.elements("texts").map { text in
            let language = text.object?["language"]?.string.map { " (\(TerminalText.clean($0)))" } ?? ""
            return "  text\(language): \(Self.joined(text))"
        }
        // Only the answer about one message has the request.
        let notification = message.object?["request"]?.object?["notification"]?.object ?? JSONObject()
        return lines + Self.addressLines(of: notification)
    }

    private static let languagesShown = 8
    private static let textColumns = 300

    /// The texts of a message that is to be sent, one line for each language.
    package static func lines(ofTextsIn message: JSONObject) -> [String] {
        guard let notification = message["notification"]?.object else { return ["  text: none, a push without text"] }
        let common = line(of: notification).map { ["  text: \($0)"] } ?? []
        let localizations = notification["localizations"]?.object?.members ?? []
        let others = localizations.prefix(languagesShown).compactMap { localization in
            line(of: localization.value.object ?? JSONObject()).map {
                "  text (\(TerminalText.clean(localization.name))): \($0)"
            }
        }
        let left = localizations.count - languagesShown
        return common + others + (left > 0 ? ["  and \(left) more languages"] : []) + addressLines(of: notification)
    }

    /// The picture and the link, in each language that has its own.
    private static func addressLines(of notification: JSONObject) -> [String] {
        let localizations = (notification["localizations"]?.object?.members ?? []).prefix(languagesShown)
        let texts =
            [("", notification)]
            + localizations.map { (" (\(TerminalText.clean($0.name)))", $0.value.object ?? JSONObject()) }
        return texts.flatMap { language, text in
            ["image", "link"].compactMap { name in
                text[name]?.string.map {
                    "  \(name)\(language): \(TerminalText.cut(TerminalText.clean($0), columns: textColumns))"
                }
            }
        }
    }

    private static func line(of text: JSONObject) -> String? {
        let parts = ["title", "subtitle", "body"].compactMap { text[$0]?.string }
        let line = TerminalText.clean(
            parts.joined(separator: ": ").split(whereSeparator: \.isNewline).joined(separator: " "))
        return parts.isEmpty ? nil : TerminalText.cut(line, columns: textColumns)
    }

    /// A name for a sentence: the message's own in quotation marks, else its text.
    package var title: String {
        if let name { return "\"\(name)\"" }
        return textCell.isEmpty ? "without a text" : "\"\(textCell)\""
    }

    /// The name, or else the text.
    var titleCell: String { name.map(Self.cut) ?? textCell }
    package var nameCell: String { name.map(Self.cut) ?? "-" }
    package var audienceCell: String { audience.map(Self.cut) ?? "-" }
    package var authorCell: String { text("author").map(Self.cut) ?? "-" }
    package var acceptedCell: String { hourCell("accepted_at") }
    /// The common text, or the first one that there is.
    package var textCell: String { message.elements("texts").first.map { Self.cut(Self.joined($0)) } ?? "" }
    package var dueCell: String { hourCell("send_at") + (message.isAtLocalHour ? " local" : "") }

    private func hourCell(_ member: String) -> String {
        guard let text = text(member) else { return "-" }
        return ClockText.cell(text, in: zone)
    }

    private var name: String? { text("name") }
    private var audience: String? { text("audience_text") }

    private func text(_ member: String) -> String? {
        message.object?[member]?.string.flatMap { $0.isEmpty ? nil : TerminalText.clean($0) }
    }

    private static func joined(_ text: JSONValue) -> String {
        let parts = ["title", "body"].compactMap { text.object?[$0]?.string }
        let line = parts.joined(separator: ": ").split(whereSeparator: \.isNewline).joined(separator: " ")
        return TerminalText.clean(line)
    }

    private static func cut(_ text: String) -> String { TerminalText.cut(text, columns: cellColumns) }
}
