/// The rules for SQL in string literals.
extension Rule {
    static let sqlNamesItsValues = Rule("SQL names its parameters and states") { file in
        guard !file.isTest else { return [] }
        return file.source.lines.indices.flatMap { line in
            let text = file.source.literalText(line)
            let complaints = [
                (text.contains(/\$[0-9]/), "a parameter has a number: write :name"),
                (
                    text.contains(/state[a-z: ]*(=|<>|<|>|<=|>=|IN \() ?[0-9]/),
                    "a state is a number: interpolate the enum's case"
                ),
            ]
            return complaints.filter(\.0).map { Finding(path: file.source.path, line: line + 1, complaint: $0.1) }
        }
    }
}

extension SourceText {
    /// The text of the line's string literals, without comments.
    fileprivate func literalText(_ line: Int) -> String {
        let bytes = Array(lines[line].utf8)
        let blanked = zip(bytes, code[line]).map { byte, kept in
            kept == UInt8(ascii: " ") ? byte : UInt8(ascii: " ")
        }
        let text = String(decoding: blanked, as: UTF8.self)
        guard let comment = text.firstRange(of: "//") else { return text }
        return String(text[..<comment.lowerBound])
    }
}
