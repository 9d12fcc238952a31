/// The rules for sizes.
extension Rule {
    static let fileLinesMax = 400
    static let functionLinesMax = 70

    static let filesAreShort = Rule("files have at most \(fileLinesMax) lines") { file in
        guard file.source.lineCount > fileLinesMax else { return [] }
        return [Finding(path: file.source.path, line: 1, complaint: "\(file.source.lineCount) lines")]
    }

    static let functionsAreShort = Rule("functions have at most \(functionLinesMax) lines") { file in
        file.functionBodies.compactMap { place, end in
            let length = file.tokens[end].line - file.tokens[place].line + 1
            return length > functionLinesMax ? file.finding(file.tokens[place], "a function of \(length) lines") : nil
        }
    }
}

extension SourceFile {
    /// Lines from the declaring word to the closing brace, nested ones included. Protocol requirements have no body.
    fileprivate var functionBodies: [(start: Int, end: Int)] {
        tokens.indices.compactMap { place in
            guard isFunctionDeclaration(at: place), let brace = bodyBrace(after: place) else { return nil }
            return (place, tokens.end(ofGroupAt: brace) - 1)
        }
    }

    private func isFunctionDeclaration(at place: Int) -> Bool {
        switch tokens[place].text {
        case "func": true
        case "init", "subscript": previous(place)?.text != "." && previous(place)?.text != "func"
        case "deinit": true
        default: false
        }
    }

    private func bodyBrace(after place: Int) -> Int? {
        let ends: Set<String> = [
            "func", "init", "deinit", "subscript", "var", "let", "case", "}", "@", "static", "package", "public",
            "private",
            "fileprivate", "internal", "mutating", "nonmutating", "nonisolated", "associatedtype", "typealias",
            "struct",
            "enum", "class", "actor", "protocol", "extension", "override", "final",
        ]
        var following = place + 1
        var hasParameters = tokens[place].text == "deinit"
        while following < tokens.count {
            let text = tokens[following].text
            if text == "{" { return following }
            if text == "(" || text == "[" {
                hasParameters = true
                following = tokens.end(ofGroupAt: following)
                continue
            }
            // Attributes may stand inside a result type; on a line of its own one opens the next declaration.
            if hasParameters, ends.contains(text), tokens[following].line != tokens[following - 1].line { return nil }
            following += 1
        }
        return nil
    }
}
