import Content
import JSON

package struct NotificationDrawing {
    package var app: String
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var image: String?
    package var remarks: [String] = []
    private static let width = 46

    /// Draws a payload that APNs accepted.
    ///
    /// - Parameter badge: shown in place of the payload's number if each phone has its own next number.
    package init(apns payload: JSONValue, app: String, badge: String? = nil) {
        self.app = app
        let aps = payload.object?["aps"]?.object
        switch aps?["alert"] {
        case .string(let text)?: body = text
        case .object(let alert)?:
            title = alert["title"]?.string ?? alert["title-loc-key"]?.string
            subtitle = alert["subtitle"]?.string
            body = alert["body"]?.string ?? alert["loc-key"]?.string
        default: break
        }
        if let number = aps?["badge"]?.integer { remarks.append("badge \(badge ?? String(number))") }
        if let sound = aps?["sound"]?.string { remarks.append("sound \(sound)") }
        if let sound = aps?["sound"]?.object { remarks.append("critical sound \(sound["name"]?.string ?? "default")") }
        if aps?["content-available"]?.integer == 1 { remarks.append("wakes the app") }
        image = payload.object?[DataName.image]?.string
        if let link = payload.object?[DataName.link]?.string { remarks.append("opens \(TerminalText.clean(link))") }
        for (name, member) in [
            ("category", "category"), ("thread", "thread-id"), ("interruption", "interruption-level"),
        ] { if let text = aps?[member]?.string { remarks.append("\(name) \(TerminalText.clean(text))") } }
        let others = (payload.object?.members ?? []).filter { $0.name != "aps" }.map(\.name)
        if !others.isEmpty { remarks.append("data " + others.joined(separator: ", ")) }
    }

    /// Draws the body of a request to FCM as Android shows it.
    package init(fcm request: JSONValue, app: String, badge: String? = nil) {
        self.app = app
        let message = request.object?["message"]?.object
        let common = message?["notification"]?.object
        let android = message?["android"]?.object?["notification"]?.object
        title = android?["title"]?.string ?? common?["title"]?.string
        body = android?["body"]?.string ?? common?["body"]?.string
        if let count = android?["notification_count"]?.integer { remarks.append("badge \(badge ?? String(count))") }
        if let sound = android?["sound"]?.string { remarks.append("sound \(sound)") }
        if let channel = android?["channel_id"]?.string { remarks.append("channel \(TerminalText.clean(channel))") }
        if let priority = android?["notification_priority"]?.string { remarks.append(TerminalText.clean(priority)) }
        image = android?["image"]?.string ?? common?["image"]?.string
        if let link = message?["data"]?.object?[DataName.link]?.string {
            remarks.append("opens \(TerminalText.clean(link))")
        }
        let data = (message?["data"]?.object?.members ?? []).map(\.name)
        if !data.isEmpty { remarks.append("data " + data.joined(separator: ", ")) }
    }

    package var lines: [String] {
        let inner = Self.width - 4
        var text: [String] = []
        if title == nil && subtitle == nil && body == nil {
            text = ["(nothing is shown)"]
        } else {
            let head = TerminalText.clean(app.uppercased())
            let gap = max(1, inner - TerminalText.columns(head) - "now".count)
            text.append(head + String(repeating: " ", count: gap) + "now")
            for part in [title, subtitle, body] {
                if let part { text += Self.wrapped(part, to: inner) }
            }
            if let image { text += Self.wrapped("[picture: \(image)]", to: inner) }
        }
        let edge = String(repeating: "-", count: Self.width - 2)
        let rows = text.map { line in
            "| " + line + String(repeating: " ", count: max(0, inner - TerminalText.columns(line))) + " |"
        }
        return ["." + edge + "."] + rows + ["'" + edge + "'"]
            + (remarks.isEmpty ? [] : ["  " + remarks.joined(separator: " · ")])
    }

    private static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            var line = ""
            // Characters that cleaning makes visible take columns too.
            for word in TerminalText.clean(String(paragraph)).split(separator: " ") {
                var word = word
                if !line.isEmpty, TerminalText.columns(line) + 1 + TerminalText.columns(word) > width {
                    lines.append(line)
                    line = ""
                }
                while TerminalText.columns(word) > width {
                    let piece = TerminalText.prefix(word, columns: width)
                    lines.append(String(piece))
                    word = word[piece.endIndex...]
                }
                line += (line.isEmpty ? "" : " ") + word
            }
            lines.append(line)
        }
        return lines
    }
}
