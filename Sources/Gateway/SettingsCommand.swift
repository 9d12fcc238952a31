import ArgumentParser
import Commands

/// `carillon settings`: every setting with its value, where that came from, its default and its meaning.
struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Lists every setting: value, source, default, meaning. Secrets stay hidden.")

    func run() throws {
        let reader = try SettingsReader()
        for line in SettingsListing.lines(reader) { Console.say(line) }
        // Listed first, so that the one at fault can be looked up above its complaint.
        _ = try reader.read()
    }
}

package enum SettingsListing {
    package static func lines(_ reader: SettingsReader) -> [String] {
        var lines: [String] = []
        for setting in SettingsTable.rows {
            let given = reader.value(of: setting)
            lines.append(SettingsReader.prefix + setting.name)
            lines.append("    \(setting.meaning)")
            let value = given.map { setting.shown($0.text) } ?? setting.defaultText
            lines.append("    \(value)  [\((given?.source ?? .builtIn).description)]")
            if given != nil { lines.append("    default: \(setting.defaultText)") }
        }
        lines += reader.unknownVariables.map { "\($0) is set, and is no setting of this program." }
        lines.append("\(SettingsReader.fileVariable) names a JSON file that holds them too, as \"listen\": \"...\".")
        return lines
    }
}
