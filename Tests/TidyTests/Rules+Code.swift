/// The rules for code.
extension Rule {
    static let noTraps = Rule("nothing a stranger can cause ends the program") { file in
        guard !file.isTest else { return [] }
        return file.findings { token, place in
            if token.text == "fatalError" { return "fatalError" }
            guard token.text == "!", !token.isApart, let before = file.previous(place) else { return nil }
            if before.text == "try" || before.text == "as" { return "\(before.text)!" }
            // A tight `a != b`, and `!flag` after an opening mark or an operator, are not unwraps.
            guard file.next(place)?.text != "=" || file.next(place)?.isApart == true else { return nil }
            return before.isWord || [")", "]", "}", "\"", "?", "`"].contains(before.text) ? "force unwrap" : nil
        }
    }

    /// The service context grows by what all services need; their initialisers do not.
    static let servicesShareAContext = Rule("no initialiser takes two parts of the service context") { file in
        guard !file.isTest, file.name != "ServiceContext.swift" else { return [] }
        return file.findings { token, place in
            let parts =
                switch token.text {
                case "init": file.contextPartsOfInit(at: place)
                case "struct": file.contextPartsOfStruct(at: place)
                default: 0
                }
            return parts > 1 ? "several of log, clock, steps and database: take a ServiceContext" : nil
        }
    }

    /// Pure targets get time and randomness as parameters, so that a seed replays.
    static let pureTargetsAreDeterministic = Rule("pure targets know neither clock nor chance nor sockets") { file in
        guard file.isPure else { return [] }
        let forbidden: Set<String> = [
            "ContinuousClock", "SuspendingClock", "Date", "Clock", "Clocks", "clock_gettime", "time", "gettimeofday",
            "SystemRandomNumberGenerator", "RandomNumberGenerator", "Entropy", "random", "shuffled", "shuffle",
            "randomElement", "arc4random", "Task", "Thread", "socket", "sleep", "getenv", "ObjectIdentifier", "Hasher",
            "hashValue",
        ]
        let functions: Set<String> = ["time", "random", "socket", "sleep", "shuffle"]
        return file.findings { token, place in
            guard forbidden.contains(token.text) else { return nil }
            // Plain words such as `time` may be names of our own; when called, they are the C library's.
            if functions.contains(token.text) {
                let isCalled = file.next(place)?.text == "("
                let isDeclared = file.previous(place)?.text == "func"
                guard isCalled && !isDeclared else { return nil }
            }
            return "\(token.text) in a pure target"
        }
    }

    /// Sets and dictionaries have another order in every process. Without types, the check cannot tell whether one is
    /// iterated. Pure targets therefore use none, except on lines that are marked as lookup only.
    static let pureTargetsKeepOrder = Rule("pure targets use no Set and no Dictionary") { file in
        guard file.isPure else { return [] }
        return file.findings { token, place in
            let isType = token.text == "Set" || token.text == "Dictionary"
            guard isType || file.opensDictionary(at: place) else { return nil }
            let isAllowed = file.source.lines[token.line].hasSuffix("// lookup only")
            return isAllowed ? nil : "unordered collection without `// lookup only`"
        }
    }

    static let nothingIsUnfinished = Rule("nothing is marked as unfinished") { file in
        let marks = ["TODO", "FIXME", "XXX", "HACK"].map { $0 + ":" }
        return file.source.lines.indices.compactMap { line in
            // Checks comments only: in the blanked code a mark is a name, and in a literal it is a sample.
            let text = file.source.lines[line]
            guard let comment = text.range(of: "//"),
                let mark = marks.first(where: { text[comment.upperBound...].contains($0) })
            else { return nil }
            let offset = text.utf8.distance(from: text.startIndex, to: comment.lowerBound)
            guard file.source.code[line].dropFirst(offset).allSatisfy({ $0 == UInt8(ascii: " ") }) else { return nil }
            return Finding(path: file.source.path, line: line + 1, complaint: mark)
        }
    }
}

extension SourceFile {
    private static let contextParts: Set<String> = ["log", "clock", "steps", "database"]

    /// The number of parts of the service context that an initialiser takes.
    fileprivate func contextPartsOfInit(at place: Int) -> Int {
        guard next(place)?.text == "(" else { return 0 }
        // The name before the colon, also of a parameter with a label of its own.
        let given = (place..<tokens.end(ofGroupAt: place + 1)).filter {
            tokens[$0].text == ":" && Self.contextParts.contains(tokens[$0 - 1].text)
        }
        return given.count
    }

    /// The number of parts that a struct's own initialiser takes, which the compiler writes of its stored properties.
    fileprivate func contextPartsOfStruct(at place: Int) -> Int {
        guard let opening = tokens[place...].firstIndex(where: { $0.text == "{" }) else { return 0 }
        let end = tokens.end(ofGroupAt: opening)
        var (parts, inside) = (0, opening + 1)
        while inside < end - 1 {
            switch tokens[inside].text {
            case "init": return 0
            case "(", "[", "{":
                inside = tokens.end(ofGroupAt: inside)
                continue
            case "let", "var":
                if let name = next(inside), Self.contextParts.contains(name.text), next(inside + 1)?.text == ":" {
                    parts += 1
                }
            default: break
            }
            inside += 1
        }
        return parts
    }

    /// `[Key: Value]`, `[:]` or `[key: value]`; not a subscript with a label, not an array with `a ? b : c`.
    fileprivate func opensDictionary(at place: Int) -> Bool {
        guard tokens[place].text == "[" else { return false }
        if let before = previous(place), !tokens[place].isApart,
            before.isWord || [")", "]", "\"", "?"].contains(before.text)
        {
            return false
        }
        var inside = place + 1
        var questions = 0
        let end = tokens.end(ofGroupAt: place)
        while inside < end - 1 {
            switch tokens[inside].text {
            case "(", "[", "{":
                inside = tokens.end(ofGroupAt: inside)
                continue
            case "?" where tokens[inside].isApart: questions += 1
            case ":" where questions > 0: questions -= 1
            case ":": return true
            default: break
            }
            inside += 1
        }
        return false
    }
}
