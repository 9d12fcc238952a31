/// The discussion in a command's help, below its first line.
package enum HelpText {
    /// Fits a terminal of the usual width. An example that the terminal breaks can't be pasted.
    static let columnsMax = 78
    private static let indent = "  "
    private static let furtherIndent = "      "

    /// Returns the text, and below it the examples, ready to be pasted: long ones continue with a backslash.
    package static func of(_ text: String = "", examples: [String]) -> String {
        let lines = examples.flatMap { example in
            let pieces = pieces(of: example)
            return pieces.enumerated().map { place, piece in
                (place == 0 ? indent : furtherIndent) + piece + (place < pieces.count - 1 ? " \\" : "")
            }
        }
        return (text.isEmpty ? "" : text + "\n\n") + "EXAMPLES:\n" + lines.joined(separator: "\n")
    }

    /// Splits an example into pieces that fit their lines with indent and backslash.
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

    /// Splits an example into groups that stay on one line: an option and its value, or text in quotes.
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
