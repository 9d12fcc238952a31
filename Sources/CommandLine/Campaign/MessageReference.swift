import JSON

/// The beginnings of message ids, which lists in narrow windows show and commands take.
package enum MessageReference {
    /// The ends of the groups of a UUID.
    private static let lengths = [13, 18, 23]
    /// An id begins with its time: fewer characters are the same for all messages of some minutes.
    private static let charactersMin = 8
    private static let idCharacters = 36

    /// Returns the shortest length at which the ids differ.
    package static func length(for ids: [String]) -> Int {
        lengths.first { Set(ids.map { [length = $0] id in id.prefix(length) }).count == Set(ids).count } ?? idCharacters
    }

    /// Whether a text may be the beginning of an id, and no whole id.
    static func isBeginning(_ text: String) -> Bool {
        (charactersMin..<idCharacters).contains(text.count) && text.allSatisfy { $0.isHexDigit || $0 == "-" }
    }

    /// Returns the one id that begins so; the text itself if there is none.
    package static func id(_ text: String, among ids: [String]) throws(CommandFault) -> String {
        let found = ids.filter { $0.hasPrefix(text.lowercased()) }
        guard found.count > 1 else { return found.first ?? text }
        throw CommandFault(
            .usage, "several ids begin with \(text): \(AudienceDescription.sentence(found, "and")). Give more of the id"
        )
    }
}

extension GatewayClient {
    /// The messages in which a beginning is looked for.
    private static let searchedMax = 2_000

    /// The whole id of a message.
    ///
    /// - Parameters:
    ///   - text: the id, or its beginning.
    ///   - path: the app's messages.
    func messageID(_ text: String, in path: String) async throws(CommandFault) -> String {
        guard MessageReference.isBeginning(text) else { return text }
        let messages = try await list(path, of: .message, limit: Self.searchedMax).items
        return try MessageReference.id(text, among: messages.map { $0.shown("id") })
    }
}
