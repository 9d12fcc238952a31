import Foundation

/// The API key of a command that asks a gateway.
package enum GatewayKey {
    /// The admin key of the service that the Debian package starts. Only root can read it.
    private static let serviceFile = "/var/lib/carillon/admin-key"

    /// Returns the key from the first of these places: the named file, CARILLON_KEY, the gateway's own setting
    /// CARILLON_ADMIN_KEY, the data folder. Without a setting for the folder, it is `data` or the packaged service's.
    ///
    /// - Parameter path: the file of --key-file; nil: the option was not given.
    package static func read(file path: String?, environment: [String: String]) throws(CommandFault) -> String {
        if let path { return try read(file: path) }
        for name in ["CARILLON_KEY", "CARILLON_ADMIN_KEY"] {
            if let key = environment[name], !key.isEmpty { return try read(key, from: name) }
        }
        if let folder = environment["CARILLON_DATA_DIR"] { return try read(file: folder + "/admin-key") }
        let isHere = FileManager.default.fileExists(atPath: "data/admin-key")
        let isService = !isHere && FileManager.default.fileExists(atPath: serviceFile)
        return try read(file: isService ? serviceFile : "data/admin-key")
    }

    /// Reads the file's first line.
    static func read(file path: String) throws(CommandFault) -> String {
        guard let contents = FileManager.default.contents(atPath: path) else {
            throw CommandFault(
                .noPermission,
                "no API key: \(path) can't be read. Set CARILLON_KEY or CARILLON_ADMIN_KEY, or give the key's file with "
                    + "--key-file")
        }
        return try read(String(decoding: contents.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self), from: path)
    }

    /// Removes blanks and byte order marks of editors and shells. Text that is no key is never shown, and never sent.
    ///
    /// - Parameter place: the source of the text, for messages.
    static func read(_ text: String, from place: String) throws(CommandFault) -> String {
        let blanks = CharacterSet.whitespacesAndNewlines.union(CharacterSet(charactersIn: "\u{FEFF}"))
        let key = text.trimmingCharacters(in: blanks)
        guard !key.isEmpty else { throw CommandFault(.noPermission, "\(place) holds no API key") }
        guard key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CommandFault(
                .noPermission,
                "\(place) does not hold an API key: a key consists of letters, digits, - and _, without spaces")
        }
        return key
    }
}
