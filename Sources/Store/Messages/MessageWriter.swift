import Basis
import Model
import Postgres
import QueueRules

/// A message as it is written, with its members if they are known.
package struct MessageDraft: Sendable {
    package let message: NewMessage
    /// Its members as parcels; nil: a plan finds them.
    let cut: SliceCut?
    /// A value of each member's own, in the order of the members' ids; empty: it has none. nil: none has one.
    let ownValues: [[UInt8]]?
    /// The message of the same list that is sent before this one (decision 0013); nil: none. Only a message without a
    /// cut waits for it: parcels are written at once.
    var after: MessageID?

    init(_ message: NewMessage, cut: SliceCut?, ownValues: [[UInt8]]? = nil, after: MessageID? = nil) {
        precondition(ownValues == nil || ownValues?.count == cut?.members, "each member has its own value")
        (self.message, self.cut, self.ownValues, self.after) = (message, cut, ownValues, after)
    }

    /// A message whose members are known.
    /// - Parameters:
    ///   - members: in any order, each once.
    ///   - ownValues: one for each member, in their order, each within `OwnValueLimits.bytesMax`; nil: none has one.
    ///   - parcelMembersMax: the most members of one parcel.
    package init(_ message: NewMessage, to members: [Member], ownValues: [[UInt8]]? = nil, parcelMembersMax: Int) {
        let found = FoundMembers(members, through: 0, isLast: true)
        let ordered = ownValues.map { values -> [[UInt8]] in
            precondition(values.count == members.count, "each member has its own value")
            return members.indices.sorted { members[$0].id < members[$1].id }.map { values[$0] }
        }
        let cut = SliceCut(found, ownValueBytes: ordered?.map(\.count), parcelMembersMax: parcelMembersMax)
        self.init(message, cut: cut, ownValues: ordered)
    }

    /// The number of its members; 0 if a plan finds them.
    package var memberCount: Int { cut?.members ?? 0 }

    fileprivate var state: MessageState {
        if let cut { return cut.members == 0 ? .finished : .sending }
        if message.isHeld { return .paused }
        return message.dueAt == nil ? .accepted : .scheduled
    }

    fileprivate func ended(_ state: TerminalState) -> Int64 { cut?.found.ended(state) ?? 0 }
}

/// Parcels that a transaction wrote.
package struct WrittenParcels: Equatable, Sendable {
    package var leases: [CutLease] = []
    /// Routes with new parcels that any process may lease.
    package var ready: [ReadyRoute] = []
    /// Leased parcels that can't be read; their leases expire.
    package var unreadable: [StoreFault] = []

    package init() {}

    mutating func add(_ other: WrittenParcels) {
        leases += other.leases
        ready += other.ready
        unreadable += other.unreadable
    }
}

/// Writes new messages of any origin with their parcels, and leases parcels at once where a lane can send (rule 18).
///
/// Make it from drafts. To lease, say whether the app `hasLimits`, ask the dispatcher which routes it admits for the
/// `demand`, and set `admitted`. Then call `write` once.
///
/// `write` makes one round trip. If a parcel is leased, a second one raises badges and reads tokens, as in every lease.
/// Limits of the app cost up to three more between the two. A caller that leases nothing may run `writes()` beside its
/// own queries instead.
package struct MessageWriter: Sendable {
    private struct Parcel {
        /// The place of its message among the drafts.
        let draft: Int
        let route: Int64
        /// The members' ids, encoded.
        let memberList: [UInt8]
        let memberCount: Int32
    }

    private let drafts: [MessageDraft]
    private let once: IdempotentAnswer?
    /// The terms of the leases; nil: no parcel is leased.
    private let order: CutOrder?
    /// The time of acceptance; nil: by the database's clock. Only tests hand it in.
    private let now: WallInstant?
    private let parcels: [Parcel]
    /// The queries that write members' own values.
    private let writeOwnValues: [Query]
    /// The app sets limits: `locks` runs after its users are counted, and not among `writes()`. Every lease counts users
    /// before it locks badges. In the other order, this transaction and a lease could deadlock.
    var hasLimits = false
    /// The service routes whose new parcels are leased. The caller sets those that the dispatcher admitted for `demand`,
    /// and only with an order. Without any, every parcel is left ready for any process.
    package var admitted: Set<ServiceRoute> = []  // lookup only
    // Three lists in step: one entry for each leased route.
    private var leasedRoutes: [ReadyRoute] = []
    /// The parcels of each route.
    private var claimed: [ClaimedGroup] = []
    /// The places of each route's own queries in `leaseQueries`.
    private var readings: [Range<Int>] = []
    /// The locked badges of all members whose messages change one, leased or not. Leases change them in turn.
    private var badges: [Int64: Int32] = [:]  // lookup only
    private var written = WrittenParcels()

    /// - Parameters:
    ///   - drafts: messages of one format. Without any, `write` writes only the caller's own queries.
    ///   - order: the terms of the leases; nil: `admitted` stays empty.
    ///   - once: of the request that all messages belong to, which are of one app. If its key is taken, nothing is
    ///     written, and the first answer to `writes()` is 0. `write` does not look at that answer, and takes no key.
    ///   - now: the time of acceptance; nil: by the database's clock.
    package init(_ drafts: [MessageDraft], order: CutOrder? = nil, once: IdempotentAnswer? = nil, now: WallInstant?) {
        precondition(
            drafts.allSatisfy { $0.message.format == drafts[0].message.format },
            "the messages of one writer have one format")
        precondition(
            once == nil || drafts.allSatisfy { $0.message.app == drafts[0].message.app },
            "an idempotency key belongs to one app")
        (self.drafts, self.order, self.once, self.now) = (drafts, order, once, now)
        writeOwnValues = Query.writing(ownValuesOf: drafts)
        parcels = drafts.enumerated().flatMap { place, draft in
            guard let cut = draft.cut else { return [Parcel]() }
            return cut.routes.indices.map {
                Parcel(
                    draft: place, route: cut.routes[$0], memberList: cut.memberLists[$0], memberCount: cut.counts[$0])
            }
        }
    }

    private func message(of parcel: Parcel) -> NewMessage { drafts[parcel.draft].message }

    private func serviceRoute(of parcel: Parcel) -> ServiceRoute {
        ServiceRoute(RouteID(parcel.route), message(of: parcel).pushType.service)
    }

    /// The new members of each service route that may be leased at once.
    package var demand: [ServiceRoute: Int] {
        parcels.reduce(into: [:]) { demand, parcel in
            guard message(of: parcel).urgency == .transactional else { return }
            demand[serviceRoute(of: parcel), default: 0] += Int(parcel.memberCount)
        }
    }

    private func isLeased(_ parcel: Parcel) -> Bool {
        message(of: parcel).urgency == .transactional && admitted.contains(serviceRoute(of: parcel))
    }

    /// Whether a parcel is leased on one of the `admitted` routes.
    package var leasesAny: Bool { !admitted.isEmpty && parcels.contains(where: isLeased) }

    /// The queries that write everything. The first one answers how many messages were written.
    func writes() -> [Query] {
        // Without an order, parcels of these routes would be left out of both queries below, and lost.
        precondition(order != nil || admitted.isEmpty, "only a writer with an order leases parcels")
        guard !drafts.isEmpty else { return [] }
        let (leased, ready) = (parcels.filter(isLeased), parcels.filter { !isLeased($0) })
        var queries = [writeMessages] + writeOwnValues
        if !ready.isEmpty { queries.append(Query(MessageWriterSQL.parcels, parameters(of: ready))) }
        if !leased.isEmpty, let order {
            var parameters = parameters(of: leased)
            parameters.uuid("owner", order.owner.value)
            parameters.int64("lease_us", order.leaseFor.wholeMicroseconds)
            queries.append(Query(ParcelSQL.cut, parameters))
        }
        return hasLimits ? queries : queries + locks
    }

    private var writeMessages: Query {
        let new = drafts.map(\.message)
        var parameters = Parameters()
        parameters.int16("format", new[0].format)
        parameters.instant("now", now)
        parameters.uuidArray("messages", new.map(\.id.value))
        parameters.int64Array("apps", new.map(\.app.value))
        parameters.int16Array("states", drafts.map(\.state.rawValue))
        parameters.int16Array("priorities", new.map(\.urgency.rawValue))
        parameters.int16Array("kinds", new.map(\.kind.rawValue))
        parameters.int16Array("badge_changes", new.map(\.badge.column))
        parameters.int32Array("badge_values", new.map(\.badge.columnValue))
        parameters.int64Array("lifetimes_us", new.map(\.lifetime.wholeMicroseconds))
        parameters.instantArray("due_at", new.map(\.dueAt))
        parameters.boolArray("read_locales", new.map(\.readsLocale))
        parameters.boolArray("have_inline", new.map(\.audience.isInline))
        parameters.boolArray("have_own_values", drafts.map { $0.ownValues != nil })
        parameters.int16Array("push_types", new.map(\.pushType.rawValue))
        parameters.boolArray("are_dry_runs", new.map(\.isDryRun))
        parameters.textBytesArray("summaries", new.map { AudienceText.summary(of: $0.audience) })
        parameters.int16Array("ignored_limits", new.map(\.ignoredLimits.rawValue))
        parameters.int16Array("origins", new.map(\.origin.rawValue))
        parameters.int64Array("member_counts", drafts.map { Int64($0.memberCount) })
        parameters.int64Array("rejected", drafts.map { $0.ended(.rejected) })
        parameters.int64Array("unregistered", drafts.map { $0.ended(.unregistered) })
        parameters.bytesArray("contents", new.map(\.content))
        parameters.bytesArray("audience_texts", new.map { AudienceText.encode($0.audience) })
        parameters.textArray("names", new.map(\.name))
        parameters.textArray("authors", new.map(\.author))
        parameters.array("after", .uuid, count: drafts.count) { place, cell in
            if let after = drafts[place].after { cell.uuid(after.value) } else { cell.null() }
        }
        guard let once else { return Query(MessageWriterSQL.write, parameters) }
        parameters.int64("app", new[0].app.value)
        parameters.text("operation", once.claim.operation)
        parameters.text("key", once.claim.key)
        parameters.bytes("body_sha256", once.claim.bodySHA256)
        parameters.bytes("answer", once.answer)
        return Query(MessageWriterSQL.writeOnce, parameters)
    }

    private func parameters(of parcels: [Parcel]) -> Parameters {
        var parameters = Parameters()
        parameters.instant("now", now)
        parameters.uuidArray("messages", parcels.map { message(of: $0).id.value })
        parameters.int64Array("routes", parcels.map(\.route))
        parameters.int16Array("services", parcels.map { message(of: $0).pushType.service.rawValue })
        parameters.bytesArray("member_lists", parcels.map(\.memberList))
        parameters.int32Array("member_counts", parcels.map(\.memberCount))
        return parameters
    }

    /// The users that messages are for.
    private var users: [MessageID: Set<[UInt8]>] {  // lookup only
        drafts.reduce(into: [:]) { users, draft in
            guard case .users(let names) = draft.message.audience.selection else { return }
            users[draft.message.id] = Set(names.map { Array($0.utf8) })
        }
    }

    /// The queries that lock badges, and then read the users of those members whose messages are for users.
    ///
    /// Locking may wait for a registration that holds a badge's row while it gives the device to another user. So users
    /// are read after the locks, and members who changed user are excluded before badges are raised. A message that
    /// changes no badge is left out: its members' users are compared when their rows are read.
    private var locks: [Query] {
        guard !admitted.isEmpty else { return [] }
        let marked = drafts.indices.filter { drafts[$0].message.badge != .none }
        guard let lock = ClaimedGroup.lockingBadges(of: marked.flatMap(ids)) else { return [] }
        let users = users
        let named = marked.filter { users[drafts[$0].message.id] != nil }.flatMap(ids).rising
        return named.isEmpty ? [lock] : [lock, AudienceCheckSQL.users.query(MemberKeys(named))]
    }

    private func ids(of draft: Int) -> [Int64] { drafts[draft].cut?.found.ids ?? [] }
}

// The answers, and leases.
extension MessageWriter {
    /// Writes everything, and commits. Called once. After `.commitUnknown`, parcels may be leased all the same.
    ///
    /// Leased members are read under `PlannerSQL.inKeyOrder`, which the transaction or the last of the others sets.
    ///
    /// - Parameter others: the caller's own queries, which need no answer.
    package mutating func write(
        beside others: [Query], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> WrittenParcels {
        precondition(once == nil, "nobody would see that the key is taken")
        let writes = writes()
        guard leasesAny else {
            try take(Array(try await transaction.runAndCommit(writes + others).prefix(writes.count)))
            return written
        }
        try take(Array(try await transaction.run(writes + others).prefix(writes.count)))
        let leases = try await leaseQueries(in: transaction)
        try takeLeases(try await transaction.runAndCommit(leases))
        return written
    }

    /// - Parameter answers: the answers to `writes`.
    private mutating func take(_ answers: [ResultSet]) throws(PostgresError) {
        var answers = answers.dropFirst(1 + writeOwnValues.count)
        if parcels.contains(where: { !isLeased($0) }), let ready = answers.popFirst() {
            written.ready = try ready.map(ReadyRoute.init).sorted { $0.serviceRoute < $1.serviceRoute }
        }
        guard leasesAny, let leased = answers.popFirst() else { return }
        try takeLeased(leased)
        try takeLocked(Array(answers))
    }

    private mutating func takeLeased(_ rows: ResultSet) throws(PostgresError) {
        var routes: [ServiceRoute: ReadyRoute] = [:]
        var places: [ServiceRoute: [Int]] = [:]
        for place in 0..<rows.rowCount {
            var row = rows.row(place)
            row.skip(rows.columnCount - ReadyRoute.columnCount)
            let route = try ReadyRoute(&row)
            routes[route.serviceRoute] = route
            places[route.serviceRoute, default: []].append(place)
        }
        let users = users
        for (serviceRoute, route) in routes.sorted(by: { $0.key < $1.key }) {
            precondition(admitted.contains(serviceRoute), "a parcel is leased on a route that was admitted")
            leasedRoutes.append(route)
            claimed.append(try ClaimedGroup(cut: rows, rows: places[serviceRoute] ?? [], on: route.route, users: users))
        }
    }

    /// - Parameter answers: the answers to `locks`.
    private mutating func takeLocked(_ answers: [ResultSet]) throws(PostgresError) {
        guard let locked = answers.first else { return }
        badges = try ClaimedGroup.badges(in: locked)
        guard answers.count > 1 else { return }
        let users = try answers[1].map { row throws(PostgresError) in (try row.int64(), try row.textBytesOrNil()) }
        let known = Dictionary(users) { first, _ in first }
        for place in claimed.indices { claimed[place].exclude(known) }
    }

    /// Applies the app's limits and decides on badges. Returns the queries that write the leases' decisions and read
    /// their members.
    private mutating func leaseQueries(in transaction: PostgresTransaction) async throws(PostgresError) -> [Query] {
        try await ClaimedGroup.judge(&claimed, in: transaction)
        if hasLimits, !locks.isEmpty { try takeLocked(try await transaction.run(locks)) }
        var queries: [Query] = []
        for place in claimed.indices {
            claimed[place].decide()
            claimed[place].planBadges(&badges)
            queries += claimed[place].writes
            let own = claimed[place].readings
            readings.append(queries.count..<queries.count + own.count)
            queries += own
        }
        return queries
    }

    /// - Parameter answers: the answers to `leaseQueries`.
    private mutating func takeLeases(_ answers: [ResultSet]) throws(PostgresError) {
        for (place, span) in readings.enumerated() {
            let leased = try claimed[place].leased(with: Array(answers[span]))
            written.unreadable += leased.unreadable
            written.leases.append(CutLease(route: leasedRoutes[place], parcels: leased.parcels))
        }
    }
}

extension ReadyRoute {
    fileprivate static let columnCount = 7

    /// Reads a row of `MessageWriterSQL.parcels`, or the last columns of a parcel that `ParcelSQL.cut` wrote.
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        let (route, service) = (RouteID(try row.int64()), try row.stored() as TopicService)
        self.init(
            route: route, service: service, app: AppID(try row.int64()), provider: try row.stored(),
            environment: try row.stored(), topic: try row.text(), hasUrgent: try row.bool())
    }
}
