import Basis
import Model
import Postgres
import QueueRules

/// The parcels of one claim, and the faults of those that could not be read.
struct LeasedGroup: Sendable {
    var parcels: [LeasedParcel] = []
    var unreadable: [StoreFault] = []
    /// Some of the parcels found are rate-limited from now on.
    var isForRate = false
    /// All parcels found were put on hold or became rate-limited, because their messages are stopped or have a rate.
    var isKept = false
    /// The time until the next quantum, if one was asked for.
    var wait: Duration?
}

/// Parcels of one route that one statement claimed, in their order.
struct ClaimedGroup: Sendable {
    private(set) var parcels: [ClaimedParcel] = []
    /// Queries that move the parcels of stopped or rate-limited messages out of the way of leases.
    private(set) var keepings: [Query] = []
    /// Some of the parcels found are rate-limited.
    private(set) var isForRate = false
    /// Queries that store the decisions about the apps' limits. They run before `readings`.
    private(set) var writes: [Query] = []
    /// The badges of each parcel's members as its lease leaves them.
    private var badges: [[Int64: Int32]] = []
    /// The badges that the leases change.
    private var raised: [Int64: RaisedBadge] = [:]  // lookup only
    /// The members that a quantum takes of its parcel.
    private var share = 0

    init(
        reading answer: ResultSet, _ order: LeaseOrder, now: WallInstant?, noting atWork: ClaimedRows<ParcelID>
    ) throws(PostgresError) {
        var claimed = try answer.map(order.scope == .rateLimited ? ClaimedRow.init(quantum:) : ClaimedRow.init(_:))
        claimed.sort { $0.last < $1.last }
        share = Int(claimed[0].last)
        atWork.note(
            claimed[0].parcel.id, of: claimed.count,
            isUrgent: claimed.allSatisfy { $0.parcel.urgency == .transactional })
        var kept: Set<MessageID> = []
        for (place, row) in claimed.map(\.parcel).enumerated() {
            if let keeping = order.keeping(row, now: now) {
                if order.isForRate(row.state) { isForRate = true }
                if kept.insert(row.message).inserted { keepings.append(keeping) }
            } else {
                do {
                    parcels.append(try ClaimedParcel(row, on: order.route))
                } catch {
                    atWork.noteUnreadable(at: place)
                    throw error
                }
            }
        }
    }

    /// Reads parcels that were cut a moment ago, in the same transaction.
    ///
    /// - Parameters:
    ///   - rows: the rows of the route's parcels, in their order.
    ///   - users: the users that messages are for.
    init(
        cut answer: ResultSet, rows: [Int], on route: RouteID, users: [MessageID: Set<[UInt8]>]  // lookup only
    ) throws(PostgresError) {
        for place in rows {
            var row = answer.row(place)
            var parcel = try ClaimedParcel(ParcelRow(&row), on: route)
            parcel.users = users[parcel.row.message]
            parcels.append(parcel)
        }
        areBadgesLocked = true
    }

    /// The badge of a single parcel's members is raised by one statement; those of several are locked and read first.
    private var isSingle: Bool { parcels.count == 1 && !areBadgesLocked }
    private var areBadgesLocked = false

    /// Makes the claimed rate-limited parcel a quantum: splits members off a larger one, or adds those of the next ones.
    ///
    /// - Returns: the time until the next quantum, as `RateSQL.next` answers; nil: it has not changed.
    mutating func fillQuantum(
        _ order: LeaseOrder, now: WallInstant?, noting atWork: ClaimedRows<ParcelID>,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ResultSet? {
        guard parcels[0].row.state == .rateLimited else {
            return try await parcels[0].gather(for: order, now: now, noting: atWork, in: transaction)
        }
        let split = try parcels[0].split(share, for: order, now: now)
        parcels[0].id = ParcelID(try await transaction.run(split).one(Int64.init))
        return nil
    }

    /// Excludes the members that the messages' audiences no longer include. Returns the answers to `locks`, which run
    /// before.
    private mutating func exclude(
        by check: inout AudienceCheck, behind locks: [Query], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [ResultSet] {
        let (excluded, locked) = try await check.excluded(from: parcels, behind: locks, in: transaction)
        for place in parcels.indices {
            // Members that were excluded before were not counted for their users, so this lease can't send to them.
            parcels[place].excluded.merge(excluded[place].changes) { first, _ in first }
            parcels[place].users = excluded[place].users
        }
        return locked
    }

    /// Excludes members of messages for users, if their users are others by now.
    ///
    /// - Parameter users: the users of live members; nil: the member has none.
    mutating func exclude(_ users: [Int64: [UInt8]?]) {  // lookup only
        for place in parcels.indices { parcels[place].exclude(users) }
    }

    /// Applies the app's limits to each parcel. Members that the audience no longer includes are not counted for their
    /// users.
    mutating func judge(_ check: inout AudienceCheck, in transaction: PostgresTransaction) async throws(PostgresError) {
        if parcels.contains(where: { $0.row.hasConditions && $0.countsUsers }) {
            _ = try await exclude(by: &check, behind: [], in: transaction)
        }
        var groups = [self]
        try await Self.judge(&groups, in: transaction)
        self = groups[0]
    }

    /// Applies their app's limits to the parcels of several groups, in their order: users are counted for all at once.
    /// `decide` must follow.
    static func judge(_ groups: inout [ClaimedGroup], in transaction: PostgresTransaction) async throws(PostgresError) {
        let limited = groups.indices.flatMap { group in
            groups[group].parcels.indices.filter { groups[group].parcels[$0].hasLimits }.map {
                (group: group, place: $0)
            }
        }
        guard !limited.isEmpty else { return }
        let judged = try await ClaimedParcel.judge(limited.map { groups[$0.group].parcels[$0.place] }, in: transaction)
        for (each, members) in zip(limited, judged) { groups[each.group].parcels[each.place].judged = members }
    }

    /// Decides which badges the leases change, once all excluded members are known.
    mutating func decide() {
        for place in parcels.indices { parcels[place].decide() }
        // The badges of several parcels are written together.
        writes = ClaimedParcel.writes(parcels.filter { $0.judged != nil }, raisesBadges: isSingle)
    }

    /// Finds the members that the messages' audiences no longer include, and decides which badges the leases change.
    ///
    /// If a message has conditions, everything that the lease may wait for is locked first. A registration may have held
    /// a badge's row and made its device another user's meanwhile.
    ///
    /// - Parameter charges: queries that may wait for other leases.
    /// - Returns: whether `charges` ran.
    mutating func check(
        _ check: inout AudienceCheck, behind charges: [Query], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Bool {
        let hasConditions = parcels.contains(where: \.row.hasConditions)
        let lock = Self.lockingBadges(of: lockedMembers)
        let locks = lock.map { [$0] } ?? []
        let answers =
            if hasConditions {
                try await exclude(by: &check, behind: charges + locks, in: transaction)
            } else if !locks.isEmpty {
                try await transaction.run(locks)
            } else { [ResultSet]() }
        decide()
        if !isSingle {
            var badges: [Int64: Int32] = [:]  // lookup only
            if lock != nil, let locked = answers.last { badges = try Self.badges(in: locked) }
            planBadges(&badges)
        }
        return hasConditions
    }

    /// The members whose badges are locked and read before the leases change them.
    ///
    /// A device may be in several parcels of a lease, so their badges are computed here and written once. The statement
    /// that raises a single parcel's badges locks them itself, unless conditions must be checked behind the locks.
    private var lockedMembers: [Int64] {
        guard isSingle else { return parcels.filter(\.row.hasBadges).flatMap(\.ids) }
        return parcels[0].row.hasConditions && parcels[0].mayRaiseBadges ? parcels[0].ids : []
    }

    /// Reads the answer to `lockingBadges`.
    static func badges(in rows: ResultSet) throws(PostgresError) -> [Int64: Int32] { try rows.numbersByID }

    /// - Returns: nil if there are no members.
    static func lockingBadges(of members: [Int64]) -> Query? {
        members.isEmpty ? nil : MemberSQL.lockBadges.query(MemberKeys(members.rising))
    }

    /// - Parameter status: the locked badges of members, which the parcels of this group change in their order.
    mutating func planBadges(_ status: inout [Int64: Int32]) {
        for (place, parcel) in parcels.enumerated() {
            var own: [Int64: Int32] = [:]  // lookup only
            if parcel.row.hasBadges {
                let raises = parcel.raisesBadges
                let isSet = parcel.row.badgeChange != BadgeChange.increment.column
                // With limits, it increments only badges of members that are free to be sent to.
                let free = Set(parcel.judged?.raised ?? [])
                for id in parcel.ids {
                    guard var badge = status[id] else { continue }
                    if raises || free.contains(id) {
                        var change = raised[id] ?? RaisedBadge(badge: badge)
                        if isSet {
                            change.set(parcel.row.badgeValue, ordinal: Self.ordinal(place))
                        } else {
                            change.increment()
                        }
                        badge = change.badge
                        status[id] = badge
                        raised[id] = change
                    }
                    own[id] = badge
                }
            }
            badges.append(own)
        }
    }

    /// The ordinal of the parcel at a place, by which sets and increments of one lease are ordered.
    private static func ordinal(_ place: Int) -> Int32 { Int32(place) + 1 }

    /// The query that writes or reads badges before the members' rows are read; nil: no member has one.
    private var badgeQuery: Query? {
        guard !isSingle else { return parcels[0].readBadges }
        guard !raised.isEmpty else { return nil }
        let ids = raised.keys.sorted()
        return Query(MemberSQL.writeBadges) {
            $0.int64Array("members", ids)
            $0.int32Array("badges", ids.map { raised[$0]?.badge ?? 0 })
            $0.int32Array("set_ordinals", ids.map { raised[$0]?.setOrdinal ?? 0 })
            $0.int32Array("raised", ids.map { raised[$0]?.raised ?? 0 })
        }
    }

    /// The number of queries is constant, however many parcels there are.
    var readings: [Query] {
        let members = isSingle ? parcels[0].ids : parcels.flatMap(\.ids).rising
        let rows = MemberReadings.queries(of: members, on: parcels[0].expectedRoute, asked)
        return (badgeQuery.map { [$0] } ?? []) + rows
    }

    /// The readings that any of the parcels needs.
    private var asked: MemberReadings.Asked {
        MemberReadings.Asked(
            users: parcels.contains { $0.users != nil }, locales: parcels.contains(where: \.row.asksLocale),
            compared: parcels.contains { $0.row.otherEnvironment != nil },
            inline: parcels.filter(\.row.hasInline).flatMap(\.ids).rising)
    }

    func charges(_ scope: LeaseScope, now: WallInstant?) -> [Query] { parcels.flatMap { $0.charges(scope, now: now) } }

    /// Builds the leased parcels. The lease is committed by now, so an unreadable parcel must not hold back the others.
    ///
    /// - Parameter answers: the answers to `readings`.
    func leased(with answers: [ResultSet]) throws(PostgresError) -> LeasedGroup {
        let hasBadgeQuery = isSingle ? parcels[0].row.hasBadges : !raised.isEmpty
        let readings = try MemberReadings(answers: answers[(hasBadgeQuery ? 1 : 0)...], to: asked)
        var lastSet: Int64 = 0
        if !isSingle, hasBadgeQuery { lastSet = try answers[0].map(Int64.init).max() ?? 0 }
        var leased = LeasedGroup(isForRate: isForRate)
        for (place, parcel) in parcels.enumerated() {
            do throws(PostgresError) {
                var badges = MemberBadges.none
                if parcel.row.hasBadges {
                    badges =
                        try isSingle
                        ? MemberBadges(answers[0])
                        : MemberBadges(self.badges[place], lastSet: lastSet + Int64(Self.ordinal(place)))
                }
                leased.parcels.append(try parcel.leased(readings, badges))
            } catch { leased.unreadable.append(StoreFault(error).about("parcel \(parcel.id.value)")) }
        }
        return leased
    }
}

/// A badge that parcels of one lease change in their order.
private struct RaisedBadge: Sendable {
    private(set) var badge: Int32
    /// The ordinal of the last parcel that set it; 0: none did.
    private(set) var setOrdinal: Int32 = 0
    /// How much messages added, since the badge was set if one of them set it.
    private(set) var raised: Int32 = 0

    mutating func set(_ value: Int32, ordinal: Int32) { (badge, setOrdinal, raised) = (value, ordinal, 0) }

    mutating func increment() {
        guard badge < .max else { return }
        badge += 1
        raised += 1
    }
}

/// A row of the answer to a claim.
private struct ClaimedRow {
    let parcel: ParcelRow
    /// Its place in the order of leases; of a quantum, the number of members that it takes.
    let last: Int64

    init(_ row: inout Row) throws(PostgresError) { (parcel, last) = (try ParcelRow(&row), try row.int64()) }

    init(quantum row: inout Row) throws(PostgresError) {
        (parcel, last) = (try ParcelRow(&row), Int64(try row.int32()))
    }
}
