/// How tests are called: a failure line shows the suite's name and the test's.
extension Rule {
    static let testNameCharactersMax = 90
    /// A name that opens with one of these is understood only behind its suite's name.
    private static let dependentOpenings: Set<String> = [
        "and", "or", "of", "is", "are", "was", "as", "whose", "who", "whom", "what", "but", "that", "which",
    ]

    static let testNamesStandAlone = Rule("names of suites and tests are short, and tests' names stand alone") { file in
        guard file.isTest else { return [] }
        return file.source.displayNames.flatMap { name in
            var complaints: [String] = []
            if name.text.count > testNameCharactersMax { complaints.append("a name of \(name.text.count) characters") }
            let words = name.text.split { !($0.isLetter || $0 == "-") }.map { $0.lowercased() }
            if !name.isSuite, let first = words.first, dependentOpenings.contains(first) {
                complaints.append("a test's name opens with \"\(first)\"")
            }
            complaints += words.filter(Prose.retiredWords.contains).map { "\"\($0)\" is retired: see docs/glossary.md" }
            return complaints.map { Finding(path: file.source.path, line: name.line, complaint: $0) }
        }
    }
}

/// The display name of a suite or a test.
struct DisplayName: Equatable {
    /// The line of its declaration, counted from 1.
    let line: Int
    let isSuite: Bool
    let text: String
}

extension SourceText {
    /// Names that are written as one literal, or as several joined by `+`.
    var displayNames: [DisplayName] {
        let text = lines.joined(separator: "\n")
        var names: [DisplayName] = []
        for (kind, isSuite) in [("Suite", true), ("Test", false)] {
            let mark = "@\(kind)("
            var rest = text[...]
            var line = 1
            while let start = rest.firstRange(of: mark) {
                line += rest[..<start.upperBound].count { $0 == "\n" }
                rest = rest[start.upperBound...]
                if let name = Self.literal(at: rest) {
                    names.append(DisplayName(line: line, isSuite: isSuite, text: name))
                }
            }
        }
        return names
    }

    private static func literal(at text: Substring) -> String? {
        var name = ""
        var rest = text
        repeat {
            rest = rest.drop { $0.isWhitespace || $0 == "+" }
            guard rest.first == "\"" else { break }
            rest = rest.dropFirst()
            while let character = rest.first, character != "\"" {
                if character == "\\" { rest = rest.dropFirst() }
                name.append(rest.removeFirst())
            }
            rest = rest.dropFirst()
        } while rest.drop { $0.isWhitespace }.first == "+"
        return name.isEmpty ? nil : name
    }
}
