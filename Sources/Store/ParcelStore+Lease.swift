import DeliveryRules
import Encodings
import Postgres
import PushModel

extension ParcelStore {
    /// Leases the route's next parcel; nil where none is due, or others are leasing each at this moment.
    ///
    /// One transaction: the claim, the badges of its first lease under the mark (P3), and the members' rows as they
    /// stand. A parcel that can't be leased as it is stored is put aside, and the fault names it: the others go on.
    package func lease(_ order: LeaseOrder, now: WallInstant? = nil) async throws(StoreFault) -> LeasedParcel? {
        precondition(order.scope != .paced, "what waits for a rate is leased with what is passed by")
        return try await lease(order, passing: [], now: now).parcel
    }

    /// Leases a share of what waits on the route for its message's rate, as `lease` leases a parcel: over all processes, as
    /// much as the rate allows by now.
    ///
    /// - Parameter passing: messages that are not asked for.
    package func leasePaced(
        _ order: LeaseOrder, passing: [MessageID] = [], now: WallInstant? = nil
    ) async throws(StoreFault) -> PacedLease {
        precondition(order.scope == .paced)
        return try await lease(order, passing: passing, now: now)
    }

    private func lease(
        _ order: LeaseOrder, passing: [MessageID], now: WallInstant?
    ) async throws(StoreFault) -> PacedLease {
        let atWork = RowAtWork<ParcelID>()
        do throws(StoreFault) {
            for _ in 1...Self.stoppedMax {
                let (claim, again) = try await leaseNext(order, passing, now: now, noting: atWork)
                switch claim {
                case .nothing: return PacedLease(parcel: nil, again: again)
                case .leased(let parcel): return PacedLease(parcel: parcel, again: again)
                case .held: continue
                }
            }
            return PacedLease(parcel: nil, again: nil)
        } catch {
            guard let parcel = atWork.blamed(for: error) else { throw error }
            let query = Query(ParcelSQL.putAside) {
                $0.int64(parcel.value)
                $0.instant(now)
                $0.int64(putAsideFor.wholeMicroseconds)
            }
            _ = try await translating { () throws(PostgresError) in try await pool.run(query) }
            throw error.about("parcel \(parcel.value)")
        }
    }

    /// Stopped messages that one lease takes out of its way; who has more comes again.
    private static let stoppedMax = 16

    /// The column `state` of `parcels`.
    static let heldState: Int16 = 3
    static let pacedState: Int16 = 4

    private enum Claim: Sendable {
        case nothing
        case leased(LeasedParcel)
        /// Its message is stopped, or has a rate: kept now, and the others of that message with it.
        case held
    }

    private func leaseNext(
        _ order: LeaseOrder, _ passing: [MessageID], now: WallInstant?, noting atWork: RowAtWork<ParcelID>
    ) async throws(StoreFault) -> (Claim, again: Duration?) {
        let (pool, steps) = (pool, steps)
        return try await translating { () throws(PostgresError) in
            // 40P01: another lease, or a registration, took the same badges in another order after all.
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction { transaction throws(PostgresError) -> (Claim, again: Duration?) in
                    let answers = try await transaction.run(order.queries(passing, now: now))
                    let answer = answers[1]
                    var wait = answers.count > 2 ? try answers[2].wait : nil
                    atWork.note(answer.rowCount == 1 ? ParcelID(try answer.int64(0, 0)) : nil)
                    guard answer.rowCount == 1 else { return (.nothing, wait) }
                    let state = try answer.int16(0, 25)
                    if let keeping = order.keeping(try answer.uuid(0, 1), state, now: now) {
                        _ = try await transaction.runAndCommit([keeping])
                        return (.held, wait)
                    }
                    var claimed = try ClaimedParcel(reading: answer, order)
                    if state == Self.pacedState {
                        let share = try claimed.carve(Int(answer.int32(0, 30)), for: order, now: now)
                        claimed.id = ParcelID(try await transaction.run([share])[0].int64(0, 0))
                    } else if order.scope == .paced,
                        let next = try await claimed.gather(
                            for: order, next: order.next(passing, now: now), now: now, noting: atWork, in: transaction)
                    {
                        wait = try next.wait
                    }
                    if let limited = try claimed.limited {
                        claimed.judged = try await limited.judge(try claimed.badge, in: transaction)
                    }
                    let readings = try claimed.readings
                    let rows = try await transaction.conclude(
                        readings + claimed.charges(order.scope, now: now), announcing: .leaseWritten, to: steps)
                    return (.leased(try claimed.leased(with: Array(rows[..<readings.count]))), wait)
                }
            }
        }
    }
}

/// A parcel's own row as its claim left it, and which of its members are still owed something.
struct ClaimedParcel: Sendable {
    let row: ResultSet
    private let route: RouteID
    var id: ParcelID
    private var epoch: Int32
    private var settles: Int32
    var memberCount: Int
    private var settledBits: [UInt8]
    private let home: HomeRefusal?
    var indices: [Int32] = []
    var ids: [Int64] = []
    /// Whom the badge mark does not speak of; nil: it speaks of all.
    private var uncounted: MemberBitmap?
    /// What the limits of its app leave of it; nil: there are none.
    var judged: LimitedMembers?

    init(reading row: ResultSet, _ order: LeaseOrder) throws(PostgresError) {
        self.row = row
        route = order.route
        id = ParcelID(try row.int64(0, 0))
        epoch = try row.int32(0, 3)
        settles = try row.int32(0, 4)
        memberCount = Int(try row.int32(0, 11))
        settledBits = try row.bytesOrNil(0, 13) ?? []
        home = try HomeRefusal(reading: row)
        if let stored = try row.bytesOrNil(0, 27) {
            uncounted = MemberBitmap(bytes: stored, count: memberCount)
            guard uncounted != nil else { throw Self.damaged }
        }
        guard let members = try? MemberList.decode(row.bytes(0, 12)), members.count == memberCount else {
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

    /// Takes the first of what is left as a parcel of its own, which gets its number from the answer.
    mutating func carve(_ count: Int, for order: LeaseOrder, now: WallInstant?) throws(PostgresError) -> Query {
        guard count > 0, count < ids.count else { throw Self.damaged }
        var rest = MemberBitmap(bytes: settledBits, count: memberCount) ?? MemberBitmap(count: memberCount)
        for index in indices[..<count] { rest[Int(index)] = true }
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
        return Query(RateSQL.carve) {
            $0.int64(whole.value)
            $0.bytes(rest.bytes)
            $0.int32(Int32(count))
            $0.bytes(members)
            $0.uuid(order.owner.value)
            $0.int64(order.leaseFor.wholeMicroseconds)
            $0.instant(now)
            $0.bytes(own)
        }
    }

    /// What it sends without having waited for its message's rate counts all the same; whoever is held back does not, nor
    /// what lapsed so often that it is only cut in two.
    func charges(_ scope: LeaseScope, now: WallInstant?) throws(PostgresError) -> [Query] {
        guard scope != .expired, !row.isNull(0, 28), try !isExpired else { return [] }
        guard try row.int16(0, 6) < PoisonRule.lapsesMax else { return [] }
        let held = judged?.heldCount ?? 0
        let pushes = scope == .paced ? -held : ids.count - held
        guard pushes != 0 else { return [] }
        let message = try row.uuid(0, 1)
        return [
            Query(RateSQL.charge) {
                $0.uuid(message)
                $0.int64(Int64(pushes))
                $0.instant(now)
            }
        ]
    }

    static let damaged = PostgresError.unexpectedShape(statement: "parcel_claim", column: 12)

    /// Where the members' registrations lived when the parcel was made.
    private var expectedRoute: RouteID { home?.route ?? route }
    var badge: (change: Int16, value: Int32) {
        get throws(PostgresError) { (try badgeChange, try row.int32(0, 15)) }
    }
    private var badgeChange: Int16 { get throws(PostgresError) { try row.int16(0, 14) } }
    /// Leased whole, and nothing has become of it so far.
    var isUntouched: Bool { epoch == 1 && settles == 0 && settledBits.isEmpty && uncounted == nil }
    var isExpired: Bool { get throws(PostgresError) { try row.instant(0, 9) <= row.instant(0, 10) } }
    /// No lease was free to send any of it.
    var isUnmarked: Bool { get throws(PostgresError) { try row.bool(0, 16) } }
    private var urgency: MessageUrgency {
        get throws(PostgresError) { MessageUrgency(rawValue: try row.int16(0, 29)) ?? .bulk }
    }
    private var asksLocale: Bool { get throws(PostgresError) { try row.bool(0, 17) } }

    /// nil: no limit holds for anybody of it, and none held anybody back.
    var limited: LimitedParcel? {
        get throws(PostgresError) {
            let limits = try row.int16OrNil(0, 26)
            guard limits != nil || uncounted != nil, try !isExpired else { return nil }
            return LimitedParcel(
                parcel: id, message: MessageID(try row.uuid(0, 1)),
                app: AppID(try row.int64(0, 2)), leasedAt: try row.instant(0, 10),
                limits: AppLimits(rawValue: limits ?? 0), isFirst: try isUnmarked, uncounted: uncounted,
                memberCount: memberCount, indices: indices, ids: ids)
        }
    }

    /// What reads the members: their badges where the message has any, their rows, then those that are no registrations.
    var readings: [Query] {
        get throws(PostgresError) {
            let keys = MemberKeys(ids)
            var queries: [Query] = []
            if try badgeChange != BadgeChange.none.column { queries.append(try badges(keys)) }
            var parameters = Parameters()
            parameters.int64(expectedRoute.value)
            parameters.bool(try asksLocale)
            queries.append(MemberSQL.rows.query(keys, parameters))
            if try row.bool(0, 18) { queries.append(Query(MemberSQL.inline) { $0.int64Array(ids) }) }
            return queries
        }
    }

    /// Raises them where this is the first lease, and has not been done one by one.
    private func badges(_ keys: MemberKeys) throws(PostgresError) -> Query {
        guard try isUnmarked, try !isExpired, judged == nil else { return MemberSQL.badges.query(keys) }
        var parameters = Parameters()
        parameters.int16(try badgeChange)
        parameters.int32(try row.int32(0, 15))
        return MemberSQL.raiseBadges.query(keys, parameters)
    }

    /// - Parameter answers: to `readings`. By rising id; deleted devices are missing.
    func leased(with answers: [ResultSet]) throws(PostgresError) -> LeasedParcel {
        let hasBadges = try badgeChange != BadgeChange.none.column
        let rows = answers[hasBadges ? 1 : 0]
        let inline = answers.count > (hasBadges ? 2 : 1) ? answers[answers.count - 1] : nil
        var badges = MemberBadges(hasBadges ? answers[0] : nil)
        var members: [LeasedMember] = []
        members.reserveCapacity(ids.count)
        var tokens: [UInt8] = []
        tokens.reserveCapacity(ids.count * 32)
        var locales: [UInt8] = []
        var next = 0
        var nextInline = 0
        for (place, id) in ids.enumerated() {
            if let inline, nextInline < inline.rowCount, try inline.int64(nextInline, 0) == id {
                members.append(try target(index: indices[place], id: id, in: inline, at: nextInline, tokens: &tokens))
                nextInline += 1
                continue
            }
            guard next < rows.rowCount, try rows.int64(next, 0) == id else {
                members.append(.deleted(index: indices[place], id: id))
                continue
            }
            members.append(
                try member(
                    index: indices[place], id: id, badge: badges.badge(of: id), in: rows, at: next, tokens: &tokens,
                    locales: &locales))
            next += 1
        }
        var parcel = LeasedParcel(
            id: id, message: MessageID(try row.uuid(0, 1)), app: AppID(try row.int64(0, 2)),
            route: route, epoch: epoch, settles: settles, attempt: try row.int16(0, 5),
            lapses: try row.int16(0, 6), retrySpent: .microseconds(try row.int64(0, 7)),
            answerLost: try row.bool(0, 8), home: home, otherEnvironment: try row.int64OrNil(0, 19).map(RouteID.init),
            ratePerSecond: row.isNull(0, 28) ? nil : try row.int32(0, 28), urgency: try urgency,
            expiresAt: try row.instant(0, 9), leasedAt: try row.instant(0, 10), memberCount: memberCount,
            members: members, tokens: tokens, locales: locales, settledBits: settledBits)
        parcel.holds = judged?.holds.contains { $0 != .none } == true ? judged?.holds ?? [] : []
        parcel.neverSent = try neverSent
        return parcel
    }

    private var neverSent: [Bool] {
        get throws(PostgresError) {
            let (all, lapses) = (try isUnmarked, try row.int16(0, 6))
            guard try row.bool(0, 8) || lapses > 0, all || uncounted != nil else { return [] }
            let never = indices.map { all || uncounted?[Int($0)] ?? false }
            return never.contains(true) ? never : []
        }
    }

    /// Without a registration there is no route that it could have moved to, and no badge to count from: it gets the value
    /// of one that stood at nought.
    private func target(
        index: Int32, id: Int64, in rows: ResultSet, at place: Int, tokens: inout [UInt8]
    ) throws(PostgresError) -> LeasedMember {
        let badge: Int32 =
            switch try row.int16(0, 14) {
            case BadgeChange.none.column: 0
            case BadgeChange.increment.column: 1
            default: try row.int32(0, 15)
            }
        let start = tokens.count
        let count = try rows.append(place, 1, to: &tokens)
        return LeasedMember(
            index: index, registration: RegistrationID(id), standing: .present, generation: TokenGeneration(1),
            badge: badge, tokenStart: Int32(start), tokenCount: Int32(count), isSuspected: false)
    }

    private func member(
        index: Int32, id: Int64, badge: Int32, in rows: ResultSet, at place: Int, tokens: inout [UInt8],
        locales: inout [UInt8]
    ) throws(PostgresError) -> LeasedMember {
        let state = try rows.int16OrNil(place, 2)
        let lives = try rows.int64OrNil(place, 1).map(RouteID.init)
        let generation = TokenGeneration(try rows.int32(place, 3))
        let standing: MemberStanding
        if state == RegistrationState.retired.rawValue {
            standing = .retired
        } else {
            standing = isPresent(on: lives, generation) ? .present : .moved(to: lives ?? expectedRoute)
        }
        let start = tokens.count
        let count = try rows.append(place, 4, to: &tokens)
        let localeStart = locales.count
        let localeCount = rows.isNull(place, 5) ? 0 : try rows.append(place, 5, to: &locales)
        return LeasedMember(
            index: index, registration: RegistrationID(id), standing: standing, generation: generation, badge: badge,
            tokenStart: Int32(start), tokenCount: Int32(count),
            isSuspected: state == RegistrationState.suspected.rawValue, mayBeElsewhere: !rows.isNull(place, 6),
            localeStart: Int32(localeStart), localeCount: Int32(localeCount))
    }

    /// Away from home only who still is what home refused. Who was found meanwhile has another generation, as who has
    /// another token: both go where they live.
    ///
    /// - Parameter lives: nil where it is expected.
    private func isPresent(on lives: RouteID?, _ generation: TokenGeneration) -> Bool {
        lives == nil && (home == nil || generation == home?.generation)
    }
}

extension ResultSet {
    /// How long it is until the next share.
    fileprivate var wait: Duration? {
        get throws(PostgresError) { try int64OrNil(0, 0).map { .microseconds(max(0, $0)) } }
    }
}

/// The badges of members, asked for by rising id.
private struct MemberBadges {
    private let rows: ResultSet?
    private var next = 0

    /// - Parameter rows: ids and badges, by rising id; nil: the message has none.
    init(_ rows: ResultSet?) { self.rows = rows }

    /// Of a registration that was there after its badge was read: one without is no device that has gone, but damage.
    mutating func badge(of id: Int64) throws(PostgresError) -> Int32 {
        guard let rows else { return 0 }
        while try rows.int64(next, 0) < id { next += 1 }
        guard try rows.int64(next, 0) == id else { throw .unexpectedShape(statement: "member_badges", column: 0) }
        return try rows.int32(next, 1)
    }
}

extension HomeRefusal {
    /// nil: the claimed parcel is at home.
    fileprivate init?(reading row: ResultSet) throws(PostgresError) {
        guard let route = try row.int64OrNil(0, 20) else { return nil }
        let until = try row.instant(0, 23)
        self.init(
            route: RouteID(route), generation: TokenGeneration(try row.int32(0, 21)), reason: try row.text(0, 22),
            asOf: try row.instantOrNil(0, 24) ?? EnvironmentRule.asOf(patienceEnding: until), until: until)
    }
}

extension LeasedMember {
    fileprivate static func deleted(index: Int32, id: Int64) -> LeasedMember {
        LeasedMember(
            index: index, registration: RegistrationID(id), standing: .deleted, generation: TokenGeneration(0),
            badge: 0, tokenStart: 0, tokenCount: 0, isSuspected: false)
    }
}
