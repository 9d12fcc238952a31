package struct Screen {
    private var drawn = 0
    private static let noWrap = "\u{1b}[?7l"
    private static let wrap = "\u{1b}[?7h"

    package init() {}

    /// Returns the bytes that replace the previous lines with these. The terminal cuts off long lines, so that each
    /// takes one row. Rows that have scrolled off the top can't be redrawn, so lines without room are left out.
    ///
    /// - Parameter rows: the terminal's present rows; nil: unknown.
    package mutating func draw(_ lines: [String], rows: Int? = nil) -> String {
        // The cursor stays below the last line.
        let room = rows.map { max(1, $0 - 1) } ?? .max
        drawn = min(drawn, room)
        var lines = lines
        if lines.count > room {
            let left = lines.count - room + 1
            lines = lines.prefix(room - 1) + ["(\(left) more lines: this window is too low for them)"]
        }
        var text = Self.noWrap + (drawn > 0 ? "\u{1b}[\(drawn)A\r" : "")
        for line in lines { text += "\u{1b}[2K" + TerminalText.clean(line) + "\n" }
        // Clears the rows below.
        if drawn > lines.count { text += "\u{1b}[J" }
        drawn = lines.count
        return text + Self.wrap
    }

    package mutating func clear() -> String {
        defer { drawn = 0 }
        return drawn > 0 ? "\u{1b}[\(drawn)A\r\u{1b}[J" : ""
    }
}
