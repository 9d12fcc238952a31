import Foundation

enum GatewayKey {
    /// Reads the file's first line.
    static func read(file path: String) throws(CommandFault) -> String {
        guard let contents = FileManager.default.contents(atPath: path) else {
            throw CommandFault(
                .noPermission,
                "no API key: \(path) can't be read. Set CARILLON_KEY, or give the key's file with --key-file")
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
