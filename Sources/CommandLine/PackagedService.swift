import Foundation
import JSON
import Reactor

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

    /// The user that it runs as, who owns its data folder; nil: it is not installed, or has not run.
    var user: uid_t? { TrustedLinks.owner(ofFolder: dataFolder) }

    /// Whether the caller may read its files.
    package var isReadable: Bool { FileManager.default.isReadableFile(atPath: dataFolder) }

    private static let prefix = "CARILLON_"
    /// The variables that say which gateway is meant.
    private static let choices = ["DATA_DIR", "DATABASE_URL", "SETTINGS_FILE"].map { prefix + $0 }
    /// The variables that say where a gateway listens, and with which certificate. They belong together.
    private static let addresses = ["URL", "LISTEN", "TLS_CERTIFICATE"].map { prefix + $0 }
    /// The settings that hold paths. Relative ones begin in its working folder, which is the data folder.
    private static let paths = ["DATA_DIR", "TLS_CERTIFICATE", "TLS_KEY", "MASTER_KEY_FILE", "SETTINGS_FILE"]
        .map { prefix + $0 }

    /// The variables in its settings file, and the data folder that its unit names.
    package var variables: [String: String] {
        let file = FileManager.default.contents(atPath: settingsFile)
        let given = Self.variables(in: String(decoding: file ?? Data(), as: UTF8.self))
        let all = [Self.prefix + "DATA_DIR": dataFolder].merging(given) { _, own in own }
        return all.reduce(into: [:]) { found, pair in
            let isRelative = Self.paths.contains(pair.key) && !pair.value.isEmpty && !pair.value.hasPrefix("/")
            found[pair.key] = isRelative ? dataFolder + "/" + pair.value : pair.value
        }
    }

    /// Returns the variables that its unit gives it, in place of the caller's own; nil: the caller means another
    /// gateway, or can't read this one's files.
    ///
    /// - Parameter hasData: whether a gateway has kept its data in the caller's own folder.
    package func environment(of caller: [String: String], hasData: Bool) -> [String: String]? {
        guard isMeant(by: caller, hasData: hasData) else { return nil }
        return caller.filter { !$0.key.hasPrefix(Self.prefix) }.merging(variables) { _, own in own }
    }

    /// Whether a command of this caller asks the service, and may send it the service's key. A caller's own address
    /// leads to another gateway unless it is the service's: any user of this machine may listen there.
    ///
    /// - Parameter url: the address on the command line; nil: none.
    package func isAsked(by caller: [String: String], url: String? = nil, hasData: Bool) -> Bool {
        guard isUsual(for: caller, hasData: hasData) else { return false }
        let namesAddress = url != nil || Self.addresses.contains { caller[$0]?.isEmpty == false }
        guard namesAddress else { return true }
        let address = url ?? GatewayAddress.text(environment: caller)
        return Self.withoutSlash(address) == GatewayAddress.text(environment: filledVariables)
    }

    private static func withoutSlash(_ address: String) -> String {
        address.hasSuffix("/") ? String(address.dropLast()) : address
    }

    /// Returns the variables by which a command that asks a gateway finds this one. What the caller gives wins, and a
    /// caller who gives another address gets nothing of the service's.
    ///
    /// - Parameter url: the address on the command line; nil: none.
    package func asking(for caller: [String: String], url: String? = nil, hasData: Bool) -> [String: String] {
        guard isAsked(by: caller, url: url, hasData: hasData), isReadable else { return Self.filled(caller) }
        return caller.merging(filledVariables) { given, own in given.isEmpty ? own : given }
    }

    private func isMeant(by caller: [String: String], hasData: Bool) -> Bool {
        isUsual(for: caller, hasData: hasData) && isReadable
    }

    /// Whether neither a variable nor a folder of data names another gateway.
    private func isUsual(for caller: [String: String], hasData: Bool) -> Bool {
        !Self.choices.contains { caller[$0]?.isEmpty == false } && !hasData
    }

    /// The service's user may write its JSON file. A link of that user's could lead to an admin key of root's, which a
    /// command would send to the service.
    private var filledVariables: [String: String] {
        Self.filled(variables) { TrustedLinks.contents(of: $0, bytesMax: Self.settingsBytesMax) }
    }

    /// Longer files are no settings.
    private static let settingsBytesMax = 1 << 20

    /// Adds the members of the JSON file that CARILLON_SETTINGS_FILE names, which variables override. `carillon
    /// settings` complains about a file that can't be read.
    private static func filled(
        _ variables: [String: String],
        reading contents: (String) -> [UInt8]? = { FileManager.default.contents(atPath: $0).map(Array.init) }
    ) -> [String: String] {
        guard let path = variables[prefix + "SETTINGS_FILE"], let file = contents(path),
            let members = (try? JSONReader.read(file))?.object?.members
        else { return variables }
        let texts = members.compactMap { member in member.value.string.map { (prefix + member.name.uppercased(), $0) } }
        return variables.merging(texts) { given, other in given.isEmpty ? other : given }
    }

    package static func variables(in text: String) -> [String: String] { EnvironmentFile(text).variables }
}
