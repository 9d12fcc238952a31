import Foundation

/// The API key of a command that asks a gateway.
package enum GatewayKey {
    /// Returns the key from the first of these places: the named file, CARILLON_KEY, the gateway's own setting
    /// CARILLON_ADMIN_KEY, the data folder. Without a setting for the folder, it is `data` or the packaged service's.
    ///
    /// - Parameters:
    ///   - path: the file of --key-file; nil: the option was not given.
    ///   - folder: the data folder of a gateway that was started here.
    ///   - service: the packaged service of this machine.
    package static func read(
        file path: String?, environment: [String: String], here folder: String = "data",
        service: PackagedService = PackagedService()
    ) throws(CommandFault) -> String {
        if let path { return try read(file: path) }
        for name in ["CARILLON_KEY", "CARILLON_ADMIN_KEY"] {
            if let key = environment[name], !key.isEmpty { return try read(key, from: name) }
        }
        if let folder = environment["CARILLON_DATA_DIR"] { return try read(file: folder + "/admin-key") }
        let ownFile = folder + "/admin-key"
        guard !FileManager.default.fileExists(atPath: ownFile), service.isHere else { return try read(file: ownFile) }
        guard FileManager.default.isReadableFile(atPath: service.keyFile) else {
            let advice =
                service.isReadable
                ? "The service makes it at its start, unless its settings hold CARILLON_ADMIN_KEY: then set that here"
                : "Only root can read it: use sudo, or set CARILLON_KEY=$(sudo cat \(service.keyFile))"
            throw CommandFault(
                .noPermission,
                "no API key: \(service.keyFile), the key of the installed service, can't be read. \(advice). For "
                    + "another gateway, set CARILLON_KEY, or give the key's file with --key-file")
        }
        return try read(file: service.keyFile)
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
