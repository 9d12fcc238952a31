import Model
import Postgres

/// The queries that find the members of messages that name installations or users, and their answers. The installations
/// of all messages are looked up together.
struct NamedReadings: Sendable {
    private let messages: [AudienceQuery]
    private let users: [[Query]]

    init(_ messages: [AudienceQuery]) { (self.messages, users) = (messages, messages.map(\.userQueries)) }

    private var namesInstallations: Bool { messages.contains { !$0.installations.isEmpty } }

    var queries: [Query] { (namesInstallations ? [AudienceQuery.named(messages)] : []) + users.joined() }

    /// Returns the members of each message; nil: it names neither.
    ///
    /// - Parameter answers: the answers to `queries`.
    func found(_ answers: [ResultSet]) throws(PostgresError) -> [FoundMembers?] {
        var answers = answers[...]
        var rows: ArraySlice<InstallationRow> = []
        if namesInstallations, let answer = answers.popFirst() { rows = try answer.map(InstallationRow.init)[...] }
        var found: [FoundMembers?] = []
        for (message, users) in zip(messages, users) {
            switch message.selection {
            case .installations(let names):
                found.append(message.found(names, in: rows.prefix(message.installations.count)))
                rows = rows.dropFirst(message.installations.count)
            case .users(let names):
                found.append(try message.found(users: names, in: Array(answers.prefix(users.count))))
                answers = answers.dropFirst(users.count)
            case .tokens, .all, .tags, .filter, .stale, .subscribers, .revoked, .itemSubscribers: found.append(nil)
            }
        }
        return found
    }
}
