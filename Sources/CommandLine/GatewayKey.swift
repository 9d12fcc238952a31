import Foundation
import Reactor

/// The API key of a command that asks a gateway.
package enum GatewayKey {
    /// Returns the key from the first of these places: the named file, CARILLON_KEY, the gateway's own setting
    /// CARILLON_ADMIN_KEY, the data folder. Without a setting for the folder, it is `data` or the packaged service's.
    ///
    /// - Parameters:
    ///   - path: the file of --key-file; nil: the option was not given.
    ///   - folder: the data folder of a gateway that was started here.
    ///   - service: the packaged service of this machine, if the command asks it; nil: it asks another gateway.
    ///   - address: the gateway's, for the message about a missing key.
    package static func read(
        file path: String?, environment: [String: String], here folder: String = "data",
        service: PackagedService? = nil, for address: String? = nil
    ) throws(CommandFault) -> String {
        if let path { return try read(file: path) }
        for name in ["CARILLON_KEY", "CARILLON_ADMIN_KEY"] {
            if let key = environment[name], !key.isEmpty { return try read(key, from: name) }
        }
        let user = (service ?? PackagedService()).user
        if let folder = environment["CARILLON_DATA_DIR"], !folder.isEmpty, folder != service?.dataFolder {
            return try read(found: folder + "/admin-key", trusting: user, for: address)
        }
        let ownFile = folder + "/admin-key"
        guard let service, service.isHere, !FileManager.default.fileExists(atPath: ownFile) else {
            return try read(found: ownFile, trusting: user, for: address)
        }
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
        return try read(found: service.keyFile, trusting: user)
    }

    /// Reads the first line of a file that nobody named. Others may write in its folder, so a link is not followed: it
    /// could lead to a secret of root's, which the command would send.
    ///
    /// - Parameter user: the installed service's, whose folder may hold the file; nil: there is none.
    private static func read(
        found path: String, trusting user: uid_t?, for address: String? = nil
    ) throws(CommandFault) -> String {
        let contents: [UInt8]
        do throws(SecretFile.Fault) { contents = try SecretFile.read(path, trusting: user) } catch {
            let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            let reason =
                switch error {
                case .absent: "there is no \(path)"
                case .link: "\(path) is a symbolic link, which is not followed"
                case .linkedFolder:
                    "the folder \(folder) is a symbolic link of another user, which is not followed because it may lead "
                        + "to a secret"
                case .foreignFolder:
                    "the folder \(folder) belongs to another user, who may have made the key. Run the command as that "
                        + "user"
                case .notAFile: "\(path) is not a file"
                case .foreign: "\(path) belongs to another user than its folder"
                case .unreadable: "\(path) can't be read"
                }
            throw CommandFault(
                .noPermission,
                "no API key\(address.map { " for \($0)" } ?? ""): \(reason). Set CARILLON_KEY or CARILLON_ADMIN_KEY, or "
                    + "give the key's file with --key-file")
        }
        let line = contents.prefix { $0 != UInt8(ascii: "\n") }
        guard line.allSatisfy(isOfKey) else { throw isNoKey(path) }
        return try read(String(decoding: line, as: UTF8.self), from: path)
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
        guard key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw isNoKey(place) }
        return key
    }

    private static func isNoKey(_ place: String) -> CommandFault {
        CommandFault(
            .noPermission,
            "\(place) does not hold an API key: a key consists of letters, digits, - and _, without spaces")
    }

    /// The characters of a bearer token. An operator's own key may have any of them.
    ///
    /// Source: RFC 6750, section 2.1.
    private static func isOfKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}
