import Model
import Postgres

/// The idempotency keys of a group of messages.
struct CutKeys: Sendable {
    private let messages: [CutMessage]
    /// Places of the messages with a key, each key once.
    private let claims: [Int]
    /// For a message whose key stands in the group before: the place of the first.
    private var firsts: [Int: Int] = [:]  // lookup only

    private struct Name: Hashable {
        let operation: String
        let key: String

        init(_ claim: IdempotencyClaim) { (operation, key) = (claim.operation, claim.key) }
        init(_ row: inout Row) throws(PostgresError) { (operation, key) = (try row.text(), try row.text()) }
    }

    /// A request that came before.
    private struct Known {
        let place: Int
        let body: [UInt8]
        let answer: [UInt8]

        init(_ row: inout Row) throws(PostgresError) {
            (place, body, answer) = (Int(try row.int64()) - 1, try row.bytes(), try row.bytes())
        }

        func reply(to claim: IdempotencyClaim?) -> CutReply {
            claim?.bodySHA256 == body ? .replayed(answer: answer) : .mismatch
        }
    }

    init(_ messages: [CutMessage]) {
        self.messages = messages
        var seen: [Name: Int] = [:]  // lookup only
        var claims: [Int] = []
        for (place, each) in messages.enumerated() {
            guard let claim = each.message.idempotency?.claim else { continue }
            if let first = seen[Name(claim)] {
                firsts[place] = first
            } else {
                seen[Name(claim)] = place
                claims.append(place)
            }
        }
        self.claims = claims
    }

    /// Claims and reads the keys; empty if no message has one.
    var queries: [Query] {
        let asked = claims.compactMap { messages[$0].message.idempotency }
        guard !asked.isEmpty else { return [] }
        var names = Parameters()
        names.int64("app", messages[0].message.app.value)
        names.textArray("operations", asked.map(\.claim.operation))
        names.textArray("keys", asked.map(\.claim.key))
        var claims = names
        claims.bytesArray("body_hashes", asked.map(\.claim.bodySHA256))
        claims.bytesArray("answers", asked.map(\.answer))
        return [Query(CutSQL.claimKeys, claims), Query(CutSQL.findKeys, names)]
    }

    /// The replies to messages whose request came before, also within the group, by their places.
    ///
    /// - Parameter answers: the answers to `queries`.
    func replies(_ answers: [ResultSet]) throws(PostgresError) -> [Int: CutReply] {
        guard answers.count == 2 else { return [:] }
        let free = Set(try answers[0].map(Name.init))
        var stored: [Int: Known] = [:]  // lookup only
        for known in try answers[1].map(Known.init) { stored[known.place] = known }
        var replies: [Int: CutReply] = [:]
        for (number, first) in claims.enumerated() {
            guard let claim = messages[first].message.idempotency?.claim, let known = stored[number] else {
                // Swept between the two statements: nothing says what its first request was.
                throw .unexpectedShape(statement: CutSQL.findKeys.name, column: 0)
            }
            if !free.contains(Name(claim)) { replies[first] = known.reply(to: claim) }
            for (place, _) in firsts where firsts[place] == first {
                replies[place] = known.reply(to: messages[place].message.idempotency?.claim)
            }
        }
        return replies
    }
}

/// A token that is a member by itself, because no registration holds it.
struct InlineMember: Sendable {
    let id: Int64
    let route: Int64
    let token: [UInt8]
}

/// The queries that find the members of a group of messages, and their answers.
struct CutReadings: Sendable {
    /// The members of one message; nil: they are too many for one cut.
    struct Found: Sendable {
        var members: FoundMembers?
        var inline: [InlineMember] = []
    }

    private let named: NamedReadings
    private var tokens: [(message: Int, target: InlineTarget)] = []

    init(_ messages: [NewMessage], idsMax: Int) {
        precondition(messages.allSatisfy { $0.audience.namedCount != nil }, "a message that is cut names its receivers")
        let queries = messages.map { ClaimedPlan(cutting: $0).query(idsMax: idsMax) }
        named = NamedReadings(queries)
        for (place, query) in queries.enumerated() { tokens += query.targets.map { (place, $0) } }
    }

    func queries(_ app: AppID) -> [Query] {
        guard !tokens.isEmpty else { return named.queries }
        let inline = Query(CutSQL.tokens) {
            $0.int64("app", app.value)
            $0.targets(tokens.map(\.target))
        }
        return [inline] + named.queries
    }

    /// - Parameter answers: the answers to `queries`.
    /// - Returns: one for each message, in order.
    func found(_ answers: [ResultSet]) throws(PostgresError) -> [Found] {
        let names = try named.found(Array(answers.dropFirst(tokens.isEmpty ? 0 : 1)))
        // A message of which no token is wanted has no members.
        var found = names.map { Found(members: $0 ?? FoundMembers(tokens: [])) }
        for place in found.indices where found[place].members?.isLast == false { found[place].members = nil }
        guard !tokens.isEmpty else { return found }
        // Each token has a route, because the routes were added before.
        let rows = try answers[0].map { row throws(PostgresError) in
            (member: try Member(&row), isInline: try row.bool())
        }
        for (message, own) in Dictionary(grouping: zip(tokens, rows), by: \.0.message) {
            found[message].members = FoundMembers(tokens: own.map(\.1.member))
            found[message].inline = own.filter(\.1.isInline).map {
                InlineMember(id: $1.member.id, route: $1.member.route, token: $0.target.token.bytes)
            }
        }
        return found
    }
}
