/// The rounds of scripts/test: the test targets that each one runs, and the suites that --quick leaves out.
///
/// The lists are written by hand, because only people know how many tests of a target may run at once.
struct TestRounds {
    static let script = "scripts/test"

    private let units: [String]
    private let rooms: [String]
    /// The targets whose rounds name them in a filter of their own.
    private let own: [String]
    /// Targets and types, such as "StoreTests.UserScanTests".
    let slowSuites: [String]

    init(script: String) {
        func list(_ name: String) -> [String] {
            let parts = "\n\(script)".split(separator: "\n\(name)=(", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return [] }
            return parts[1].prefix { $0 != ")" }.split { $0.isWhitespace }.map(String.init)
        }
        units = list("unit_suites")
        rooms = list("room_suites")
        slowSuites = list("slow_suites")
        let filters = script.split(separator: "--filter '^", omittingEmptySubsequences: false).dropFirst()
        own = Set(filters.map { String($0.prefix { $0.isLetter || $0.isNumber }) }).sorted()
    }

    /// Test targets that are not in exactly one round, and names in the lists that are no test target's.
    func misplaced(in manifest: Manifest) -> [String] {
        let named = units + rooms + own
        let targets = manifest.targets.filter { $0.kind == .test }.map(\.name)
        let wrong = targets.compactMap { target -> String? in
            let count = named.count { $0 == target }
            return count == 1 ? nil : "\(target) is in \(count) rounds"
        }
        return wrong + named.filter { !targets.contains($0) }.map { "\($0) is no test target" }
    }

    /// Slow suites that no file of a target in the round of rooms declares. That round alone leaves them out.
    func unknownSlowSuites(in files: [SourceFile]) -> [String] {
        slowSuites.filter { name in
            let parts = name.split(separator: ".").map(String.init)
            guard parts.count == 2, rooms.contains(parts[0]) else { return true }
            let declaration = "struct \(parts[1]) "
            return !files.contains { file in
                file.target?.name == parts[0] && file.source.lines.contains { $0.hasPrefix(declaration) }
            }
        }
    }
}
