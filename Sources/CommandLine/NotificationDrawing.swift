import ProviderInterface

package struct NotificationDrawing {
    package var app: String
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var image: String?
    package var remarks: [String] = []
    private static let width = 46

    /// - Parameter picture: nil: nothing is shown.
    package init(_ picture: NotificationPicture?, app: String) {
        (self.app, title, subtitle) = (app, picture?.title, picture?.subtitle)
        (body, image) = (picture?.body, picture?.image)
        remarks = (picture?.facts ?? []).map { TerminalText.clean($0) }
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
