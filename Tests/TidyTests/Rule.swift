/// One Swift file of the project and the target that it belongs to.
struct SourceFile {
    let source: SourceText
    let target: Manifest.Target?
    /// Whether its target is pure: without clock, socket, Foundation or randomness.
    let isPure: Bool
    let tokens: [Token]

    init(_ source: SourceText, in manifest: Manifest) {
        self.source = source
        target = manifest.target(of: source.path)
        isPure = target.map(manifest.isPure) ?? false
        tokens = source.tokens
    }

    var name: String { source.path.split(separator: "/").last.map(String.init) ?? source.path }
    /// Whether it belongs to tests or to their support.
    var isTest: Bool { source.path.hasPrefix("Tests/") }
    /// The layer's name; nil for a test.
    var layer: String? { target?.layer?.name }
}

/// A place that breaks a rule.
struct Finding: Equatable, CustomStringConvertible {
    let path: String
    /// Counted from 1.
    let line: Int
    let complaint: String

    var description: String { "\(path):\(line): \(complaint)" }
}

/// A check that runs on every file.
struct Rule: Sendable {
    let name: String
    let judge: @Sendable (SourceFile) -> [Finding]

    init(_ name: String, _ judge: @escaping @Sendable (SourceFile) -> [Finding]) {
        self.name = name
        self.judge = judge
    }

    static let all: [Rule] = [
        .foundationIsForPrograms, .systemLibrariesStayLow, .providersStayInTheirFolders, .noOldTests,
        .unsafeStaysInTheSystemLayer,
        .uncheckedIsProven,
        .noTraps, .servicesShareAContext, .printingHasOnePlace, .pureTargetsAreDeterministic, .pureTargetsKeepOrder,
        .filesAreShort,
        .functionsAreShort, .nothingIsUnfinished, .commentsReadPlainly, .noRetiredWords,
        .testNamesStandAlone, .sqlNamesItsValues,
    ]
}

extension SourceFile {
    func finding(_ token: Token, _ complaint: String) -> Finding {
        Finding(path: source.path, line: token.line + 1, complaint: complaint)
    }

    /// One finding for each token that `isWrong`.
    func findings(_ complaint: (_ token: Token, _ place: Int) -> String?) -> [Finding] {
        tokens.indices.compactMap { place in
            complaint(tokens[place], place).map { finding(tokens[place], $0) }
        }
    }

    func previous(_ place: Int) -> Token? { tokens[safely: place - 1] }
    func next(_ place: Int) -> Token? { tokens[safely: place + 1] }

    /// Module names of all import declarations, submodules and single declarations included.
    var imports: [(module: String, token: Token)] {
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        return tokens.indices.compactMap { place in
            guard tokens[place].text == "import", let following = next(place) else { return nil }
            guard kinds.contains(following.text), let second = tokens[safely: place + 2] else {
                return (following.text, tokens[place])
            }
            return (second.text, tokens[place])
        }
    }
}
