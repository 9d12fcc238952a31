/// Lines of the answer that are drawn over what they were before, on a terminal.
package struct Screen {
    private var drawn = 0
    private static let noWrap = "\u{1b}[?7l"
    private static let wrap = "\u{1b}[?7h"

    package init() {}

    /// The bytes that put these lines in the place of those before. A line that is too long is cut off by the terminal's
    /// edge, so that each takes one row. Nobody can draw over what has left by its upper edge: what has no room is left out.
    ///
    /// - Parameter rows: of the terminal, by now; nil: nobody knows.
    package mutating func draw(_ lines: [String], rows: Int? = nil) -> String {
        // The cursor rests below the last line.
        let room = rows.map { max(1, $0 - 1) } ?? .max
        drawn = min(drawn, room)
        var lines = lines
        if lines.count > room {
            let left = lines.count - room + 1
            lines = lines.prefix(room - 1) + ["(\(left) more lines: this window is too low for them)"]
        }
        var text = Self.noWrap + (drawn > 0 ? "\u{1b}[\(drawn)A\r" : "")
        for line in lines { text += "\u{1b}[2K" + TerminalText.clean(line) + "\n" }
        // Whatever stood below them.
        if drawn > lines.count { text += "\u{1b}[J" }
        drawn = lines.count
        return text + Self.wrap
    }

    /// The bytes that take the lines away.
    package mutating func clear() -> String {
        defer { drawn = 0 }
        return drawn > 0 ? "\u{1b}[\(drawn)A\r\u{1b}[J" : ""
    }
}
