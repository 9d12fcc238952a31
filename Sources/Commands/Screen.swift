import JSON

/// Lines of the answer that are drawn over what they were before, on a terminal.
package struct Screen {
    private var drawn = 0
    private static let noWrap = "\u{1b}[?7l"
    private static let wrap = "\u{1b}[?7h"

    package init() {}

    /// The bytes that put these lines in the place of those before. A line that is too long is cut off by the terminal's
    /// edge, so that each takes one row.
    package mutating func draw(_ lines: [String]) -> String {
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
