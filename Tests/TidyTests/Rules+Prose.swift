/// The rules for comments.
extension Rule {
    static let sentenceWordsMax = 30
    /// A comment that opens with one of these is a clause without its subject.
    private static let headlessOpenings: Set<String> = ["Of", "Whom", "Who", "Whose", "As", "What"]

    static let commentsReadPlainly = Rule("comments open with their subject, in sentences of 30 words at most") {
        file in
        guard !file.isTest else { return [] }
        return file.source.commentParagraphs.flatMap { paragraph in
            var complaints: [String] = []
            if let first = paragraph.words.first, headlessOpenings.contains(first) {
                complaints.append("a comment opens with \"\(first)\": say what it is about")
            }
            for length in Prose.sentenceLengths(paragraph.words) where length > sentenceWordsMax {
                complaints.append("a sentence has \(length) words: split it")
            }
            return complaints.map { Finding(path: file.source.path, line: paragraph.line, complaint: $0) }
        }
    }

    static let noRetiredWords = Rule("no word stands that the project has retired") { file in
        guard !file.isTest else { return [] }
        return Prose.retired(in: file.source.lines).map { line, word in
            Finding(path: file.source.path, line: line, complaint: "\"\(word)\" is retired: see docs/glossary.md")
        }
    }
}

/// One paragraph of a comment.
struct CommentParagraph: Equatable {
    /// The line of its first word, counted from 1.
    let line: Int
    let words: [String]
}

extension SourceText {
    /// Paragraphs of comments on lines of their own. A list item is a paragraph; its parameter's name is left out.
    var commentParagraphs: [CommentParagraph] {
        var paragraphs: [CommentParagraph] = []
        var words: [String] = []
        var start = 0
        func end() {
            if !words.isEmpty { paragraphs.append(CommentParagraph(line: start, words: words)) }
            words = []
        }
        for (place, line) in lines.enumerated() {
            let text = line.drop { $0 == " " }
            guard commentLines[place], text.hasPrefix("//") else {
                end()
                continue
            }
            var content = text.drop { $0 == "/" }.drop { $0 == " " }
            if content.isEmpty || content.hasPrefix("```") || content.hasPrefix("|") { end() }
            if content.hasPrefix("- ") {
                end()
                content = content.dropFirst(2)
                let label = content.prefix { $0 != ":" && $0 != "." }
                if label.count < content.count, label.split(separator: " ").count <= 2 {
                    content = content.dropFirst(label.count + 1)
                }
            }
            if words.isEmpty { start = place + 1 }
            words += content.split(separator: " ").map(String.init)
        }
        end()
        return paragraphs
    }
}

enum Prose {
    /// The lines of retired-words.txt beside this file.
    private static let retiredEntries: [String] = {
        let text = (try? Project.text("Tests/TidyTests/retired-words.txt")) ?? ""
        return text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    }()

    /// The retired words in lower case.
    static let retiredWords = Set(retiredEntries.filter { !$0.contains(where: \.isUppercase) })
    /// Words that are retired side by side in a name, as in `toldSeq`.
    private static let retiredCompounds = retiredEntries.filter { $0.contains(where: \.isUppercase) }
        .map { (name: $0, words: words(of: $0[...])) }

    /// A sentence ends with a full stop, question mark or exclamation mark before a word that begins another one.
    static func sentenceLengths(_ words: [String]) -> [Int] {
        var lengths: [Int] = []
        var length = 0
        for (place, word) in words.enumerated() {
            if word.contains(where: { $0.isLetter || $0.isNumber }) { length += 1 }
            guard let mark = word.last(where: { !"\")`'*".contains($0) }), ".!?:".contains(mark) else { continue }
            let next = place + 1 < words.count ? words[place + 1].first : nil
            if let next, mark == ":" || !(next.isUppercase || "`(\"".contains(next)) { continue }
            lengths.append(length)
            length = 0
        }
        if length > 0 { lengths.append(length) }
        return lengths
    }

    /// Lines, counted from 1, with the retired words that stand in them, also as parts of names.
    static func retired(in lines: [Substring]) -> [(line: Int, word: String)] {
        lines.enumerated().flatMap { index, line in
            line.split { !($0.isLetter || $0 == "-" || $0 == "_") }.flatMap(retired(inName:))
                .map { (line: index + 1, word: $0) }
        }
    }

    private static func retired(inName name: Substring) -> [String] {
        let whole = name.lowercased()
        if retiredWords.contains(whole) { return [whole] }
        let words = words(of: name)
        guard words.count > 1 else { return [] }
        let compounds = retiredCompounds.filter { words.contains($0.words) }.map(\.name)
        return words.filter(retiredWords.contains) + compounds
    }

    /// The words of a name, in lower case: `toldSeq`, `told_seq` and `TOLDSeq` are each "told" and "seq".
    static func words(of name: Substring) -> [String] {
        var words: [String] = []
        var word = ""
        func end() {
            if !word.isEmpty { words.append(word.lowercased()) }
            word = ""
        }
        for character in name {
            guard character.isLetter else {
                end()
                continue
            }
            let followsCapital = word.last?.isUppercase == true
            if character.isUppercase, !followsCapital { end() }
            // The last capital of several begins the next word.
            if !character.isUppercase, followsCapital, word.count > 1 {
                let capital = word.removeLast()
                end()
                word = String(capital)
            }
            word.append(character)
        }
        end()
        return words
    }
}
