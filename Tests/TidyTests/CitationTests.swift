import Testing

@Suite("The project's citations")
struct CitationTests {
    private func citations() throws -> Citations {
        Citations(promises: try Project.text(Citations.page), pages: try Project.pages())
    }

    private func expectNone(_ complaints: [String], at place: SourceLocation = #_sourceLocation) {
        #expect(complaints.isEmpty, "\(complaints.map { "\n" + $0 }.joined())", sourceLocation: place)
    }

    @Test("name promises, rules, decisions and RFCs that the documents have")
    func names() throws {
        let citations = try citations()
        #expect(citations.names.count > 100)
        var texts = try Project.files().map { (path: $0.source.path, lines: $0.source.lines) }
        for page in try Project.pages() {
            let lines = try Project.text(page).split(separator: "\n", omittingEmptySubsequences: false)
            texts.append((path: page, lines: lines))
        }
        expectNone(
            texts.flatMap { text in
                citations.missing(in: text.lines).map { "\(text.path):\($0.line): \($0.name) is missing" }
            })
    }

    @Test("name pages that exist")
    func pages() throws {
        let citations = try citations()
        expectNone(
            try Project.files().map(\.source).flatMap { source in
                citations.missingPages(in: source).map { "\(source.path):\($0.line): \($0.name) is missing" }
            })
    }
}

@Suite("The rule for citations")
struct CitationRuleTests {
    private let citations = Citations(
        promises: "- **P1 Durable.** It stays.\n\n1. **Outcomes.** One.\n\n| 3339, 9110 | times |\n",
        pages: ["docs/promises.md", "docs/decisions/0001-members.md"])

    private func missing(_ text: String) -> [String] { citations.missing(in: [text[...]]).map(\.name) }

    @Test("accepts what the documents have")
    func found() {
        #expect(missing("// As P1 and rule 1 say (RFC 9110, section 3; decision 0001).").isEmpty)
        #expect(missing("let columns = [\"P50\", \"P99\"]; let rule = 3; RFC3339.format(now)").isEmpty)
    }

    @Test("reports a promise, a rule, a decision or an RFC that no document has")
    func lost() {
        #expect(missing("// Bounded (P2).") == ["P2"])
        #expect(missing("fail(\"rule 2\", \"late\")") == ["rule 2"])
        #expect(missing("/// Source: RFC 9112.") == ["RFC 9112"])
        #expect(missing("-- decisions 0001, 0002 and 0003") == ["decision 0002", "decision 0003"])
    }

    @Test("reports a page that does not exist, in comments alone")
    func pages() {
        let text = "// See docs/promises.md and promises.md.\n/// Source: old.md.\nlet page = \"older.md\"\n"
        let source = SourceText(path: "Sample.swift", text: text)
        #expect(citations.missingPages(in: source).map(\.name) == ["old.md"])
    }
}
