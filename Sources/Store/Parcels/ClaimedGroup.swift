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

    /// Finds the members that the messages' audiences no longer include.
    mutating func check(
        _ subscribers: SubscriberCheck, in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        let excluded = try await AudienceCheck(subscribers: subscribers).excluded(from: parcels, in: transaction)
        for place in parcels.indices {
            (parcels[place].excluded, parcels[place].users) = (excluded[place].changes, excluded[place].users)
        }
    }

    /// Applies the app's limits to each parcel.
    mutating func judge(in transaction: PostgresTransaction) async throws(PostgresError) {
        var groups = [self]
        try await Self.judge(&groups, in: transaction)
        self = groups[0]
    }

    /// Applies their app's limits to the parcels of several groups, in their order: users are counted for all at once.
    static func judge(_ groups: inout [ClaimedGroup], in transaction: PostgresTransaction) async throws(PostgresError) {
        let limited = groups.indices.flatMap { group in
            groups[group].parcels.indices.filter { groups[group].parcels[$0].isLimited }.map {
                (group: group, place: $0)
            }
        }
        guard !limited.isEmpty else { return }
        let judged = try await ClaimedParcel.judge(limited.map { groups[$0.group].parcels[$0.place] }, in: transaction)
        for (each, members) in zip(limited, judged) { groups[each.group].parcels[each.place].judged = members }
        for group in groups.indices {
            // The badges of several parcels are written together.
            groups[group].writes = ClaimedParcel.writes(
                groups[group].parcels.filter { $0.judged != nil }, raisesBadges: groups[group].isSingle)
        }
    }

    /// Computes the badges of several parcels. A device may be in more than one of them, so each badge is locked and
    /// read first, and then written once.
    mutating func readPlans(in transaction: PostgresTransaction) async throws(PostgresError) {
        guard !isSingle else { return }
        var locked: [Int64: Int32] = [:]  // lookup only
        if let lock = Self.lockingBadges(of: parcels.filter(\.row.hasBadges).flatMap(\.ids)) {
            locked = try Self.badges(in: try await transaction.run(lock))
        }
        planBadges(&locked)
    }

    /// Reads the answer to `lockingBadges`.
    static func badges(in rows: ResultSet) throws(PostgresError) -> [Int64: Int32] { try rows.numbersByID }

    /// - Returns: nil if there are no members.
    static func lockingBadges(of members: [Int64]) -> Query? {
        members.isEmpty ? nil : Query(MemberSQL.lockBadges) { $0.int64Array("members", members.rising) }
    }

    /// - Parameter status: the locked badges of members, which the parcels of this group change in their order.
    mutating func planBadges(_ status: inout [Int64: Int32]) {
        for parcel in parcels {
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
                        if isSet { change.set(parcel.row.badgeValue) } else { change.increment() }
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

    /// The query that writes or reads badges before the members' rows are read; nil: no member has one.
    private var badgeQuery: Query? {
        guard !isSingle else { return parcels[0].readBadges }
        guard !raised.isEmpty else { return nil }
        let ids = raised.keys.sorted()
        return Query(MemberSQL.writeBadges) {
            $0.int64Array("members", ids)
            $0.int32Array("badges", ids.map { raised[$0]?.badge ?? 0 })
            $0.boolArray("are_set", ids.map { raised[$0]?.isSet ?? false })
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
        var leased = LeasedGroup(isForRate: isForRate)
        for (place, parcel) in parcels.enumerated() {
            do throws(PostgresError) {
                var badges = MemberBadges.none
                if parcel.row.hasBadges {
                    badges = try isSingle ? MemberBadges(answers[0]) : MemberBadges(self.badges[place])
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
    private(set) var isSet = false
    /// How much messages added, since the badge was set if one of them set it.
    private(set) var raised: Int32 = 0

    init(badge: Int32) { self.badge = badge }

    mutating func set(_ value: Int32) { (badge, isSet, raised) = (value, true, 0) }

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
