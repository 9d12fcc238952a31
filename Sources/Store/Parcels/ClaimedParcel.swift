import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// A claimed parcel, and the members that are still owed something.
struct ClaimedParcel: Sendable {
    /// The row of the claim. A quantum differs from it in the values below.
    let row: ParcelRow
    let route: RouteID
    var id: ParcelID
    private var epoch: Int32
    private var settles: Int32
    var memberCount: Int
    private var settledBits: [UInt8]
    var indices: [Int32] = []
    /// Rising.
    var ids: [Int64] = []
    /// The members that the badge mark leaves out; nil: it covers all.
    private(set) var uncounted: MemberBitmap?
    /// The registrations that its message's audience no longer includes.
    var excluded: [Int64: AudienceChange] = [:]  // lookup only
    /// The users that the message is for; nil: it names none. The members' rows are compared with them once more,
    /// because a cut without badges does not check its members otherwise.
    var users: Set<[UInt8]>?  // lookup only
    /// The members after the app's limits were applied; nil: no limits apply.
    var judged: LimitedMembers?

    init(_ row: ParcelRow, on route: RouteID) throws(PostgresError) {
        (self.row, self.route, id) = (row, route, row.id)
        (epoch, settles, memberCount, settledBits) = (row.epoch, row.settles, row.memberCount, row.settledBits)
        if let stored = row.uncountedBits {
            uncounted = MemberBitmap(bytes: stored, count: memberCount)
            guard uncounted != nil else { throw Self.damaged }
        }
        guard let members = try? MemberList.decode(row.members), members.count == memberCount else {
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
        uncounted = uncounted.flatMap { whole in
            var own = MemberBitmap(count: count)
            for (place, index) in indices[..<count].enumerated() { own[place] = whole[Int(index)] }
            return own.setCount > 0 ? own : nil
        }
        ids.removeSubrange(count...)
        indices = (0..<Int32(count)).map { $0 }
        (epoch, settles, memberCount, settledBits) = (1, 0, count, [])
        return Query(RateSQL.split) {
            $0.int64("parcel", row.id.value)
            $0.bytes("settled", remaining.bytes)
            $0.bytes("members", MemberList.encode(ids))
            $0.int32("member_count", Int32(count))
            $0.bytes("uncounted", uncounted?.bytes)
            $0.uuid("owner", order.owner.value)
            $0.int64("lease_us", order.leaseFor.wholeMicroseconds)
            $0.instant("now", now)
        }
    }

    /// Returns the queries that charge the message's rate with pushes that did not wait for it. Deferred members are
    /// not charged, nor is a parcel of which nothing is sent after too many expired leases.
    func charges(_ scope: LeaseScope, now: WallInstant?) -> [Query] {
        guard scope != .expired, row.ratePerSecond != nil, !row.isExpired,
            PoisonRule.maySend(ids.count, afterLapses: row.lapses)
        else { return [] }
        let deferred = judged?.deferredCount ?? 0
        let pushes = scope == .rateLimited ? -deferred : ids.count - deferred
        return pushes == 0 ? [] : [.charging(row.message, for: pushes, now: now)]
    }

    static let damaged = PostgresError.unexpectedShape(statement: "parcel_claim", column: 12)

    /// The route of the members' registrations when the parcel was made.
    var expectedRoute: RouteID { row.origin?.route ?? route }
    /// The parcel was leased whole, and nothing of it has been settled so far.
    var isUntouched: Bool { epoch == 1 && settles == 0 && settledBits.isEmpty && uncounted == nil }

    /// This lease is the first that may send, and the limits did not increment the badges one by one.
    var raisesBadges: Bool { row.isUnmarked && !row.isExpired && judged == nil }

    /// This lease may increment badges, unless the audience or the limits forbid it.
    var mayRaiseBadges: Bool { row.hasBadges && !row.isExpired && (row.isUnmarked || uncounted != nil) }

    /// Excludes the members whose users the message is not for.
    ///
    /// - Parameter found: the users of live members; nil: the member has none.
    mutating func exclude(_ found: [Int64: [UInt8]?]) {  // lookup only
        for id in ids {
            guard let user = found[id], isOther(user) else { continue }
            excluded[id] = .user
        }
    }

    /// Whether the message is for users, and this one is not among them. Names are compared by bytes, as the database
    /// does.
    private func isOther(_ user: [UInt8]?) -> Bool {
        guard let users else { return false }
        return user.map { !users.contains($0) } ?? true
    }

    /// The query for the members' badges; nil: the message has none.
    var readBadges: Query? {
        guard row.hasBadges else { return nil }
        return raisesBadges ? MemberSQL.raiseBadges(of: ids, row) : MemberSQL.badges.query(MemberKeys(ids))
    }

    /// - Parameter readings: the members' rows, maybe with those of other parcels. Rows of deleted devices are missing.
    func leased(_ readings: MemberReadings, _ badges: MemberBadges) throws(PostgresError) -> LeasedParcel {
        let compared = readings.compared
        var badges = badges
        var members: [LeasedMember] = []
        members.reserveCapacity(ids.count)
        var tokens: [UInt8] = []
        tokens.reserveCapacity(ids.count * 32)
        var locales: [UInt8] = []
        var rows = try MemberWalk(readings.rows, from: ids.first)
        var inline: MemberWalk?
        if let targets = readings.inline { inline = try MemberWalk(targets, from: ids.first) }
        for (place, id) in ids.enumerated() {
            if let target = try target(index: indices[place], id: id, in: &inline, tokens: &tokens) {
                members.append(target)
            } else if try rows.find(id) {
                members.append(
                    try member(
                        index: indices[place], id: id, badge: badges.badge(of: id), in: &rows.row,
                        hasUser: readings.haveUsers, comparedIn: compared[id], tokens: &tokens, locales: &locales))
            } else {
                members.append(.deleted(index: indices[place], id: id))
            }
        }
        var parcel = LeasedParcel(
            id: id, message: row.message, app: row.app, route: route, epoch: epoch, settles: settles,
            attempt: row.attempt, lapses: row.lapses, retrySpent: row.retrySpent, answerLost: row.answerLost,
            origin: row.origin, otherEnvironment: row.otherEnvironment, ratePerSecond: row.ratePerSecond,
            urgency: row.urgency, expiresAt: row.expiresAt, leasedAt: row.leasedAt, memberCount: memberCount,
            members: members, tokens: tokens, locales: locales, settledBits: settledBits)
        if let judged, judged.deferredCount > 0 { parcel.deferrals = judged.deferrals }
        parcel.neverSent = neverSent
        if countsBadges {
            parcel.countsBadges = true
            parcel.badgeSet = row.badgeSet ?? (incrementsBadges ? badges.lastSet : nil)
            if let left = judged == nil ? uncounted : judged?.uncounted {
                parcel.uncounted = indices.map { left[Int($0)] }
            }
        }
        return parcel
    }

    /// The message increments badges, and the badge mark covers the parcel from this lease on.
    private var countsBadges: Bool {
        row.badgeChange == BadgeChange.increment.column && (!row.isUnmarked || raisesBadges || judged != nil)
    }

    /// This lease increments some badges.
    private var incrementsBadges: Bool { raisesBadges || judged?.raised.isEmpty == false }

    private var neverSent: [Bool] {
        let all = row.isUnmarked
        guard row.answerLost || row.lapses > 0, all || uncounted != nil else { return [] }
        let never = indices.map { all || uncounted?[Int($0)] ?? false }
        return never.contains(true) ? never : []
    }

    /// Returns nil if the id is not an inline target's. An inline target has no route that it could have moved to, and
    /// no stored badge. It gets the value that follows a badge of 0.
    private func target(
        index: Int32, id: Int64, in targets: inout MemberWalk?, tokens: inout [UInt8]
    ) throws(PostgresError) -> LeasedMember? {
        let start = tokens.count
        guard try targets?.find(id) == true, let count = try targets?.row.append(to: &tokens) else { return nil }
        let badge: Int32 =
            switch row.badgeChange {
            case BadgeChange.none.column: 0
            case BadgeChange.increment.column: 1
            default: row.badgeValue
            }
        return LeasedMember(
            index: index, registration: RegistrationID(id), status: .present, generation: TokenGeneration(1),
            badge: badge, tokenStart: Int32(start), tokenCount: Int32(count), isSuspected: false)
    }

    /// - Parameter member: a row of `MemberSQL.rows` behind its id.
    private func member(
        index: Int32, id: Int64, badge: Int32, in member: inout Row, hasUser: Bool, comparedIn: Int32?,
        tokens: inout [UInt8], locales: inout [UInt8]
    ) throws(PostgresError) -> LeasedMember {
        let lives = try member.int64OrNil().map(RouteID.init)
        let state = try member.int16OrNil()
        let generation = TokenGeneration(try member.int32())
        let isUnproven = try member.boolOrNil()
        let user = hasUser ? try member.textBytesOrNil() : nil
        let status: MemberStatus
        // A member that was retired when the limits were checked was not counted. It may have been registered again
        // since.
        if state == RegistrationState.retired.rawValue || judged?.gone.contains(id) == true {
            status = .retired
        } else if let change = excluded[id] {
            status = .excluded(change)
        } else if isOther(user) {
            status = .excluded(.user)
        } else {
            status = isPresent(on: lives, generation) ? .present : .moved(to: lives ?? expectedRoute)
        }
        let start = tokens.count
        let count = try member.append(to: &tokens)
        let localeStart = locales.count
        // Rows that were read for several parcels may have a locale although this message needs none.
        let localeCount = try row.asksLocale && !member.isNull ? member.append(to: &locales) : 0
        return LeasedMember(
            index: index, registration: RegistrationID(id), status: status, generation: generation, badge: badge,
            tokenStart: Int32(start), tokenCount: Int32(count),
            isSuspected: state == RegistrationState.suspected.rawValue, mayBeInSibling: comparedIn != generation.value,
            isSampled: isUnproven == nil, isUnproven: isUnproven == true,
            localeStart: Int32(localeStart), localeCount: Int32(localeCount))
    }

    /// In a cross-environment parcel, only a registration with the token generation that the origin route rejected is
    /// present. A token that was found or replaced meanwhile has another generation and goes to its own route.
    ///
    /// - Parameter lives: the registration's route; nil: the expected one.
    private func isPresent(on lives: RouteID?, _ generation: TokenGeneration) -> Bool {
        lives == nil && (row.origin == nil || generation == row.origin?.generation)
    }
}

extension LeasedMember {
    fileprivate static func deleted(index: Int32, id: Int64) -> LeasedMember {
        LeasedMember(
            index: index, registration: RegistrationID(id), status: .deleted, generation: TokenGeneration(0),
            badge: 0, tokenStart: 0, tokenCount: 0, isSuspected: false)
    }
}
