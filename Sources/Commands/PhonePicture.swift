import JSON

/// A notification as a phone would show it, in characters.
package struct PhonePicture {
    package var app: String
    package var title: String?
    package var subtitle: String?
    package var body: String?
    /// What no screen shows as text.
    package var remarks: [String] = []
    private static let width = 46

    package init(app: String) { self.app = app }

    /// Of a payload as APNs took it.
    package init(apns payload: JSONValue, app: String) {
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
        if let badge = aps?["badge"]?.integer { remarks.append("badge \(badge)") }
        if let sound = aps?["sound"]?.string { remarks.append("sound \(sound)") }
        if aps?["content-available"]?.integer == 1 { remarks.append("wakes the app") }
        let others = (payload.object?.members ?? []).filter { $0.name != "aps" }.map(\.name)
        if !others.isEmpty { remarks.append("data " + others.joined(separator: ", ")) }
    }

    /// Of a request's body as FCM took it, to Android.
    package init(fcm request: JSONValue, app: String) {
        self.app = app
        let message = request.object?["message"]?.object
        let common = message?["notification"]?.object
        let android = message?["android"]?.object?["notification"]?.object
        title = android?["title"]?.string ?? common?["title"]?.string
        body = android?["body"]?.string ?? common?["body"]?.string
        if let count = android?["notification_count"]?.integer { remarks.append("badge \(count)") }
        if let sound = android?["sound"]?.string { remarks.append("sound \(sound)") }
        if let channel = android?["channel_id"]?.string { remarks.append("channel \(channel)") }
        let data = (message?["data"]?.object?.members ?? []).map(\.name)
        if !data.isEmpty { remarks.append("data " + data.joined(separator: ", ")) }
    }

    package var lines: [String] {
        let inner = Self.width - 4
        var text: [String] = []
        if title == nil && subtitle == nil && body == nil {
            text = ["(nothing is shown)"]
        } else {
            let head = app.uppercased()
            text.append(head + String(repeating: " ", count: max(1, inner - head.count - 3)) + "now")
            for part in [title, subtitle, body] {
                if let part { text += Self.wrapped(part, to: inner) }
            }
        }
        let edge = String(repeating: "-", count: Self.width - 2)
        let rows = text.map { "| " + $0 + String(repeating: " ", count: max(0, inner - $0.count)) + " |" }
        return ["." + edge + "."] + rows + ["'" + edge + "'"]
            + (remarks.isEmpty ? [] : ["  " + remarks.joined(separator: " · ")])
    }

    private static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            var line = ""
            for word in paragraph.split(separator: " ") {
                var word = word
                if !line.isEmpty, line.count + 1 + word.count > width {
                    lines.append(line)
                    line = ""
                }
                while word.count > width {
                    lines.append(String(word.prefix(width)))
                    word = word.dropFirst(width)
                }
                line += (line.isEmpty ? "" : " ") + word
            }
            lines.append(line)
        }
        return lines
    }
}
