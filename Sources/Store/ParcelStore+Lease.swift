import DeliveryRules
import Encodings
import Postgres
import PushModel

/// What a process asks for when it wants a parcel.
package struct LeaseOrder: Equatable, Sendable {
    package let route: RouteID
    package let service: TopicService
    package let owner: ProcessID
    package let leaseFor: Duration
    /// Of the contents that this process can encode; their parcels away from home are known with them.
    package let knownFormats: [Int16]
    package let scope: LeaseScope

    package init(
        route: RouteID, service: TopicService = .app, owner: ProcessID, leaseFor: Duration, knownFormats: [Int16],
        scope: LeaseScope = .ordinary
    ) {
        self.route = route
        self.service = service
        self.owner = owner
        self.leaseFor = leaseFor
        self.knownFormats = knownFormats
        self.scope = scope
    }
}

extension ParcelStore {
    /// Leases the route's next parcel; nil where none is due, or others are leasing each at this moment.
    ///
    /// One transaction: the claim, the badges of its first lease under the mark (P3), and the members' rows as they
    /// stand. A parcel that can't be leased as it is stored is put aside, and the fault names it: the others go on.
    package func lease(_ order: LeaseOrder, now: WallInstant? = nil) async throws(StoreFault) -> LeasedParcel? {
        let atWork = RowAtWork<ParcelID>()
        do throws(StoreFault) {
            for _ in 1...Self.stoppedMax {
                switch try await leaseNext(order, now: now, noting: atWork) {
                case .nothing: return nil
                case .leased(let parcel): return parcel
                case .held: continue
                }
            }
            return nil
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
    private static let heldState: Int16 = 3

    private enum Claim: Sendable {
        case nothing
        case leased(LeasedParcel)
        /// Its message is stopped: held now, and the others of that message with it.
        case held
    }

    private func leaseNext(
        _ order: LeaseOrder, now: WallInstant?, noting atWork: RowAtWork<ParcelID>
    ) async throws(StoreFault) -> Claim {
        let (pool, steps) = (pool, steps)
        return try await translating { () throws(PostgresError) in
            // 40P01: another lease, or a registration, took the same badges in another order after all.
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction { transaction throws(PostgresError) -> Claim in
                    let claim = [Query(PlannerSQL.inKeyOrder), Query(order.scope.claim) { $0.claim(order, now: now) }]
                    let answer = try await transaction.run(claim)[1]
                    atWork.note(answer.rowCount == 1 ? ParcelID(try answer.int64(0, 0)) : nil)
                    guard answer.rowCount == 1 else { return .nothing }
                    if try answer.int16(0, 25) == Self.heldState {
                        _ = try await transaction.runAndCommit([Query.holding(try answer.uuid(0, 1))])
                        return .held
                    }
                    var claimed = try ClaimedParcel(reading: answer, route: order.route)
                    if let limited = try claimed.limited {
                        claimed.judged = try await limited.judge(try claimed.badge, in: transaction)
                    }
                    let answers = try await transaction.conclude(
                        claimed.readings, announcing: .leaseWritten, to: steps)
                    return .leased(try claimed.leased(with: answers))
                }
            }
        }
    }
}

extension Parameters {
    fileprivate mutating func claim(_ order: LeaseOrder, now: WallInstant?) {
        int64(order.route.value)
        uuid(order.owner.value)
        int64(order.leaseFor.wholeMicroseconds)
        int16Array(AwayFormat.leased(by: order.service.formats(ofContents: order.knownFormats)))
        instant(now)
        text(order.service.suffix)
    }
}

extension LeaseScope {
    fileprivate var claim: Statement {
        switch self {
        case .ordinary: ParcelSQL.claimOrdinary
        case .lapsed: ParcelSQL.claimLapsed
        case .expired: ParcelSQL.claimExpired
        }
    }
}

/// A parcel's own row as its claim left it, and which of its members are still owed something.
private struct ClaimedParcel: Sendable {
    private let row: ResultSet
    private let route: RouteID
    private let memberCount: Int
    private let settledBits: [UInt8]
    private let home: HomeRefusal?
    private var indices: [Int32] = []
    private var ids: [Int64] = []
    /// What the limits of its app leave of it; nil: there are none.
    var judged: LimitedMembers?

    init(reading row: ResultSet, route: RouteID) throws(PostgresError) {
        self.row = row
        self.route = route
        memberCount = Int(try row.int32(0, 11))
        settledBits = try row.bytesOrNil(0, 13) ?? []
        home = try HomeRefusal(reading: row)
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

    private static let damaged = PostgresError.unexpectedShape(statement: "parcel_claim", column: 12)

    /// Where the members' registrations lived when the parcel was made.
    private var expectedRoute: RouteID { home?.route ?? route }
    var badge: (change: Int16, value: Int32) {
        get throws(PostgresError) { (try badgeChange, try row.int32(0, 15)) }
    }
    private var badgeChange: Int16 { get throws(PostgresError) { try row.int16(0, 14) } }
    private var asksLocale: Bool { get throws(PostgresError) { try row.bool(0, 17) } }

    /// nil: no limit holds for anybody of it, and none held anybody back.
    var limited: LimitedParcel? {
        get throws(PostgresError) {
            let limits = try row.int16OrNil(0, 26)
            let stored = try row.bytesOrNil(0, 27)
            let leasedAt = try row.instant(0, 10)
            guard limits != nil || stored != nil, try row.instant(0, 9) > leasedAt else { return nil }
            let uncounted = stored.flatMap { MemberBitmap(bytes: $0, count: memberCount) }
            guard (stored == nil) == (uncounted == nil) else { throw Self.damaged }
            return LimitedParcel(
                parcel: ParcelID(try row.int64(0, 0)), message: MessageID(try row.uuid(0, 1)),
                app: AppID(try row.int64(0, 2)), leasedAt: leasedAt, limits: AppLimits(rawValue: limits ?? 0),
                isFirst: try row.bool(0, 16), uncounted: uncounted, memberCount: memberCount, indices: indices,
                ids: ids)
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
        guard try row.bool(0, 16), judged == nil else { return MemberSQL.badges.query(keys) }
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
            id: ParcelID(try row.int64(0, 0)), message: MessageID(try row.uuid(0, 1)), app: AppID(try row.int64(0, 2)),
            route: route, epoch: try row.int32(0, 3), settles: try row.int32(0, 4), attempt: try row.int16(0, 5),
            lapses: try row.int16(0, 6), retrySpent: .microseconds(try row.int64(0, 7)),
            answerLost: try row.bool(0, 8), home: home, otherEnvironment: try row.int64OrNil(0, 19).map(RouteID.init),
            expiresAt: try row.instant(0, 9), leasedAt: try row.instant(0, 10), memberCount: memberCount,
            members: members, tokens: tokens, locales: locales, settledBits: settledBits)
        parcel.holds = judged?.holds.contains { $0 != .none } == true ? judged?.holds ?? [] : []
        return parcel
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
