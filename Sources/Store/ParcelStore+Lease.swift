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
                    let claim = [Query(PlannerSQL.throughKeys), Query(order.scope.claim) { $0.claim(order, now: now) }]
                    let answer = try await transaction.run(claim)[1]
                    atWork.note(answer.rowCount == 1 ? ParcelID(try answer.int64(0, 0)) : nil)
                    guard answer.rowCount == 1 else { return .nothing }
                    if try answer.int16(0, 25) == Self.heldState {
                        _ = try await transaction.runAndCommit([Query.holding(try answer.uuid(0, 1))])
                        return .held
                    }
                    let claimed = try ClaimedParcel(reading: answer, route: order.route)
                    let rows = try await transaction.conclude(
                        claimed.readings, announcing: .leaseWritten, to: steps)
                    return .leased(try claimed.leased(with: rows[0], inline: rows.count > 1 ? rows[1] : nil))
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

    /// What reads the members, those that are no registrations behind the others.
    var readings: [Query] {
        get throws(PostgresError) {
            guard try row.bool(0, 18) else { return [try reading] }
            return [try reading, Query(ParcelSQL.readInline) { $0.int64Array(ids) }]
        }
    }

    /// Raises the badges where this is the first lease.
    private var reading: Query {
        get throws(PostgresError) {
            let badgeChange = try row.int16(0, 14)
            let isFirstLease = try row.bool(0, 16)
            var parameters = Parameters()
            parameters.int64Array(ids)
            parameters.bool(try row.bool(0, 17))
            if badgeChange == BadgeChange.none.column { return Query(ParcelSQL.read, parameters) }
            guard isFirstLease else { return Query(ParcelSQL.readWithBadges, parameters) }
            parameters.int16(badgeChange)
            parameters.int32(try row.int32(0, 15))
            return Query(ParcelSQL.raiseAndRead, parameters)
        }
    }

    /// - Parameters:
    ///   - rows: the members' rows by rising id; those of deleted devices are missing.
    ///   - inline: likewise, the members that are no registrations.
    func leased(with rows: ResultSet, inline: ResultSet?) throws(PostgresError) -> LeasedParcel {
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
            let start = locales.count
            let count = try rows.append(next, 6, to: &locales)
            members.append(
                try member(
                    index: indices[place], id: id, in: rows, at: next, tokens: &tokens,
                    locale: (Int32(start), Int32(count))))
            next += 1
        }
        return LeasedParcel(
            id: ParcelID(try row.int64(0, 0)), message: MessageID(try row.uuid(0, 1)), app: AppID(try row.int64(0, 2)),
            route: route, epoch: try row.int32(0, 3), settles: try row.int32(0, 4), attempt: try row.int16(0, 5),
            lapses: try row.int16(0, 6), retrySpent: .microseconds(try row.int64(0, 7)),
            answerLost: try row.bool(0, 8), home: home, otherEnvironment: try row.int64OrNil(0, 19).map(RouteID.init),
            expiresAt: try row.instant(0, 9), leasedAt: try row.instant(0, 10), memberCount: memberCount,
            members: members, tokens: tokens, locales: locales, settledBits: settledBits)
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
        index: Int32, id: Int64, in rows: ResultSet, at place: Int, tokens: inout [UInt8],
        locale: (start: Int32, count: Int32)
    ) throws(PostgresError) -> LeasedMember {
        let state = try rows.int16(place, 2)
        let lives = RouteID(try rows.int64(place, 1))
        let generation = TokenGeneration(try rows.int32(place, 3))
        let standing: MemberStanding
        if state == RegistrationState.retired.rawValue {
            standing = .retired
        } else {
            standing = isPresent(on: lives, generation) ? .present : .moved(to: lives)
        }
        let start = tokens.count
        let count = try rows.append(place, 5, to: &tokens)
        return LeasedMember(
            index: index, registration: RegistrationID(id), standing: standing,
            generation: generation, badge: try rows.int32(place, 4), tokenStart: Int32(start),
            tokenCount: Int32(count), isSuspected: state == RegistrationState.suspected.rawValue,
            mayBeElsewhere: try rows.bool(place, 7), localeStart: locale.start, localeCount: locale.count)
    }

    /// Away from home only who still is what home refused. Who was found meanwhile has another generation, as who has
    /// another token: both go where they live.
    private func isPresent(on lives: RouteID, _ generation: TokenGeneration) -> Bool {
        guard let home else { return lives == route }
        return lives == home.route && generation == home.generation
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
