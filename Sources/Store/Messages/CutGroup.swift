import Basis
import Model
import Postgres
import QueueRules

/// Messages that one transaction cuts, step by step: it finds their members, writes them, and leases their parcels.
struct CutGroup: Sendable {
    private let messages: [CutMessage]
    private let order: CutOrder
    private let now: WallInstant?
    private var replies: [CutReply?]
    /// The parcels of each message that is written. A message that needs a planner has none.
    private var cuts: [SliceCut?]
    private var inline: [(message: Int, target: InlineMember)] = []
    /// The lanes on which new parcels are leased, by service route.
    var lanes: [ServiceRoute: LaneKey] = [:]  // lookup only
    private var parcels: [Parcel] = []
    private typealias Parcel = (message: Int, route: Int64, members: [UInt8], count: Int32)
    /// The app sets limits. Leases count the users of limited members before they lock badges, and so do cuts.
    private var hasLimits = false
    /// The routes of leased parcels with their lanes, and the parcels of each.
    private var leasedRoutes: [(route: ReadyRoute, lane: LaneKey)] = []
    private var claimed: [ClaimedGroup] = []
    /// The badges of leased members, locked.
    private var badges: [Int64: Int32] = [:]  // lookup only
    private(set) var result = CutResult()

    init(_ messages: [CutMessage], _ order: CutOrder, now: WallInstant?) {
        (self.messages, self.order, self.now) = (messages, order, now)
        replies = Array(repeating: nil, count: messages.count)
        cuts = Array(repeating: nil, count: messages.count)
    }

    /// Places of the messages that this transaction writes.
    private var written: [Int] { messages.indices.filter { replies[$0] == .cut || replies[$0] == .planned } }

    var writesAny: Bool { !written.isEmpty }

    private func serviceRoute(of parcel: Parcel) -> ServiceRoute {
        ServiceRoute(RouteID(parcel.route), messages[parcel.message].message.pushType.service)
    }

    /// The new members of each service route.
    var demand: [ServiceRoute: Int] {
        parcels.reduce(into: [:]) { $0[serviceRoute(of: $1), default: 0] += Int($1.count) }
    }

    var leasesAny: Bool { parcels.contains { lanes[serviceRoute(of: $0)] != nil } }

    /// Claims the idempotency keys, and finds the members of the messages.
    mutating func find(in transaction: PostgresTransaction) async throws(PostgresError) {
        let keys = CutKeys(messages)
        let reached = Query(MessageSQL.reached) {
            $0.int64("app", messages[0].message.app.value)
            $0.int16Array("providers", Provider.allCases.map(\.rawValue))
        }
        var queries = [Query(PlannerSQL.inKeyOrder), reached] + keys.queries
        let readings = CutReadings(messages.map(\.message), idsMax: CutMessage.membersMax)
        let start = queries.count
        queries += readings.queries(messages[0].message.app)
        let answers = try await transaction.run(queries)
        let providers: [Provider]
        (providers, hasLimits) = try answers[1].one { row throws(PostgresError) in
            (try row.int16Array().compactMap(Provider.init), try row.bool())
        }
        let earlier = try keys.replies(Array(answers[2..<start]))
        let found = try readings.found(Array(answers[start...]))
        var membersLeft = CutMessage.groupMembersMax
        for place in messages.indices {
            if let reply = earlier[place] {
                replies[place] = reply
            } else if let checkedFor = messages[place].checkedFor, checkedFor != providers {
                replies[place] = .reaches(providers)
            } else if let members = found[place].members, members.ids.count <= min(CutMessage.membersMax, membersLeft) {
                membersLeft -= members.ids.count
                replies[place] = .cut
                let cut = SliceCut(members, parcelMembersMax: order.parcelMembersMax)
                cuts[place] = cut
                parcels += cut.routes.indices.map { (place, cut.routes[$0], cut.memberLists[$0], cut.counts[$0]) }
                inline += found[place].inline.map { (place, $0) }
            } else {
                replies[place] = .planned
            }
        }
        result.replies = replies.map { .success($0 ?? .mismatch) }
    }

    /// The queries that write everything. The parcels' answer is the one before those of `locks`.
    func writes() -> [Query] {
        var queries = [writeMessages]
        if !inline.isEmpty { queries.append(writeInline) }
        for place in written {
            guard let found = cuts[place]?.found, !found.early.isEmpty else { continue }
            queries += ClaimedPlan(cutting: messages[place].message).early(found, now: now)
        }
        if !parcels.isEmpty { queries.append(writeParcels) }
        return hasLimits ? queries : queries + locks
    }

    private var writeMessages: Query {
        let written = written
        let new = written.map { messages[$0].message }
        func ended(_ state: TerminalState) -> [Int64] { written.map { cuts[$0]?.found.ended(state) ?? 0 } }
        return Query(CutSQL.write) {
            $0.int64("app", new[0].app.value)
            $0.int16("format", new[0].format)
            $0.instant("now", now)
            $0.uuidArray("messages", new.map(\.id.value))
            $0.int16Array("kinds", new.map(\.kind.rawValue))
            $0.int16Array("badge_changes", new.map(\.badge.column))
            $0.int32Array("badge_values", new.map(\.badge.columnValue))
            $0.int64Array("lifetimes_us", new.map(\.lifetime.wholeMicroseconds))
            $0.boolArray("read_locales", new.map(\.readsLocale))
            $0.boolArray("have_inline", new.map(\.audience.isInline))
            $0.int16Array("push_types", new.map(\.pushType.rawValue))
            $0.boolArray("are_dry_runs", new.map(\.isDryRun))
            $0.textBytesArray("summaries", new.map { AudienceText.summary(of: $0.audience) })
            $0.int16Array("ignored_limits", new.map(\.ignoredLimits.rawValue))
            $0.int64Array("members", written.map { Int64(cuts[$0]?.members ?? 0) })
            $0.int64Array("rejected", ended(.rejected))
            $0.int64Array("unregistered", ended(.unregistered))
            $0.boolArray("are_planned", written.map { replies[$0] == .planned })
            $0.bytesArray("contents", new.map(\.content))
            $0.bytesArray("audiences", new.map { AudienceText.encode($0.audience) })
            $0.textArray("names", new.map(\.name))
            $0.textArray("authors", new.map(\.author))
        }
    }

    /// The users that messages are for.
    private var users: [MessageID: Set<[UInt8]>] {  // lookup only
        messages.reduce(into: [:]) { users, each in
            guard case .users(let names) = each.message.audience.selection else { return }
            users[each.message.id] = Set(names.map { Array($0.utf8) })
        }
    }

    private var writeInline: Query {
        Query(CutSQL.inlineTargets) {
            $0.int64Array("ids", inline.map(\.target.id))
            $0.uuidArray("messages", inline.map { messages[$0.message].message.id.value })
            $0.int64Array("routes", inline.map(\.target.route))
            $0.bytesArray("tokens", inline.map(\.target.token))
        }
    }

    private var writeParcels: Query {
        Query(ParcelSQL.cut) {
            $0.int64("app", messages[0].message.app.value)
            $0.uuid("owner", order.owner.value)
            $0.int64("lease_us", order.leaseFor.wholeMicroseconds)
            $0.int16("format", messages[0].message.format)
            $0.instant("now", now)
            $0.uuidArray("messages", parcels.map { messages[$0.message].message.id.value })
            $0.int64Array("routes", parcels.map(\.route))
            $0.int16Array("services", parcels.map { messages[$0.message].message.pushType.service.rawValue })
            $0.bytesArray("members", parcels.map(\.members))
            $0.int32Array("member_counts", parcels.map(\.count))
            $0.boolArray("are_leased", parcels.map { lanes[serviceRoute(of: $0)] != nil })
        }
    }

    /// The queries that lock badges, and then read the users of those members whose messages are for users. A
    /// registration may have held a badge's row and made its device another user's meanwhile.
    private var locks: [Query] {
        guard !lanes.isEmpty else { return [] }
        let marked = messages.indices.filter { messages[$0].message.badge != .none }
        guard let lock = ClaimedGroup.lockingBadges(of: marked.flatMap(ids)) else { return [] }
        let users = users
        let named = marked.filter { users[messages[$0].message.id] != nil }.flatMap(ids).rising
        return named.isEmpty ? [lock] : [lock, AudienceCheckSQL.users.query(MemberKeys(named))]
    }

    private func ids(of message: Int) -> [Int64] { cuts[message]?.found.ids ?? [] }

    /// Reads the new parcels, leased and ready ones.
    ///
    /// - Parameter answers: the answers to `writes`.
    mutating func takeParcels(_ answers: [ResultSet]) throws(PostgresError) {
        guard !parcels.isEmpty else { return }
        let locked = hasLimits ? [] : answers.suffix(locks.count)
        let rows = answers[answers.count - locked.count - 1]
        var routes: [ServiceRoute: ReadyRoute] = [:]
        var places: [ServiceRoute: [Int]] = [:]
        for place in 0..<rows.rowCount {
            var row = rows.row(place)
            row.skip(rows.columnCount - ReadyRoute.columnCount)
            let route = try ReadyRoute(&row, app: messages[0].message.app)
            routes[route.serviceRoute] = route
            places[route.serviceRoute, default: []].append(place)
        }
        for serviceRoute in routes.keys.sorted() {
            guard let route = routes[serviceRoute] else { continue }
            guard let lane = lanes[serviceRoute] else {
                result.ready.append(route)
                continue
            }
            leasedRoutes.append((route, lane))
            claimed.append(
                try ClaimedGroup(cut: rows, rows: places[serviceRoute] ?? [], on: route.route, users: users))
        }
        try takeLocked(Array(locked))
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

    /// Applies the app's limits, raises the badges, reads the members and commits.
    mutating func lease(in transaction: PostgresTransaction) async throws(PostgresError) {
        try await ClaimedGroup.judge(&claimed, in: transaction)
        if hasLimits, !locks.isEmpty { try takeLocked(try await transaction.run(locks)) }
        var queries: [Query] = []
        var readings: [Range<Int>] = []
        for place in claimed.indices {
            claimed[place].decide()
            claimed[place].planBadges(&badges)
            queries += claimed[place].writes
            let own = claimed[place].readings
            readings.append(queries.count..<queries.count + own.count)
            queries += own
        }
        let answers = try await transaction.runAndCommit(queries)
        for (place, span) in readings.enumerated() {
            let leased = try claimed[place].leased(with: Array(answers[span]))
            result.unreadable += leased.unreadable
            result.leases.append(
                CutLease(route: leasedRoutes[place].route, lane: leasedRoutes[place].lane, parcels: leased.parcels))
        }
    }
}

extension ReadyRoute {
    fileprivate static let columnCount = 5

    /// Reads the last columns of a parcel that `ParcelSQL.cut` wrote.
    fileprivate init(_ row: inout Row, app: AppID) throws(PostgresError) {
        self.init(
            route: RouteID(try row.int64()), service: try row.stored(), app: app, provider: try row.stored(),
            environment: try row.stored(), topic: try row.text(), hasUrgent: true)
    }
}

extension ClaimedPlan {
    /// The whole audience of a message that is cut at once.
    init(cutting message: NewMessage) {
        (self.message, app, format) = (message.id.value, message.app.value, message.format)
        (service, priority, kind) = (message.pushType.service, message.urgency.rawValue, message.kind.rawValue)
        (plannedThrough, horizon, slices, local) = (0, .max, 0, nil)
        (expiresAt, sentFrom) = (WallInstant(microseconds: 0), WallInstant(microseconds: 0))
        audience = Audience(
            AudienceText.normalized(message.audience.selection), providers: message.audience.providers,
            kind: message.audience.kind)
    }
}
