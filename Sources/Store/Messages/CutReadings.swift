import Basis
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

        init(operation: String, key: String) { (self.operation, self.key) = (operation, key) }
        init(_ claim: IdempotencyClaim) { self.init(operation: claim.operation, key: claim.key) }
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

    private var asked: [IdempotentAnswer] { claims.compactMap { messages[$0].message.idempotency } }

    /// Claims and reads the keys; empty if no message has one.
    var queries: [Query] {
        let asked = asked
        guard !asked.isEmpty else { return [] }
        let app = messages[0].message.app.value
        return [
            Query(CutSQL.claimKeys) {
                $0.int64(app)
                $0.textArray(asked.map(\.claim.operation))
                $0.textArray(asked.map(\.claim.key))
                $0.bytesArray(asked.map(\.claim.bodySHA256))
                $0.bytesArray(asked.map(\.answer))
            },
            Query(CutSQL.findKeys) {
                $0.int64(app)
                $0.textArray(asked.map(\.claim.operation))
                $0.textArray(asked.map(\.claim.key))
            },
        ]
    }

    /// The replies to messages whose request came before, also within the group, by their places.
    ///
    /// - Parameter answers: the answers to `queries`.
    func replies(_ answers: [ResultSet]) throws(PostgresError) -> [Int: CutReply] {
        guard answers.count == 2 else { return [:] }
        var free: Set<Name> = []  // lookup only
        for row in 0..<answers[0].rowCount {
            free.insert(Name(operation: try answers[0].text(row, 0), key: try answers[0].text(row, 1)))
        }
        var stored: [Int: (body: [UInt8], answer: [UInt8])] = [:]  // lookup only
        for row in 0..<answers[1].rowCount {
            stored[Int(try answers[1].int64(row, 0)) - 1] = (try answers[1].bytes(row, 1), try answers[1].bytes(row, 2))
        }
        var replies: [Int: CutReply] = [:]
        for (number, first) in claims.enumerated() {
            guard let own = messages[first].message.idempotency, let known = stored[number] else {
                // Swept between the two statements: nothing says what its first request was.
                throw .unexpectedShape(statement: CutSQL.findKeys.name, column: 0)
            }
            if !free.contains(Name(own.claim)) {
                replies[first] = own.claim.bodySHA256 == known.body ? .replayed(answer: known.answer) : .mismatch
            }
            for (place, _) in firsts where firsts[place] == first {
                let body = messages[place].message.idempotency?.claim.bodySHA256
                replies[place] = body == known.body ? .replayed(answer: known.answer) : .mismatch
            }
        }
        return replies
    }
}

/// The queries that find the members of a group of messages, and their answers.
struct CutReadings: Sendable {
    /// The members of one message; nil: they are too many for one cut.
    struct Found: Sendable {
        var members: FoundMembers?
        var inline: [(id: Int64, route: Int64, token: [UInt8])] = []
    }

    private let plans: [ClaimedPlan]
    private let idsMax: Int
    private var named: [(message: Int, installation: AudienceQuery.NamedInstallation)] = []
    private var tokens: [(message: Int, target: InlineTarget)] = []
    /// Messages to users, which have queries of their own.
    private var apart: [(message: Int, queries: [Query])] = []

    init(_ messages: [NewMessage], idsMax: Int) {
        plans = messages.map(ClaimedPlan.init(cutting:))
        self.idsMax = idsMax
        for (place, plan) in plans.enumerated() {
            switch plan.audience.selection {
            case .installations(let names): named += query(plan).named(names).map { (place, $0) }
            case .tokens(let targets):
                let providers = plan.audience.providers ?? []
                tokens += targets.filter { providers.isEmpty || providers.contains($0.provider) }.map { (place, $0) }
            case .users(let names): apart.append((place, query(plan).queries(ofUsers: names)))
            case .all, .tags, .filter, .stale: preconditionFailure("a message that is cut names its receivers")
            }
        }
    }

    private func query(_ plan: ClaimedPlan) -> AudienceQuery {
        AudienceQuery(
            message: plan.message, sentFrom: plan.sentFrom, app: plan.app, kind: plan.kind, after: 0,
            horizon: plan.horizon, idsMax: idsMax, sliceIDs: idsMax,
            providers: plan.audience.providers?.map(\.rawValue) ?? [])
    }

    var queries: [Query] {
        var queries: [Query] = []
        if !named.isEmpty {
            queries.append(AudienceQuery.query(named: named.map(\.installation)))
        }
        if !tokens.isEmpty {
            queries.append(
                Query(CutSQL.tokens) {
                    $0.int64(plans[0].app)
                    $0.int16Array(tokens.map(\.target.provider.rawValue))
                    $0.int16Array(tokens.map(\.target.environment.rawValue))
                    $0.textArray(tokens.map(\.target.topic))
                    $0.bytesArray(tokens.map(\.target.token.bytes))
                })
        }
        return queries + apart.flatMap(\.queries)
    }

    /// - Parameter answers: the answers to `queries`.
    /// - Returns: one for each message, in order.
    func found(_ answers: [ResultSet]) throws(PostgresError) -> [Found] {
        var answers = answers[...]
        // A message that names nobody has no members.
        var found = [Found](repeating: Found(members: FoundMembers(tokens: [])), count: plans.count)
        let byName = named.isEmpty ? nil : answers.removeFirst()
        let byToken = tokens.isEmpty ? nil : answers.removeFirst()
        if let byName { try read(named: byName, &found) }
        try read(tokens: byToken, &found)
        for each in apart {
            let own = Array(answers.prefix(each.queries.count))
            answers.removeFirst(each.queries.count)
            guard case .users(let names) = plans[each.message].audience.selection else { continue }
            let members = try query(plans[each.message]).found(users: names, in: own)
            found[each.message].members = members.isLast ? members : nil
        }
        return found
    }

    private func read(named rows: ResultSet, _ found: inout [Found]) throws(PostgresError) {
        var start = 0
        while start < named.count {
            let message = named[start].message
            var end = start
            while end < named.count, named[end].message == message { end += 1 }
            if case .installations(let names) = plans[message].audience.selection {
                found[message].members = try query(plans[message]).found(names, in: rows, start..<end)
            }
            start = end
        }
    }

    private func read(tokens rows: ResultSet?, _ found: inout [Found]) throws(PostgresError) {
        var members: [Int: [(id: Int64, route: Int64)]] = [:]
        for (row, each) in tokens.enumerated() {
            guard let rows else { continue }
            // Its route was added before, so a token has one.
            let (id, route) = (try rows.int64(row, 0), try rows.int64(row, 1))
            members[each.message, default: []].append((id, route))
            if try rows.bool(row, 2) {
                found[each.message].inline.append((id, route, each.target.token.bytes))
            }
        }
        for (message, plan) in plans.enumerated() {
            guard case .tokens = plan.audience.selection else { continue }
            found[message].members = FoundMembers(tokens: members[message] ?? [])
        }
    }
}
