import Basis
import Expressions
import Model
import Postgres
import QueueRules

/// Checks the members of parcels that are being leased against the conditions of their messages' audiences (rule 2).
///
/// A parcel's members are frozen when the audience is cut. A push may leave much later: its message was paused, its
/// device was in quiet hours, its provider was down. Meanwhile the device may have got another owner, who must not see
/// it. The check runs under `PlannerSQL.inKeyOrder`, behind the locks that the lease waits for, and before the lease
/// increments any badge.
struct AudienceCheck: Sendable {
    private let subscribers: SubscriberCheck
    /// The conditions of the leased messages, which stay the same; nil: not read yet.
    private var conditions: [MessageID: Conditions]?  // lookup only

    init(subscribers: SubscriberCheck) { self.subscribers = subscribers }

    /// The conditions of one message.
    private struct Conditions {
        let audience: Audience
        /// The time that is `now` in a filter, and that no subscription to items may be younger than.
        let sentFrom: WallInstant

        init(_ row: inout Row) throws(PostgresError) {
            guard let audience = AudienceText.decode(try row.bytes()) else { throw AudienceCheck.damaged }
            (self.audience, sentFrom) = (audience, try row.instant())
        }
    }

    /// The rows that a check reads.
    private enum Reply {
        case misfits
        /// All members but these subscriptions' are misfits. Deleted ones among them end as deleted, and retired ones
        /// as retired.
        case subscribers(WatchID)
        /// The members with their users, who must be among these.
        case users(Set<[UInt8]>)
    }

    /// The findings of a check about one parcel.
    struct Exclusions: Sendable {
        /// The registrations that the audience no longer includes. Deleted and retired ones may be among them: those
        /// end as such all the same.
        var changes: [Int64: AudienceChange] = [:]  // lookup only
        /// The users that the message is for; nil: it names none.
        var users: Set<[UInt8]>?  // lookup only
    }

    private static let damaged = PostgresError.unexpectedShape(statement: AudienceCheckSQL.audiences.name, column: 1)

    /// Returns for each parcel whom its message's audience no longer includes, and the answers to `locks`.
    ///
    /// - Parameter locks: queries that may wait for other transactions. They run before the members are read, and cost
    ///   no round trip of their own.
    mutating func excluded(
        from parcels: [ClaimedParcel], behind locks: [Query], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> (excluded: [Exclusions], locked: [ResultSet]) {
        var excluded = [Exclusions](repeating: Exclusions(), count: parcels.count)
        var (locks, locked) = (locks, [ResultSet]())
        let places = parcels.indices.filter { parcels[$0].row.hasConditions }
        if conditions == nil {
            locked = try await transaction.run(locks + [Self.reading(places.map { parcels[$0].row.message })])
            conditions = try Self.conditions(in: locked.removeLast())
            locks = []
        }
        let checks = try checks(of: parcels, places)
        var answers = try await transaction.run(locks + checks.map(\.query))
        locked += answers.prefix(locks.count)
        answers.removeFirst(locks.count)
        var subscribers: [(place: Int, found: SubscriberCheck.Subscribers)] = []
        for ((place, reply, _), rows) in zip(checks, answers) {
            switch reply {
            case .misfits: for id in try rows.map(Int64.init) { excluded[place].changes[id] = .condition }
            case .subscribers(let watch):
                let members = try rows.map { row throws(PostgresError) in
                    (registration: try row.int64(), subscription: try row.int64())
                }
                subscribers.append((place, .init(watch: watch, members: members)))
            case .users(let named):
                excluded[place].users = named
                let members = try rows.map { row throws(PostgresError) in (try row.int64(), try row.textBytesOrNil()) }
                // Names are compared by bytes, as the database does.
                for (id, user) in members where user.map({ !named.contains($0) }) ?? true {
                    excluded[place].changes[id] = .user
                }
            }
        }
        let readers = try await self.subscribers.readers(of: subscribers.map(\.found), in: transaction)
        for (place, readers) in zip(subscribers.map(\.place), readers) {
            for id in parcels[place].ids where !readers.contains(id) { excluded[place].changes[id] = .condition }
        }
        return (excluded, locked)
    }

    private func checks(
        of parcels: [ClaimedParcel], _ places: [Int]
    ) throws(PostgresError) -> [(place: Int, reply: Reply, query: Query)] {
        var checks: [(place: Int, reply: Reply, query: Query)] = []
        for place in places {
            // A message without content can't be sent at all.
            guard let conditions = conditions?[parcels[place].row.message] else { continue }
            let keys = MemberKeys(parcels[place].ids)
            switch conditions.audience.selection {
            case .users(let names):
                checks.append((place, .users(Set(names.map { Array($0.utf8) })), AudienceCheckSQL.users.query(keys)))
            case .tags(let expression): checks.append((place, .misfits, Self.query(keys, expression)))
            case .filter(let text): checks.append((place, .misfits, try Self.query(keys, text, conditions.sentFrom)))
            case .subscribers(let watch):
                checks.append((place, .subscribers(watch), Self.query(keys, watch, parcels[place].row.message)))
            case .revoked(let watch): checks.append((place, .misfits, Self.query(keys, watch)))
            case .itemSubscribers(let template):
                checks.append((place, .misfits, Self.query(keys, template, conditions.sentFrom)))
            case .all, .installations, .tokens, .stale: continue
            }
        }
        return checks
    }

    private static func reading(_ messages: [MessageID]) -> Query {
        Query(AudienceCheckSQL.audiences) { $0.uuidArray("messages", messages.map(\.value)) }
    }

    private static func conditions(in rows: ResultSet) throws(PostgresError) -> [MessageID: Conditions] {
        let read = try rows.map { row throws(PostgresError) in (MessageID(try row.uuid()), try Conditions(&row)) }
        return Dictionary(read) { first, _ in first }
    }

    private static func query(_ keys: MemberKeys, _ watch: WatchID, _ message: MessageID) -> Query {
        var parameters = Parameters()
        parameters.int64("watch", watch.value)
        parameters.uuid("message", message.value)
        return AudienceCheckSQL.subscribers.query(keys, parameters)
    }

    private static func query(_ keys: MemberKeys, _ watch: WatchID) -> Query {
        var parameters = Parameters()
        parameters.int64("watch", watch.value)
        return AudienceCheckSQL.revoked.query(keys, parameters)
    }

    private static func query(_ keys: MemberKeys, _ template: PushTemplateID, _ sentFrom: WallInstant) -> Query {
        var parameters = Parameters()
        parameters.int64("template", template.value)
        parameters.instant("sent_from", sentFrom)
        return AudienceCheckSQL.itemSubscribers.query(keys, parameters)
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
