/// One Swift file with its comments and the text of its string literals blanked out.
///
/// Blanked characters become spaces and line ends stay, so that every place keeps its line. Code inside `\( )` stays
/// code. Regular expression literals are not known here; the project has none.
struct SourceText {
    let path: String
    /// The code without comments and literals, line by line.
    let code: [[UInt8]]
    /// The text as it stands in the file, line by line.
    let lines: [Substring]
    /// Whether each line holds only a comment.
    let commentLines: [Bool]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var blanking = Blanking(Array(text.utf8))
        let blanked = blanking.run()
        code = blanked.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        let isEmptyCode = code.map { line in line.allSatisfy { $0 == UInt8(ascii: " ") } }
        commentLines = zip(lines, isEmptyCode).map { line, isEmpty in isEmpty && line.contains { $0 != " " } }
    }

    /// Lines as people count them: a file that ends in a line end has no empty last one.
    var lineCount: Int { lines.last?.isEmpty == true ? lines.count - 1 : lines.count }
}

/// Walks once over the bytes and keeps only code.
private struct Blanking {
    private let bytes: [UInt8]
    private var output: [UInt8] = []
    private var place = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        output.reserveCapacity(bytes.count)
    }

    mutating func run() -> [UInt8] {
        code(untilClosingParenthesis: false)
        return output
    }

    private func byte(_ offset: Int = 0) -> UInt8? {
        place + offset < bytes.count ? bytes[place + offset] : nil
    }

    private func starts(with text: StaticString, at offset: Int = 0) -> Bool {
        let wanted = Array("\(text)".utf8)
        return place + offset + wanted.count <= bytes.count
            && bytes[(place + offset)..<(place + offset + wanted.count)].elementsEqual(wanted)
    }

    private mutating func keep() {
        output.append(bytes[place])
        place += 1
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where place < bytes.count {
            output.append(bytes[place] == UInt8(ascii: "\n") ? UInt8(ascii: "\n") : UInt8(ascii: " "))
            place += 1
        }
    }

    private mutating func code(untilClosingParenthesis: Bool) {
        var depth = 0
        while let next = byte() {
            if starts(with: "//") {
                while let inside = byte(), inside != UInt8(ascii: "\n") { _ = inside; blank() }
            } else if starts(with: "/*") {
                blockComment()
            } else if let pounds = poundsBeforeQuote() {
                literal(pounds: pounds)
            } else {
                if next == UInt8(ascii: "(") { depth += 1 }
                if next == UInt8(ascii: ")") {
                    if untilClosingParenthesis && depth == 0 { return }
                    depth -= 1
                }
                keep()
            }
        }
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                blank(2)
            } else if starts(with: "*/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && byte() != nil
    }

    /// 0 for `"`, 1 for `#"`, and so on; nil where no literal begins.
    private func poundsBeforeQuote() -> Int? {
        var pounds = 0
        while byte(pounds) == UInt8(ascii: "#") { pounds += 1 }
        return byte(pounds) == UInt8(ascii: "\"") ? pounds : nil
    }

    /// 0 for `"`, 1 for `#"`, and so on; nil if no literal begins here.
    private mutating func literal(pounds: Int) {
        blank(pounds)
        let isMultiline = starts(with: "\"\"\"")
        keep()
        if isMultiline { blank(2) }
        while let next = byte() {
            if next == UInt8(ascii: "\\") && followsPounds(pounds, at: 1) {
                blank(1 + pounds)
                if byte() == UInt8(ascii: "(") {
                    keep()
                    code(untilClosingParenthesis: true)
                    if byte() != nil { keep() }
                } else {
                    blank()
                }
            } else if closes(isMultiline: isMultiline, pounds: pounds) {
                if isMultiline { blank(2) }
                keep()
                blank(pounds)
                return
            } else {
                blank()
            }
        }
    }

    private func followsPounds(_ pounds: Int, at offset: Int) -> Bool {
        (0..<pounds).allSatisfy { byte(offset + $0) == UInt8(ascii: "#") }
    }

    private func closes(isMultiline: Bool, pounds: Int) -> Bool {
        if isMultiline { return starts(with: "\"\"\"") && followsPounds(pounds, at: 3) }
        return byte() == UInt8(ascii: "\"") && followsPounds(pounds, at: 1)
    }
}
