import Expressions
import Model
import Postgres

/// One query of a plan's audience: from where, up to where, and how many.
struct AudienceQuery: Sendable {
    private let plan: ClaimedPlan
    private let idsMax: Int
    /// The number of ids that slices after the first one look at.
    private let sliceIDs: Int
    /// Empty: all providers.
    private let providers: [Int16]
    /// The highest id that was looked at before; for installations, how many were looked up.
    private var after: Int64 { plan.plannedThrough }

    init(_ plan: ClaimedPlan, idsMax: Int, sliceIDs: Int) {
        (self.plan, self.idsMax, self.sliceIDs) = (plan, idsMax, sliceIDs)
        providers = plan.audience.providers?.map(\.rawValue) ?? []
    }

    var selection: Audience.Selection { plan.audience.selection }

    func read(in transaction: PostgresTransaction) async throws(PostgresError) -> FoundMembers {
        switch selection {
        case .all where providers.isEmpty:
            return try await examine(Query(AudienceSQL.live, range), in: transaction)
        case .all:
            return try await examine(AudienceSQL.liveNarrowed, in: transaction) { $0.textArray("tags", [String]()) }
        case .installations(let names):
            let rows = try await transaction.run(Self.named([self])).map(InstallationRow.init)
            return found(names, in: rows[...])
        case .users(let names): return try await ofUsers(names, in: transaction)
        case .tags(let tags) where tags.onlyExcludes:
            return try await examine(AudienceSQL.liveNarrowed, in: transaction) { $0.textArray("tags", tags.none) }
        case .tags(let tags):
            let scanned = try await scanned(tags, in: transaction)
            return try await examine(AudienceSQL.tagged, in: transaction) {
                $0.textArray("scanned", scanned)
                $0.textArray("all", tags.all)
                $0.textArray("any", tags.any)
                $0.textArray("none", tags.none)
            }
        case .filter(let text): return try await filtered(text, in: transaction)
        case .stale(let times):
            return try await examine(AudienceSQL.liveSilent, in: transaction) {
                $0.int16Array("silent_providers", times.map(\.provider.rawValue))
                $0.instantArray("silent_since", times.map(\.instant))
            }
        case .tokens: return FoundMembers(tokens: try await transaction.run(writingTargets).map(Member.init))
        // A fan-out, or a round of the item, has cut it.
        case .subscribers, .revoked, .itemSubscribers: return FoundMembers([], through: plan.horizon, isLast: true)
        }
    }

    /// The parameters of statements that read by rising ids.
    private var range: Parameters {
        var parameters = Parameters()
        parameters.int64("app", plan.app)
        parameters.int16("kind", plan.kind)
        parameters.int64("after", after)
        parameters.int64("horizon", plan.horizon)
        parameters.int64("limit", Int64(idsMax))
        return parameters
    }

    /// Runs a statement that reads by rising ids, of which some fit.
    private func examine(
        _ statement: Statement, in transaction: PostgresTransaction, _ add: (inout Parameters) -> Void
    ) async throws(PostgresError) -> FoundMembers {
        var parameters = range
        parameters.int16Array("providers", providers)
        add(&parameters)
        return try await examine(Query(statement, parameters), in: transaction)
    }

    private func examine(
        _ query: Query, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        let rows = try await transaction.run(query).map { row throws(PostgresError) in
            (member: try Member(&row), fits: try row.bool())
        }
        return FoundMembers(
            rows.filter(\.fits).map(\.member), through: rows.map(\.member.id).max() ?? plan.horizon,
            isLast: rows.count < idsMax)
    }

    /// Parses the filter again for each slice, which costs nothing beside the query. The message's own time makes all
    /// slices agree.
    private func filtered(
        _ text: String, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        guard let expression = try? FilterExpression(parsing: text) else {
            throw .unexpectedShape(statement: "plan_filtered", column: 0)
        }
        var parameters = range
        parameters.int16Array("providers", providers)
        let filter = FilterSQL(expression, now: plan.sentFrom, adding: &parameters)
        return try await examine(Query(AudienceSQL.liveFiltered(by: filter), parameters), in: transaction)
    }

    /// The names of installations of the slice; empty if the audience names none.
    var installations: ArraySlice<String> {
        guard case .installations(let names) = selection else { return [] }
        return names[part(of: names)]
    }

    /// Returns the query for the installations of any number of messages.
    static func named(_ messages: [AudienceQuery]) -> Query {
        func each<Value>(_ value: (ClaimedPlan) -> Value) -> [Value] {
            messages.flatMap { Array(repeating: value($0.plan), count: $0.installations.count) }
        }
        return Query(AudienceSQL.named) {
            $0.int64Array("apps", each(\.app))
            $0.int16Array("kinds", each(\.kind))
            $0.int64Array("horizons", each(\.horizon))
            $0.textArray("installations", messages.flatMap(\.installations))
            $0.int64Array("places", messages.flatMap { (0..<$0.installations.count).map { Int64($0 + 1) } })
        }
    }

    /// - Parameter rows: those of this message.
    func found(_ names: [String], in rows: ArraySlice<InstallationRow>) -> FoundMembers {
        let part = part(of: names)
        return FoundMembers(
            rows, of: providers, before: part.lowerBound, through: part.upperBound,
            isLast: part.upperBound == names.count)
    }

    private func part(of names: [String]) -> Range<Int> {
        let start = min(Int(after), names.count)
        return start..<min(start + idsMax, names.count)
    }

    private func ofUsers(
        _ names: [String], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        var scan = UserScan(names, after: after, idsMax: idsMax)
        var without: ResultSet?
        var parts = 0
        while let part = scan.next {
            let answers = try await transaction.run(parts == 0 ? userQueries : [query(of: part)])
            try scan.take(answers[0], of: part)
            if answers.count > 1 { without = answers[1] }
            parts += 1
        }
        guard parts > 1 else { return try found(scan.slice, without) }
        // A device may have changed its user between two parts, and be in both or in none. The end of the slice is
        // known now, so it is read again in one snapshot.
        let slice = scan.slice
        let owned = query(
            ofUsers: names, after: [Int64](repeating: after, count: names.count),
            through: slice.isLast ? plan.horizon : slice.through ?? plan.horizon, rowsEach: .max)
        return try found(slice.reread(try await transaction.run(owned)), without)
    }

    /// The queries for the slice's first part, which mostly is the only one; empty if the audience names no users.
    var userQueries: [Query] {
        guard case .users(let names) = selection, let part = UserScan(names, after: after, idsMax: idsMax).next
        else { return [] }
        guard after == 0 else { return [query(of: part)] }
        let without = Query(AudienceSQL.usersWithout) {
            $0.int64("app", plan.app)
            $0.int16("kind", plan.kind)
            $0.int64("horizon", plan.horizon)
            $0.int16Array("providers", providers)
            $0.textArray("users", names)
        }
        return [query(of: part), without]
    }

    /// - Parameter answers: the answers to `userQueries`.
    func found(users names: [String], in answers: [ResultSet]) throws(PostgresError) -> FoundMembers {
        var scan = UserScan(names, after: after, idsMax: idsMax)
        if let part = scan.next { try scan.take(answers[0], of: part) }
        return try found(scan.slice, answers.count > 1 ? answers[1] : nil)
    }

    private func found(_ slice: UserScan.Slice, _ without: ResultSet?) throws(PostgresError) -> FoundMembers {
        FoundMembers(slice, horizon: plan.horizon, ending: try without?.map(NameRow.init) ?? [])
    }

    private func query(of part: UserScan.Part) -> Query {
        query(ofUsers: part.users, after: part.after, through: plan.horizon, rowsEach: Int64(part.rowsEach))
    }

    private func query(ofUsers users: [String], after: [Int64], through: Int64, rowsEach: Int64) -> Query {
        Query(AudienceSQL.ofUsers) {
            $0.int64("app", plan.app)
            $0.int16("kind", plan.kind)
            $0.int64("horizon", through)
            $0.int64("limit", rowsEach)
            $0.int16Array("providers", providers)
            $0.textArray("users", users)
            $0.int64Array("after", after)
        }
    }

    /// The named tokens of the providers that the message goes to.
    var targets: [InlineTarget] {
        plan.audience.inlineTargets.filter { providers.isEmpty || providers.contains($0.provider.rawValue) }
    }

    /// The query for all tokens at once: between two slices a registration could change its token, and be reached by
    /// both. The query writes the inline targets.
    var writingTargets: Query {
        Query(AudienceSQL.inline) {
            $0.int64("app", plan.app)
            $0.uuid("message", plan.message)
            $0.targets(targets)
        }
    }

    /// Returns the tags whose entries are walked through the ids that are left: the rarest of `all`, or all of `any` if
    /// they are rarer together. Entries are counted up to a slice's worth, since beyond that each tag costs a slice or
    /// more anyway. A small slice counts less.
    private func scanned(
        _ expression: TagExpression, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [String] {
        if expression.all.isEmpty { return expression.any }
        if expression.all.count == 1, expression.any.isEmpty { return expression.all }
        let tags = expression.all + expression.any
        let query = Query(AudienceSQL.tagCounts) {
            $0.int64("app", plan.app)
            $0.textArray("tags", tags)
            $0.int64("after", after)
            $0.int64("horizon", plan.horizon)
            $0.int64("limit", Int64(min(sliceIDs, idsMax * 10)))
        }
        let counts = try await transaction.run(query).map(Int64.init)
        guard counts.count == tags.count else { throw .unexpectedShape(statement: "plan_tag_counts", column: 0) }
        var rarest = 0
        for place in expression.all.indices where counts[place] < counts[rarest] { rarest = place }
        let ofAny = counts[expression.all.count...].reduce(0, +)
        let isAnyRarer = !expression.any.isEmpty && ofAny < counts[rarest]
        return isAnyRarer ? expression.any : [expression.all[rarest]]
    }
}

extension Parameters {
    mutating func targets(_ targets: [InlineTarget]) {
        int16Array("providers", targets.map(\.provider.rawValue))
        int16Array("environments", targets.map(\.environment.rawValue))
        textArray("topics", targets.map(\.topic))
        bytesArray("tokens", targets.map(\.token.bytes))
    }
}
