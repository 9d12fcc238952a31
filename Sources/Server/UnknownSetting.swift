/// A name that is no setting, most likely misspelt.
package struct UnknownSetting: Equatable, Sendable {
    package let name: String
    /// The known name that was probably meant; nil: none is near.
    package let nearest: String?

    /// More changes than this, and a third of the name, make another name.
    private static let changesMin = 2

    package init(name: String, known: [String]) {
        self.name = name
        let near = known.map { (name: $0, changes: Self.changes(from: name.lowercased(), to: $0.lowercased())) }
            .min { $0.changes < $1.changes }
        nearest = near.flatMap { $0.changes <= max(Self.changesMin, Self.variableLength(name) / 3) ? $0.name : nil }
    }

    /// The sentence about a member of the settings file.
    var complaint: String {
        "\"\(name)\" is not a setting; \(nearest.map { "did you mean \"\($0)\"? " } ?? "")see carillon settings"
    }

    private static func variableLength(_ name: String) -> Int {
        name.utf8.count - (name.hasPrefix(SettingsReader.prefix) ? SettingsReader.prefix.utf8.count : 0)
    }

    /// The insertions, removals and replacements of a byte that make one name of the other (Levenshtein's distance).
    static func changes(from first: String, to second: String) -> Int {
        let target = Array(second.utf8)
        var row = Array(0...target.count)
        for (line, byte) in first.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for column in target.indices {
                let replaced = diagonal + (byte == target[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[target.count]
    }
}
