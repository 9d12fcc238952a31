import Foundation
import JSON

enum SettingSource: Equatable, Sendable, CustomStringConvertible {
    case builtIn
    case environment
    case file(String)

    var description: String {
        switch self {
        case .builtIn: "default"
        case .environment: "environment"
        case .file(let path): path
        }
    }
}

/// Reads the catalogue's settings from the environment (`CARILLON_NAME`), else from a JSON file (`"name"`), else leaves
/// the default. `CARILLON_SETTINGS_FILE` names the file.
package struct SettingsReader: Sendable {
    package static let prefix = "CARILLON_"
    static let fileVariable = prefix + "SETTINGS_FILE"

    private let environment: [String: String]
    /// The file that the environment's variables were read from; nil: they are this process's own.
    private let unitFile: String?
    private let file: (path: String, values: [(name: String, text: String)])?

    package init(
        environment: [String: String] = ProcessInfo.processInfo.environment, unitFile: String? = nil
    ) throws(StartFault) {
        (self.environment, self.unitFile) = (environment, unitFile)
        if let path = environment[Self.fileVariable], !path.isEmpty {
            file = (path, try Self.readFile(path))
        } else {
            file = nil
        }
    }

    /// The given text; nil: none. An empty variable counts as absent, as compose files and unit files leave things out.
    func value(of setting: any AnySetting) -> (text: String, source: SettingSource)? {
        if let text = environment[Self.prefix + setting.name], !text.isEmpty {
            return (text, unitFile.map { .file($0) } ?? .environment)
        }
        if let file, let value = file.values.first(where: { $0.name == setting.name }) {
            return (value.text, .file(file.path))
        }
        return nil
    }

    package func read() throws(StartFault) -> Settings {
        try refusePlanned()
        var settings = Settings()
        for setting in SettingsCatalogue.all { try adopt(setting, &settings) }
        try checkTogether(settings)
        return settings
    }

    /// Reads the log format alone, for commands that log and are no gateway.
    package func logFormat() throws(StartFault) -> LogFormat {
        var settings = Settings()
        try adopt(SettingsCatalogue.places.logFormat, &settings)
        return settings.logFormat
    }

    private func adopt(_ setting: any AnySetting, _ settings: inout Settings) throws(StartFault) {
        guard let (text, source) = value(of: setting) else { return }
        do {
            settings.give(try setting.value(of: text), written: text, to: setting)
        } catch {
            let isHidden = setting.isSecret || SettingText.hasUserinfo(text)
            let shown = isHidden ? "" : ", not \"\(text)\""
            throw StartFault("\(Self.prefix)\(setting.name) (\(source)) \(error.text)\(shown)")
        }
    }

    /// Settings of the product that this version does not carry out. Ignoring one would mislead the operator.
    private static let planned = [
        ("CREDENTIALS_DIR", "add credentials through the API: carillon credentials add"),
        ("HMS_URL", "this version delivers to APNs and FCM"),
        ("HMS_TOKEN_URL", "this version delivers to APNs and FCM"),
    ]

    private func refusePlanned() throws(StartFault) {
        for (name, advice) in Self.planned where environment[Self.prefix + name]?.isEmpty == false {
            throw StartFault(
                "\(Self.prefix)\(name) (environment) is not supported by this version: leave it out; \(advice)")
        }
    }

    private func checkTogether(_ settings: Settings) throws(StartFault) {
        if settings.databaseURL != nil && settings.masterKeyFile == nil {
            throw StartFault(
                "CARILLON_MASTER_KEY_FILE is missing: with CARILLON_DATABASE_URL the key that seals credentials must be"
                    + " given (make one with: openssl rand -hex 32)")
        }
        if settings.databaseURL != nil && settings.adminKey == nil {
            throw StartFault(
                "CARILLON_ADMIN_KEY is missing: with CARILLON_DATABASE_URL it must be given (make one with: openssl rand"
                    + " -hex 32)")
        }
        if (settings.tlsCertificateFile == nil) != (settings.tlsKeyFile == nil) {
            let (given, missing) = settings.tlsKeyFile == nil ? ("CERTIFICATE", "KEY") : ("KEY", "CERTIFICATE")
            throw StartFault("CARILLON_TLS_\(missing) is missing: CARILLON_TLS_\(given) alone is not enough for TLS")
        }
        if settings.lease <= settings.requestDeadline {
            throw StartFault("CARILLON_LEASE_SECONDS must be more than CARILLON_REQUEST_DEADLINE_SECONDS")
        }
    }

    /// The variables of scripts and of commands that ask a gateway. Beside a gateway they are no mistake.
    private static let forOthers = ["URL", "KEY", "APP", "CA_FILE", "DEMO_FOLDER", "RUN_FOLDER"].map { prefix + $0 }

    /// Variables with our prefix that are no settings, most likely misspelt. They deserve a warning and no more: an
    /// orchestrator may set such names for a service that is called carillon.
    package var unknownVariables: [UnknownSetting] {
        let known = SettingsCatalogue.all.map { Self.prefix + $0.name } + [Self.fileVariable] + Self.forOthers
        return environment.keys.filter { $0.hasPrefix(Self.prefix) && !known.contains($0) }.sorted()
            .map { UnknownSetting(name: $0, known: known) }
    }

    private static func readFile(_ path: String) throws(StartFault) -> [(name: String, text: String)] {
        guard let contents = FileManager.default.contents(atPath: path) else {
            throw StartFault("\(fileVariable): \(path) can't be read")
        }
        let value: JSONValue
        do {
            value = try JSONReader.read(Array(contents))
        } catch {
            throw StartFault("\(path): \(error.sentence)")
        }
        guard case .object(let object) = value else { throw StartFault("\(path) must hold a JSON object") }
        var values: [(name: String, text: String)] = []
        for member in object.members {
            let name = member.name.uppercased()
            if let (_, advice) = planned.first(where: { $0.0 == name }) {
                throw StartFault(
                    "\(path): \"\(member.name)\" is not supported by this version: leave it out; \(advice)")
            }
            guard SettingsCatalogue.all.contains(where: { $0.name == name }), member.name == name.lowercased() else {
                let known = SettingsCatalogue.all.map { $0.name.lowercased() }
                throw StartFault("\(path): \(UnknownSetting(name: member.name, known: known).complaint)")
            }
            switch member.value {
            case .string(let text): values.append((name, text))
            case .number(let number):
                values.append((name, String(decoding: JSONValue.number(number).bytes, as: UTF8.self)))
            case .null: continue
            case .bool, .array, .object: throw StartFault("\(path): \"\(member.name)\" must be a string or a number")
            }
        }
        return values
    }
}
