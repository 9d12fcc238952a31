/// The targets of citations in code and documents: promises, rules, decisions, RFCs and pages.
struct Citations {
    /// The page that lists promises, rules and RFCs.
    static let page = "docs/promises.md"
    /// From this number on, a P with a number is a percentile or a curve.
    private static let promisesEnd = 50
    private static let kinds: [Substring: String] = [
        "RFC": "RFC", "rule": "rule", "Rule": "rule", "decision": "decision", "decisions": "decision",
        "Decision": "decision", "Decisions": "decision",
    ]

    /// The names as they are cited: "P1" for a promise, or the kind and the number.
    let names: Set<String>
    /// The pages by their paths from the project's root.
    private let pages: [String]

    /// - Parameter promises: the text of the page of promises.
    init(promises: String, pages: [String]) {
        var names: Set<String> = []
        for line in promises.split(separator: "\n") {
            if let promise = line.firstMatch(of: /^- [*][*](P[0-9]+)/) { names.insert(String(promise.1)) }
            if let rule = line.firstMatch(of: /^([0-9]+)\. [*][*]/) { names.insert("rule \(rule.1)") }
            if let row = line.firstMatch(of: /^\| ([0-9, ]+) \|/) {
                names.formUnion(Self.words(of: row.1).map { "RFC \($0)" })
            }
        }
        let folder = "docs/decisions/"
        for page in pages where page.hasPrefix(folder) {
            names.insert("decision \(page.dropFirst(folder.count).prefix(4))")
        }
        self.names = names
        self.pages = pages
    }

    /// The citations in a text that lead nowhere, with their lines, counted from 1.
    func missing(in lines: [Substring]) -> [(line: Int, name: String)] {
        lines.enumerated().flatMap { place, line in
            Self.citations(in: line).filter { !names.contains($0) }.map { (line: place + 1, name: $0) }
        }
    }

    /// The pages that the file's comments name and that do not exist, with their lines, counted from 1.
    func missingPages(in source: SourceText) -> [(line: Int, name: String)] {
        var missing: [(line: Int, name: String)] = []
        for (place, line) in source.lines.enumerated() where source.commentLines[place] {
            for match in line.matches(of: /[A-Za-z0-9_.\/-]+\.md/) where !hasPage(match.output) {
                missing.append((line: place + 1, name: String(match.output)))
            }
        }
        return missing
    }

    private func hasPage(_ name: Substring) -> Bool { pages.contains { $0 == name || $0.hasSuffix("/\(name)") } }

    /// A promise stands alone. A number of another kind follows one blank behind its kind.
    private static func citations(in line: Substring) -> [String] {
        let words = words(of: line)
        return words.indices.flatMap { place -> [String] in
            let word = words[place]
            if word.first == "P", let number = Int(word.dropFirst()), number < promisesEnd { return ["P\(number)"] }
            guard let kind = kinds[word] else { return [] }
            let list = words[(place + 1)...].prefix { $0 == "and" || isNumber($0) }.filter(isNumber)
            guard let first = list.first, line[word.endIndex..<first.startIndex] == " " else { return [] }
            // Only decisions are cited several at a time. Their numbers have four digits.
            let cited = kind == "decision" ? list.filter { $0.count == 4 } : [first]
            return cited.map { "\(kind) \($0)" }
        }
    }

    private static func isNumber(_ word: Substring) -> Bool { !word.isEmpty && word.allSatisfy(\.isNumber) }

    private static func words(of line: Substring) -> [Substring] {
        line.split { !($0.isLetter || $0.isNumber) }
    }
}
