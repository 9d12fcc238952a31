/// What a command's help says below its first line.
package enum HelpText {
    /// Where a terminal of the usual width breaks no line: an example that was broken can't be pasted.
    static let columnsMax = 78
    private static let indent = "  "
    private static let furtherIndent = "      "

    /// Words, and below them the examples as they can be pasted; long ones go on over several lines, as shells read it.
    package static func of(_ text: String = "", examples: [String]) -> String {
        let lines = examples.flatMap { example in
            let pieces = pieces(of: example)
            return pieces.enumerated().map { place, piece in
                (place == 0 ? indent : furtherIndent) + piece + (place < pieces.count - 1 ? " \\" : "")
            }
        }
        return (text.isEmpty ? "" : text + "\n\n") + "EXAMPLES:\n" + lines.joined(separator: "\n")
    }

    /// Each fits its line with what stands around it.
    private static func pieces(of example: String) -> [String] {
        let room = columnsMax - furtherIndent.count - 2
        var pieces: [String] = []
        var piece = ""
        for group in groups(of: example) {
            if !piece.isEmpty, piece.count + 1 + group.count > room {
                pieces.append(piece)
                piece = ""
            }
            piece += (piece.isEmpty ? "" : " ") + group
        }
        return pieces + [piece]
    }

    /// Words that stay together: an option and its value, what stands in quotes.
    private static func groups(of example: String) -> [String] {
        var groups: [String] = []
        var isQuoted = false
        for word in example.split(separator: " ", omittingEmptySubsequences: false) {
            let begins = !isQuoted && (word.hasPrefix("--") || word == "|" || word == "&&")
            if begins || groups.isEmpty {
                groups.append(String(word))
            } else {
                groups[groups.count - 1] += " " + word
            }
            if !word.count(where: { $0 == "\"" }).isMultiple(of: 2) { isQuoted.toggle() }
        }
        return groups
    }
}
