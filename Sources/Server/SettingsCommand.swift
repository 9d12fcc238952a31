import ArgumentParser
import CommandLine
import Foundation
import JSON

struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Lists every setting: value, source, default, meaning. Secrets stay hidden.",
        discussion:
            """
            A setting is an environment variable, or a member of the JSON file that CARILLON_SETTINGS_FILE names. For \
            root it lists those of the installed service, in /etc/carillon/settings.env, unless a variable or the \
            folder data names another gateway.
            """,
        examples: [
            "carillon settings",
            "CARILLON_SETTINGS_FILE=carillon.json carillon settings",
            #"carillon settings --json | jq -r '.items[] | select(.source != "default")'"#,
        ])

    @Flag(help: "Prints them as JSON, for scripts.") var json = false
    @Flag(help: ArgumentHelp("Prints the lists of docs/operations.md.", visibility: .hidden)) var markdown = false

    func run() async throws {
        if markdown {
            for line in SettingsListing.markdown.split(separator: "\n", omittingEmptySubsequences: false) {
                Console.write(String(line))
            }
            return
        }
        try await orComplain(ofThisMachine: json) {
            let reader = try SettingsReader.ofThisMachine().reader
            if json {
                writeJSON(SettingsListing.json(reader))
            } else {
                for line in SettingsListing.lines(reader) { Console.write(line) }
            }
            // The list comes first, so that the faulty setting can be found above its complaint.
            _ = try reader.read()
        }
    }
}

extension SettingsReader {
    /// Reads the settings of the gateway that the caller means: for root that of the installed service, unless a
    /// variable or a folder of data names another.
    static func ofThisMachine() throws(StartFault) -> (reader: SettingsReader, service: PackagedService?) {
        let (service, hasData) = (PackagedService(), FileManager.default.fileExists(atPath: "data/postgres"))
        let own = ProcessInfo.processInfo.environment
        guard let environment = service.environment(of: own, hasData: hasData) else {
            return (try SettingsReader(environment: own), nil)
        }
        return (try SettingsReader(environment: environment, unitFile: service.settingsFile), service)
    }
}

package enum SettingsListing {
    package static func json(_ reader: SettingsReader) -> JSONValue {
        let rows = SettingsCatalogue.all.map { setting -> JSONValue in
            let given = reader.value(of: setting)
            return [
                "name": .string(SettingsReader.prefix + setting.name),
                "value": .string(given.map { setting.shown($0.text) } ?? setting.defaultText),
                "source": .string((given?.source ?? .builtIn).description),
                "default": .string(setting.defaultText), "meaning": .string(setting.meaning),
            ]
        }
        let list = ItemList(rows).json.object?.members ?? []
        let unknown = JSONValue.array(reader.unknownVariables.map { .string($0.name) })
        return .object(JSONObject(list + [JSONMember("unknown", unknown)]))
    }

    /// The lists of docs/operations.md.
    package static let markdown = SettingsCatalogue.chapters.map { chapter in
        let rows = chapter.settings.map { setting in
            let standard = setting.defaultText.hasPrefix("(") ? setting.defaultText : "`\(setting.defaultText)`"
            return
                "| `\(SettingsReader.prefix)\(setting.name)` | \(standard) | \(setting.range ?? "") | \(setting.meaning) |"
        }
        let head = [
            "### \(chapter.heading)", "", "| setting | default | values | meaning |", "| --- | --- | --- | --- |",
        ]
        return (head + rows).joined(separator: "\n")
    }.joined(separator: "\n\n")

    package static func lines(_ reader: SettingsReader) -> [String] {
        var lines: [String] = []
        for setting in SettingsCatalogue.all {
            let given = reader.value(of: setting)
            lines.append(SettingsReader.prefix + setting.name)
            lines.append("    \(setting.meaning)")
            let value = given.map { setting.shown($0.text) } ?? setting.defaultText
            lines.append("    \(value)  [\((given?.source ?? .builtIn).description)]")
            if given != nil { lines.append("    default: \(setting.defaultText)") }
        }
        lines += reader.unknownVariables.map { unknown in
            let advice = unknown.nearest.map { " Did you mean \($0)?" } ?? ""
            return "\(unknown.name) is set, but is not a setting of this version.\(advice)"
        }
        lines.append("\(SettingsReader.fileVariable) names a JSON file that holds them too, as \"listen\": \"...\".")
        return lines
    }
}
