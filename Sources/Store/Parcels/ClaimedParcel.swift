import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// A parcel's row as its claim left it, and the members that are still owed something.
struct ClaimedParcel: Sendable {
    private let row: ResultSet
    private let rowPlace: Int
    let route: RouteID
    var id: ParcelID
    private var epoch: Int32
    private var settles: Int32
    var memberCount: Int
    private var settledBits: [UInt8]
    private let origin: OriginRejection?
    var indices: [Int32] = []
    var ids: [Int64] = []
    /// The members that the badge mark leaves out; nil: it covers all.
    private var uncounted: MemberBitmap?
    /// The registrations that its message's audience no longer includes.
    var excluded: [Int64: AudienceChange] = [:]  // lookup only
    /// The members after the app's limits were applied; nil: no limits apply.
    var judged: LimitedMembers?

    /// - Parameter place: the number of its row, if several were claimed.
    init(reading row: ResultSet, at place: Int = 0, on route: RouteID) throws(PostgresError) {
        self.row = row
        rowPlace = place
        self.route = route
        id = ParcelID(try row.int64(rowPlace, 0))
        epoch = try row.int32(rowPlace, 3)
        settles = try row.int32(rowPlace, 4)
        memberCount = Int(try row.int32(rowPlace, 11))
        settledBits = try row.bytesOrNil(rowPlace, 13) ?? []
        origin = try OriginRejection(reading: row, at: place)
        if let stored = try row.bytesOrNil(rowPlace, 27) {
            uncounted = MemberBitmap(bytes: stored, count: memberCount)
            guard uncounted != nil else { throw Self.damaged }
        }
        guard let members = try? MemberList.decode(row.bytes(rowPlace, 12)), members.count == memberCount else {
            throw Self.damaged
        }
        var settled = MemberBitmap(count: memberCount)
        if !settledBits.isEmpty {
            guard let stored = MemberBitmap(bytes: settledBits, count: memberCount) else { throw Self.damaged }
            settled = stored
        }
        indices.reserveCapacity(memberCount)
        ids.reserveCapacity(memberCount)
        for index in 0..<memberCount where !settled[index] {
            indices.append(Int32(index))
            ids.append(members[index])
        }
    }

    /// Splits off the first `count` members that are left, as a parcel of their own. Its id is the query's answer.
    mutating func split(_ count: Int, for order: LeaseOrder, now: WallInstant?) throws(PostgresError) -> Query {
        guard count > 0, count < ids.count else { throw Self.damaged }
        var remaining = MemberBitmap(bytes: settledBits, count: memberCount) ?? MemberBitmap(count: memberCount)
        for index in indices[..<count] { remaining[Int(index)] = true }
        let whole = id
        uncounted = uncounted.flatMap { whole in
            var own = MemberBitmap(count: count)
            for (place, index) in indices[..<count].enumerated() { own[place] = whole[Int(index)] }
            return own.setCount > 0 ? own : nil
        }
        let own = uncounted?.bytes
        ids.removeSubrange(count...)
        indices = (0..<Int32(count)).map { $0 }
        (epoch, settles, memberCount, settledBits) = (1, 0, count, [])
        let members = MemberList.encode(ids)
        return Query(RateSQL.split) {
            $0.int64(whole.value)
            $0.bytes(remaining.bytes)
            $0.int32(Int32(count))
            $0.bytes(members)
            $0.uuid(order.owner.value)
            $0.int64(order.leaseFor.wholeMicroseconds)
            $0.instant(now)
            $0.bytes(own)
        }
    }

    /// Returns the queries that charge the message's rate with pushes that did not wait for it. Deferred members are
    /// not charged, nor is a parcel that is only bisected after too many expired leases.
    func charges(_ scope: LeaseScope, now: WallInstant?) throws(PostgresError) -> [Query] {
        guard scope != .expired, try ratePerSecond != nil, try !isExpired, try lapses < PoisonRule.lapsesMax
        else { return [] }
        let deferred = judged?.deferredCount ?? 0
        let pushes = scope == .rateLimited ? -deferred : ids.count - deferred
        guard pushes != 0 else { return [] }
        let message = try message
        return [
            Query(RateSQL.charge) {
                $0.uuid(message)
                $0.int64(Int64(pushes))
                $0.instant(now)
            }
        ]
    }

    static let damaged = PostgresError.unexpectedShape(statement: "parcel_claim", column: 12)

    var message: UniversalID { get throws(PostgresError) { try row.uuid(rowPlace, 1) } }
    private var lapses: Int16 { get throws(PostgresError) { try row.int16(rowPlace, 6) } }
    /// The rate of its message; nil: it has none.
    var ratePerSecond: Int32? {
        get throws(PostgresError) { row.isNull(rowPlace, 28) ? nil : try row.int32(rowPlace, 28) }
    }
    /// The route of the members' registrations when the parcel was made.
    private var expectedRoute: RouteID { origin?.route ?? route }
    var badge: (change: Int16, value: Int32) {
        get throws(PostgresError) { (try badgeChange, try row.int32(rowPlace, 15)) }
    }
    var badgeChange: Int16 { get throws(PostgresError) { try row.int16(rowPlace, 14) } }
    /// The parcel was leased whole, and nothing of it has been settled so far.
    var isUntouched: Bool { epoch == 1 && settles == 0 && settledBits.isEmpty && uncounted == nil }
    var isExpired: Bool { get throws(PostgresError) { try row.instant(rowPlace, 9) <= row.instant(rowPlace, 10) } }
    /// No earlier lease was free to send any of it.
    var isUnmarked: Bool { get throws(PostgresError) { try row.bool(rowPlace, 16) } }
    private var urgency: MessageUrgency {
        get throws(PostgresError) { MessageUrgency(rawValue: try row.int16(rowPlace, 29)) ?? .bulk }
    }
    var asksLocale: Bool { get throws(PostgresError) { try row.bool(rowPlace, 17) } }
    /// A token that is unknown on its origin route could be tried on the sibling route.
    var asksCompared: Bool { get throws(PostgresError) { !row.isNull(rowPlace, 19) } }
    /// Its members must meet conditions of their message's audience at every lease.
    var hasConditions: Bool { get throws(PostgresError) { try row.bool(rowPlace, 30) } }
    /// Some of its members are inline targets.
    var hasInline: Bool { get throws(PostgresError) { try row.bool(rowPlace, 18) } }

    /// nil: it has expired, or no limit applies, none deferred a member before, and its audience excludes no member.
    var limited: LimitedParcel? {
        get throws(PostgresError) {
            let limits = try row.int16OrNil(rowPlace, 26)
            guard limits != nil || uncounted != nil || !excluded.isEmpty, try !isExpired else { return nil }
            return LimitedParcel(
                parcel: id, message: MessageID(try message),
                app: AppID(try row.int64(rowPlace, 2)), leasedAt: try row.instant(rowPlace, 10),
                limits: AppLimits(rawValue: limits ?? 0), isFirst: try isUnmarked, uncounted: uncounted,
                memberCount: memberCount, indices: indices, ids: ids, excluded: Set(excluded.keys))
        }
    }

    /// The queries that read the members: their badges if the message has any, and their rows.
    var readings: [Query] {
        get throws(PostgresError) {
            var queries: [Query] = []
            if try badgeChange != BadgeChange.none.column { queries.append(try badges(MemberKeys(ids))) }
            let asked = MemberReadings.Asked(
                locales: try asksLocale, compared: try asksCompared, inline: try hasInline ? ids : [])
            return queries + MemberReadings.queries(of: ids, on: expectedRoute, asked)
        }
    }

    /// This lease is the first that may send, and the limits did not increment the badges one by one.
    var raisesBadges: Bool {
        get throws(PostgresError) {
            let (isFirst, isOver) = (try isUnmarked, try isExpired)
            return isFirst && !isOver && judged == nil
        }
    }

    private func badges(_ keys: MemberKeys) throws(PostgresError) -> Query {
        guard try raisesBadges else { return MemberSQL.badges.query(keys) }
        var parameters = Parameters()
        parameters.int16(try badgeChange)
        parameters.int32(try row.int32(rowPlace, 15))
        return MemberSQL.raiseBadges.query(keys, parameters)
    }

    /// - Parameter answers: the answers to `readings`, by rising id. Rows of deleted devices are missing.
    func leased(with answers: [ResultSet]) throws(PostgresError) -> LeasedParcel {
        let hasBadges = try badgeChange != BadgeChange.none.column
        let asked = MemberReadings.Asked(
            locales: try asksLocale, compared: try asksCompared, inline: try hasInline ? ids : [])
        let readings = try MemberReadings(answers: answers[(hasBadges ? 1 : 0)...], to: asked)
        return try leased(readings, MemberBadges(hasBadges ? answers[0] : nil))
    }

    /// - Parameter readings: the members' rows, maybe with those of other parcels. Rows of deleted devices are missing.
    func leased(_ readings: MemberReadings, _ badges: MemberBadges) throws(PostgresError) -> LeasedParcel {
        let (rows, inline, compared) = (readings.rows, readings.inline, readings.compared)
        var badges = badges
        var members: [LeasedMember] = []
        members.reserveCapacity(ids.count)
        var tokens: [UInt8] = []
        tokens.reserveCapacity(ids.count * 32)
        var locales: [UInt8] = []
        var next = try rows.firstRow(of: ids.first)
        var nextInline = try inline?.firstRow(of: ids.first) ?? 0
        for (place, id) in ids.enumerated() {
            if let inline, try inline.walk(&nextInline, to: id) {
                members.append(try target(index: indices[place], id: id, in: inline, at: nextInline, tokens: &tokens))
                nextInline += 1
                continue
            }
            guard try rows.walk(&next, to: id) else {
                members.append(.deleted(index: indices[place], id: id))
                continue
            }
            members.append(
                try member(
                    index: indices[place], id: id, badge: badges.badge(of: id), in: rows, at: next,
                    comparedIn: compared[id], tokens: &tokens, locales: &locales))
            next += 1
        }
        var parcel = LeasedParcel(
            id: id, message: MessageID(try message), app: AppID(try row.int64(rowPlace, 2)),
            route: route, epoch: epoch, settles: settles, attempt: try row.int16(rowPlace, 5),
            lapses: try lapses, retrySpent: .microseconds(try row.int64(rowPlace, 7)),
            answerLost: try row.bool(rowPlace, 8), origin: origin,
            otherEnvironment: try row.int64OrNil(rowPlace, 19).map(RouteID.init),
            ratePerSecond: try ratePerSecond, urgency: try urgency, expiresAt: try row.instant(rowPlace, 9),
            leasedAt: try row.instant(rowPlace, 10), memberCount: memberCount,
            members: members, tokens: tokens, locales: locales, settledBits: settledBits)
        parcel.deferrals = judged?.deferrals.contains { $0 != .none } == true ? judged?.deferrals ?? [] : []
        parcel.neverSent = try neverSent
        return parcel
    }

    private var neverSent: [Bool] {
        get throws(PostgresError) {
            let (all, lapses) = (try isUnmarked, try lapses)
            guard try row.bool(rowPlace, 8) || lapses > 0, all || uncounted != nil else { return [] }
            let never = indices.map { all || uncounted?[Int($0)] ?? false }
            return never.contains(true) ? never : []
        }
    }

    /// An inline target has no route that it could have moved to, and no stored badge. It gets the value that follows a
    /// badge of 0.
    private func target(
        index: Int32, id: Int64, in rows: ResultSet, at place: Int, tokens: inout [UInt8]
    ) throws(PostgresError) -> LeasedMember {
        let badge: Int32 =
            switch try row.int16(rowPlace, 14) {
            case BadgeChange.none.column: 0
            case BadgeChange.increment.column: 1
            default: try row.int32(rowPlace, 15)
            }
        let start = tokens.count
        let count = try rows.append(place, 1, to: &tokens)
        return LeasedMember(
            index: index, registration: RegistrationID(id), status: .present, generation: TokenGeneration(1),
            badge: badge, tokenStart: Int32(start), tokenCount: Int32(count), isSuspected: false)
    }

    private func member(
        index: Int32, id: Int64, badge: Int32, in rows: ResultSet, at place: Int, comparedIn: Int32?,
        tokens: inout [UInt8], locales: inout [UInt8]
    ) throws(PostgresError) -> LeasedMember {
        let state = try rows.int16OrNil(place, 2)
        let lives = try rows.int64OrNil(place, 1).map(RouteID.init)
        let generation = TokenGeneration(try rows.int32(place, 3))
        let status: MemberStatus
        // A member that was retired when the limits were checked was not counted. It may have been registered again
        // since.
        if state == RegistrationState.retired.rawValue || judged?.gone.contains(id) == true {
            status = .retired
        } else if let change = excluded[id] {
            status = .excluded(change)
        } else {
            status = isPresent(on: lives, generation) ? .present : .moved(to: lives ?? expectedRoute)
        }
        let start = tokens.count
        let count = try rows.append(place, 4, to: &tokens)
        let localeStart = locales.count
        // Rows that were read for several parcels may have a locale although this message needs none.
        let localeCount = try asksLocale && !rows.isNull(place, 5) ? rows.append(place, 5, to: &locales) : 0
        return LeasedMember(
            index: index, registration: RegistrationID(id), status: status, generation: generation, badge: badge,
            tokenStart: Int32(start), tokenCount: Int32(count),
            isSuspected: state == RegistrationState.suspected.rawValue, mayBeInSibling: comparedIn != generation.value,
            localeStart: Int32(localeStart), localeCount: Int32(localeCount))
    }

    /// In a cross-environment parcel, only a registration with the token generation that the origin route rejected is
    /// present. A token that was found or replaced meanwhile has another generation and goes to its own route.
    ///
    /// - Parameter lives: the registration's route; nil: the expected one.
    private func isPresent(on lives: RouteID?, _ generation: TokenGeneration) -> Bool {
        lives == nil && (origin == nil || generation == origin?.generation)
    }
}

extension OriginRejection {
    /// Returns nil if the claimed parcel is not a cross-environment parcel.
    fileprivate init?(reading row: ResultSet, at place: Int) throws(PostgresError) {
        guard let route = try row.int64OrNil(place, 20) else { return nil }
        self.init(
            route: RouteID(route), generation: TokenGeneration(try row.int32(place, 21)),
            reason: try row.text(place, 22),
            asOf: try row.instant(place, 24), until: try row.instant(place, 23))
    }
}

extension LeasedMember {
    fileprivate static func deleted(index: Int32, id: Int64) -> LeasedMember {
        LeasedMember(
            index: index, registration: RegistrationID(id), status: .deleted, generation: TokenGeneration(0),
            badge: 0, tokenStart: 0, tokenCount: 0, isSuspected: false)
    }
}
