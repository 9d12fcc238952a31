import Basis
import Expressions
import Model
import Postgres

/// One query of an audience: from where, up to where, and how many.
struct AudienceQuery: Sendable {
    let message: UniversalID
    /// The time that is `now` in a filter.
    let sentFrom: WallInstant
    let app: Int64
    let kind: Int16
    /// The highest id that was looked at before; for installations, how many were looked up.
    let after: Int64
    let horizon: Int64
    let idsMax: Int
    /// The number of ids that slices after the first one look at.
    let sliceIDs: Int
    /// Empty: all providers.
    let providers: [Int16]

    func read(
        _ audience: Audience, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        switch audience.selection {
        case .all where providers.isEmpty:
            return try FoundMembers(
                live: try await transaction.run([Query(AudienceSQL.live, range)])[0], idsMax: idsMax, horizon: horizon)
        case .all: return try await narrowed(without: [], in: transaction)
        case .installations(let names): return try await named(names, in: transaction)
        case .users(let names): return try await ofUsers(names, in: transaction)
        case .tags(let expression) where expression.onlyExcludes:
            return try await narrowed(without: expression.none, in: transaction)
        case .tags(let expression): return try await tagged(expression, in: transaction)
        case .filter(let text): return try await filtered(text, in: transaction)
        case .stale(let times): return try await silent(since: times, in: transaction)
        case .tokens(let targets): return try await inline(targets, in: transaction)
        }
    }

    /// The parameters $1 to $5 of statements that read by rising ids.
    private var range: Parameters {
        var parameters = Parameters()
        parameters.int64(app)
        parameters.int16(kind)
        parameters.int64(after)
        parameters.int64(horizon)
        parameters.int64(Int64(idsMax))
        return parameters
    }

    private func narrowed(
        without tags: [String], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        var parameters = range
        parameters.int16Array(providers)
        parameters.textArray(tags)
        let rows = try await transaction.run([Query(AudienceSQL.liveNarrowed, parameters)])[0]
        return try FoundMembers(examined: rows, idsMax: idsMax, horizon: horizon)
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
        parameters.int16Array(providers)
        let filter = FilterSQL(expression, now: sentFrom, adding: &parameters)
        let rows = try await transaction.run([Query(AudienceSQL.liveFiltered(by: filter), parameters)])[0]
        return try FoundMembers(examined: rows, idsMax: idsMax, horizon: horizon)
    }

    private func silent(
        since times: [StaleCutoffs], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        var parameters = range
        parameters.int16Array(providers)
        parameters.int16Array(times.map(\.provider.rawValue))
        parameters.instantArray(times.map(\.instant))
        let rows = try await transaction.run([Query(AudienceSQL.liveSilent, parameters)])[0]
        return try FoundMembers(examined: rows, idsMax: idsMax, horizon: horizon)
    }

    /// An installation to look up for a message.
    struct NamedInstallation: Sendable {
        let app: Int64
        let kind: Int16
        let horizon: Int64
        let name: String
        /// The place among the names that are looked up for the message, from 1.
        let place: Int64
    }

    private func named(
        _ names: [String], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        let rows = try await transaction.run([Self.query(named: named(names))])[0]
        return try found(names, in: rows, 0..<rows.rowCount)
    }

    /// Returns the installations of the slice.
    func named(_ names: [String]) -> [NamedInstallation] {
        names[part(of: names)].enumerated().map {
            NamedInstallation(app: app, kind: kind, horizon: horizon, name: $1, place: Int64($0 + 1))
        }
    }

    /// Returns the query for installations of any number of messages.
    static func query(named installations: [NamedInstallation]) -> Query {
        Query(AudienceSQL.named) {
            $0.int64Array(installations.map(\.app))
            $0.int16Array(installations.map(\.kind))
            $0.int64Array(installations.map(\.horizon))
            $0.textArray(installations.map(\.name))
            $0.int64Array(installations.map(\.place))
        }
    }

    /// - Parameter own: the rows of this message.
    func found(_ names: [String], in rows: ResultSet, _ own: Range<Int>) throws(PostgresError) -> FoundMembers {
        let part = part(of: names)
        return try FoundMembers(
            named: rows, own, providers, before: part.lowerBound, plannedThrough: Int64(part.upperBound),
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
            let isFirst = after == 0 && parts == 0
            let answers = try await transaction.run(
                isFirst ? [query(of: part), query(usersWithout: names)] : [query(of: part)])
            try scan.take(answers[0], of: part)
            if isFirst { without = answers[1] }
            parts += 1
        }
        guard parts > 1 else { return try found(scan.slice, without) }
        // A device may have changed its user between two parts, and be in both or in none. The end of the slice is
        // known now, so it is read again in one snapshot.
        let slice = scan.slice
        let owned = query(
            ofUsers: names, after: [Int64](repeating: after, count: names.count),
            through: slice.isLast ? horizon : slice.through ?? horizon, rowsEach: .max)
        return try found(slice.reread(try await transaction.run([owned])[0]), without)
    }

    /// Returns the queries for the slice's first part, which mostly is the only one.
    func queries(ofUsers names: [String]) -> [Query] {
        guard let part = UserScan(names, after: after, idsMax: idsMax).next else { return [] }
        return after == 0 ? [query(of: part), query(usersWithout: names)] : [query(of: part)]
    }

    func found(users names: [String], in answers: [ResultSet]) throws(PostgresError) -> FoundMembers {
        var scan = UserScan(names, after: after, idsMax: idsMax)
        if let part = scan.next { try scan.take(answers[0], of: part) }
        return try found(scan.slice, answers.count > 1 ? answers[1] : nil)
    }

    private func found(_ slice: UserScan.Slice, _ without: ResultSet?) throws(PostgresError) -> FoundMembers {
        var found = FoundMembers(slice, horizon: horizon)
        if let without { try found.end(users: without) }
        return found
    }

    private func query(of part: UserScan.Part) -> Query {
        query(ofUsers: part.users, after: part.after, through: horizon, rowsEach: Int64(part.rowsEach))
    }

    private func query(ofUsers users: [String], after: [Int64], through: Int64, rowsEach: Int64) -> Query {
        Query(AudienceSQL.ofUsers) {
            $0.int64(app)
            $0.int16(kind)
            $0.int64(through)
            $0.int64(rowsEach)
            $0.int16Array(providers)
            $0.textArray(users)
            $0.int64Array(after)
        }
    }

    private func query(usersWithout names: [String]) -> Query {
        Query(AudienceSQL.usersWithout) {
            $0.int64(app)
            $0.int16(kind)
            $0.int64(horizon)
            $0.int16Array(providers)
            $0.textArray(names)
        }
    }

    private func inline(
        _ targets: [InlineTarget], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        try FoundMembers(inline: try await transaction.run([query(inline: targets)])[0])
    }

    /// Returns the query for all tokens at once: between two slices a registration could change its token, and be
    /// reached by both. The query writes the inline targets.
    func query(inline targets: [InlineTarget]) -> Query {
        let wanted = targets.filter { providers.isEmpty || providers.contains($0.provider.rawValue) }
        return Query(AudienceSQL.inline) {
            $0.int64(app)
            $0.uuid(message)
            $0.int16Array(wanted.map(\.provider.rawValue))
            $0.int16Array(wanted.map(\.environment.rawValue))
            $0.textArray(wanted.map(\.topic))
            $0.bytesArray(wanted.map(\.token.bytes))
        }
    }

    private func tagged(
        _ expression: TagExpression, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> FoundMembers {
        var parameters = range
        parameters.int16Array(providers)
        parameters.textArray(try await scanned(expression, in: transaction))
        parameters.textArray(expression.all)
        parameters.textArray(expression.any)
        parameters.textArray(expression.none)
        let rows = try await transaction.run([Query(AudienceSQL.tagged, parameters)])[0]
        return try FoundMembers(examined: rows, idsMax: idsMax, horizon: horizon)
    }

    /// Returns the tags whose entries are walked through the ids that are left: the rarest of `all`, or all of `any` if
    /// they are rarer together. Entries are counted up to a slice's worth, since beyond that each tag costs a slice or
    /// more anyway. A small slice counts less.
    private func scanned(
        _ expression: TagExpression, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [String] {
        if expression.all.isEmpty { return expression.any }
        if expression.all.count == 1, expression.any.isEmpty { return expression.all }
        let query = Query(AudienceSQL.tagCounts) {
            $0.int64(app)
            $0.textArray(expression.all + expression.any)
            $0.int64(after)
            $0.int64(horizon)
            $0.int64(Int64(min(sliceIDs, idsMax * 10)))
        }
        let counts = try await transaction.run([query])[0].int64Column(0)
        guard counts.count == expression.all.count + expression.any.count else {
            throw .unexpectedShape(statement: "plan_tag_counts", column: 0)
        }
        var rarest = 0
        for place in expression.all.indices where counts[place] < counts[rarest] { rarest = place }
        let ofAny = counts[expression.all.count...].reduce(0, +)
        let isAnyRarer = !expression.any.isEmpty && ofAny < counts[rarest]
        return isAnyRarer ? expression.any : [expression.all[rarest]]
    }
}
