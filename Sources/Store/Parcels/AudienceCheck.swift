import Basis
import Expressions
import Model
import Postgres
import QueueRules

/// Checks the members of parcels that are being leased against the conditions of their messages' audiences (DESIGN,
/// rule 2).
///
/// A parcel's members are frozen when the audience is cut. A push may leave much later: its message was paused, its
/// device was in quiet hours, its provider was down. Meanwhile the device may have got another owner, who must not see
/// it. The check runs under `PlannerSQL.inKeyOrder`, before the lease increments any badge.
struct AudienceCheck: Sendable {
    /// The conditions of one message.
    private struct Conditions {
        let audience: Audience
        /// The time that is `now` in a filter.
        let sentFrom: WallInstant

        init(_ row: inout Row) throws(PostgresError) {
            guard let audience = AudienceText.decode(try row.bytes()) else { throw AudienceCheck.damaged }
            (self.audience, sentFrom) = (audience, try row.instant())
        }
    }

    private static let damaged = PostgresError.unexpectedShape(statement: AudienceCheckSQL.audiences.name, column: 1)

    /// Returns for each parcel the registrations that its message's audience no longer includes, without deleted ones.
    static func excluded(
        from parcels: [ClaimedParcel], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [[Int64: AudienceChange]] {
        var excluded = [[Int64: AudienceChange]](repeating: [:], count: parcels.count)  // lookup only
        var places: [UniversalID: [Int]] = [:]  // lookup only
        var messages: [UniversalID] = []
        for (place, parcel) in parcels.enumerated() where parcel.row.hasConditions {
            let message = parcel.row.message.value
            if places[message, default: []].isEmpty { messages.append(message) }
            places[message, default: []].append(place)
        }
        guard !messages.isEmpty else { return excluded }
        let conditions = try await conditions(of: messages, in: transaction)
        var queries: [Query] = []
        var asked: [(place: Int, named: Set<[UInt8]>?)] = []
        for message in messages {
            // A message without content can't be sent at all.
            guard let conditions = conditions[message] else { continue }
            for place in places[message] ?? [] {
                let keys = MemberKeys(parcels[place].ids)
                switch conditions.audience.selection {
                case .users(let names):
                    queries.append(AudienceCheckSQL.users.query(keys))
                    asked.append((place, Set(names.map { Array($0.utf8) })))
                case .tags(let expression):
                    queries.append(query(keys, expression))
                    asked.append((place, nil))
                case .filter(let text):
                    queries.append(try query(keys, text, conditions.sentFrom))
                    asked.append((place, nil))
                case .all, .installations, .tokens, .stale: continue
                }
            }
        }
        let answers = try await transaction.run(queries)
        for ((place, named), rows) in zip(asked, answers) {
            guard let named else {
                for id in try rows.map(Int64.init) { excluded[place][id] = .condition }
                continue
            }
            let members = try rows.map { row throws(PostgresError) in (try row.int64(), try row.textBytesOrNil()) }
            // Names are compared by bytes, as the database does.
            for (id, user) in members where user.map({ !named.contains($0) }) ?? true { excluded[place][id] = .user }
        }
        return excluded
    }

    private static func conditions(
        of messages: [UniversalID], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [UniversalID: Conditions] {
        let query = Query(AudienceCheckSQL.audiences) { $0.uuidArray("messages", messages) }
        let read = try await transaction.run(query).map { row throws(PostgresError) in
            (message: try row.uuid(), conditions: try Conditions(&row))
        }
        return Dictionary(read.map { ($0.message, $0.conditions) }) { first, _ in first }
    }

    private static func query(_ keys: MemberKeys, _ expression: TagExpression) -> Query {
        var parameters = Parameters()
        parameters.textArray("all_of", expression.all)
        parameters.textArray("one_of", expression.any)
        parameters.textArray("none_of", expression.none)
        return AudienceCheckSQL.tags.query(keys, parameters)
    }

    private static func query(
        _ keys: MemberKeys, _ text: String, _ sentFrom: WallInstant
    ) throws(PostgresError) -> Query {
        guard let expression = try? FilterExpression(parsing: text) else { throw damaged }
        var parameters = Parameters()
        let members = keys.condition(on: "r.id", adding: &parameters)
        let filter = FilterSQL(expression, now: sentFrom, adding: &parameters)
        return Query(AudienceCheckSQL.filter(filter, members: members), parameters)
    }
}
