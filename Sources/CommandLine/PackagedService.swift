import Foundation

/// The gateway that the Debian package runs as a service. Only root and its own user can read its files.
package struct PackagedService: Sendable {
    package let dataFolder: String
    package let settingsFile: String

    package init(dataFolder: String = "/var/lib/carillon", settingsFile: String = "/etc/carillon/settings.env") {
        (self.dataFolder, self.settingsFile) = (dataFolder, settingsFile)
    }

    var keyFile: String { dataFolder + "/admin-key" }

    /// Whether it is installed and has run. Everybody can see that.
    package var isHere: Bool { FileManager.default.fileExists(atPath: dataFolder) }

    /// Whether the caller may read its files.
    package var isReadable: Bool { FileManager.default.isReadableFile(atPath: dataFolder) }

    private static let prefix = "CARILLON_"
    /// The variables that say which gateway is meant.
    private static let choices = ["DATA_DIR", "DATABASE_URL", "SETTINGS_FILE"].map { prefix + $0 }

    /// Returns the variables that its unit gives it, in place of the caller's own; nil: the caller means another
    /// gateway, or can't read this one's files.
    ///
    /// - Parameter hasData: whether a gateway has kept its data in the caller's own folder.
    package func environment(of caller: [String: String], hasData: Bool) -> [String: String]? {
        let isChosen = Self.choices.contains { caller[$0]?.isEmpty == false }
        guard !isChosen, !hasData, isReadable else { return nil }
        let file = FileManager.default.contents(atPath: settingsFile)
        let given = Self.variables(in: String(decoding: file ?? Data(), as: UTF8.self))
        return caller.filter { !$0.key.hasPrefix(Self.prefix) }
            .merging([Self.prefix + "DATA_DIR": dataFolder]) { _, own in own }.merging(given) { _, own in own }
    }

    /// Reads lines NAME=value as systemd does: quotes around a value are removed; # and ; begin a comment.
    package static func variables(in text: String) -> [String: String] {
        var found: [String: String] = [:]
        for written in text.split(whereSeparator: \.isNewline) {
            let line = written.trimmingCharacters(in: .whitespaces)
            guard !line.hasPrefix("#"), !line.hasPrefix(";"), let sign = line.firstIndex(of: "=") else { continue }
            let name = line[..<sign].trimmingCharacters(in: .whitespaces)
            let value = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
            let isQuoted = value.count > 1 && value.first == value.last && (value.first == "\"" || value.first == "'")
            found[name] = isQuoted ? String(value.dropFirst().dropLast()) : value
        }
        return found
    }
}
