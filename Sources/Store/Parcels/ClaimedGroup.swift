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
    /// The new values of the badges that the leases increment.
    private var raised: [Int64: Int32] = [:]  // lookup only

    init(
        reading answer: ResultSet, _ order: LeaseOrder, now: WallInstant?, noting atWork: ClaimedRows<ParcelID>
    ) throws(PostgresError) {
        let places = try Self.inOrder(answer)
        var isUrgent = true
        for row in places where try answer.int16(row, 29) != MessageUrgency.transactional.rawValue { isUrgent = false }
        atWork.note(ParcelID(try answer.int64(places[0], 0)), of: places.count, isUrgent: isUrgent)
        var kept: Set<UniversalID> = []
        for (place, row) in places.enumerated() {
            let message = try answer.uuid(row, 1)
            let state = try answer.int16(row, 25)
            if let keeping = order.keeping(message, state, now: now) {
                if order.isForRate(state) { isForRate = true }
                if kept.insert(message).inserted { keepings.append(keeping) }
            } else {
                do {
                    parcels.append(try ClaimedParcel(reading: answer, at: row, on: order.route))
                } catch {
                    atWork.noteUnreadable(at: place)
                    throw error
                }
            }
        }
    }

    /// Rows of several parcels come in no order, with their place in the last column.
    private static func inOrder(_ answer: ResultSet) throws(PostgresError) -> [Int] {
        guard answer.rowCount > 1 else { return [0] }
        var places: [(ordinal: Int64, row: Int)] = []
        for row in 0..<answer.rowCount { places.append((try answer.int64(row, 31), row)) }
        return places.sorted { $0.ordinal < $1.ordinal }.map(\.row)
    }

    /// Reads parcels that were cut a moment ago, in the same transaction.
    ///
    /// - Parameter rows: the rows of the route's parcels, in their order.
    init(cut answer: ResultSet, rows: [Int], on route: RouteID) throws(PostgresError) {
        for row in rows { parcels.append(try ClaimedParcel(reading: answer, at: row, on: route)) }
        areBadgesLocked = true
    }

    /// The badge of a single parcel's members is raised by one statement; those of several are locked and read first.
    private var isSingle: Bool { parcels.count == 1 && !areBadgesLocked }
    private var areBadgesLocked = false

    /// Makes the claimed rate-limited parcel a quantum: splits members off a larger one, or adds those of the next ones.
    ///
    /// - Parameter answer: the claim's, whose last column is the number of members to lease.
    /// - Returns: the time until the next quantum, as `RateSQL.next` answers; nil: it has not changed.
    mutating func fillQuantum(
        of answer: ResultSet, _ order: LeaseOrder, now: WallInstant?, noting atWork: ClaimedRows<ParcelID>,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ResultSet? {
        guard try answer.int16(0, 25) == ParcelStore.rateLimitedState else {
            return try await parcels[0].gather(for: order, now: now, noting: atWork, in: transaction)
        }
        let share = try parcels[0].split(Int(answer.int32(0, 31)), for: order, now: now)
        parcels[0].id = ParcelID(try await transaction.run([share])[0].int64(0, 0))
        return nil
    }

    /// Finds the members that the messages' audiences no longer include.
    mutating func check(in transaction: PostgresTransaction) async throws(PostgresError) {
        let excluded = try await AudienceCheck.excluded(from: parcels, in: transaction)
        for place in parcels.indices { parcels[place].excluded = excluded[place] }
    }

    /// Applies the app's limits to each parcel.
    mutating func judge(in transaction: PostgresTransaction) async throws(PostgresError) {
        var groups = [self]
        try await Self.judge(&groups, in: transaction)
        self = groups[0]
    }

    /// Applies their app's limits to the parcels of several groups, in their order: users are counted for all at once.
    static func judge(
        _ groups: inout [ClaimedGroup], in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        var limited: [(group: Int, place: Int, parcel: LimitedParcel)] = []
        for group in groups.indices {
            for place in groups[group].parcels.indices {
                if let parcel = try groups[group].parcels[place].limited { limited.append((group, place, parcel)) }
            }
        }
        guard !limited.isEmpty else { return }
        let judged = try await LimitedParcel.judge(limited.map(\.parcel), in: transaction)
        for (each, members) in zip(limited, judged) { groups[each.group].parcels[each.place].judged = members }
        for group in groups.indices {
            let own = limited.indices.filter { limited[$0].group == group }
            guard !own.isEmpty else { continue }
            // The badges of several parcels are written together.
            groups[group].writes = LimitedParcel.writes(
                own.map { limited[$0].parcel }, own.map { judged[$0] },
                raising: groups[group].isSingle ? try groups[group].parcels[0].badge : nil)
        }
    }

    /// Computes the badges of several parcels. A device may be in more than one of them, so each badge is locked and
    /// read first, and then written once.
    mutating func readPlans(in transaction: PostgresTransaction) async throws(PostgresError) {
        guard !isSingle else { return }
        var counted: [Int64] = []
        for parcel in parcels where try parcel.badgeChange != BadgeChange.none.column { counted += parcel.ids }
        var locked: [Int64: Int32] = [:]
        if let lock = Self.lockingBadges(of: counted) {
            locked = try Self.badges(in: try await transaction.run([lock])[0])
        }
        try planBadges(&locked)
    }

    /// Reads the answer to `lockingBadges`.
    static func badges(in rows: ResultSet) throws(PostgresError) -> [Int64: Int32] {
        var badges: [Int64: Int32] = [:]  // lookup only
        for row in 0..<rows.rowCount { badges[try rows.int64(row, 0)] = try rows.int32(row, 1) }
        return badges
    }

    /// - Returns: nil if there are no members.
    static func lockingBadges(of members: [Int64]) -> Query? {
        members.isEmpty ? nil : Query(MemberSQL.lockBadges) { $0.int64Array(rising(members)) }
    }

    /// - Parameter status: the locked badges of members, which the parcels of this group change in their order.
    mutating func planBadges(_ status: inout [Int64: Int32]) throws(PostgresError) {
        for parcel in parcels {
            var own: [Int64: Int32] = [:]  // lookup only
            let (change, value) = try parcel.badge
            if change != BadgeChange.none.column {
                let raises = try parcel.raisesBadges
                // With limits, it increments only badges of members that are free to be sent to.
                let free = Set(parcel.judged?.raised ?? [])
                for id in parcel.ids {
                    guard var badge = status[id] else { continue }
                    if raises || free.contains(id) {
                        let isSet = change != BadgeChange.increment.column
                        badge = isSet ? value : badge + (badge < .max ? 1 : 0)
                        status[id] = badge
                        raised[id] = badge
                    }
                    own[id] = badge
                }
            }
            badges.append(own)
        }
    }

    private static func rising(_ ids: [Int64]) -> [Int64] {
        var distinct: [Int64] = []
        for id in ids.sorted() where distinct.last != id { distinct.append(id) }
        return distinct
    }

    /// The number of queries is constant, however many parcels there are.
    var readings: [Query] {
        get throws(PostgresError) {
            if isSingle { return try parcels[0].readings }
            var queries: [Query] = []
            if !raised.isEmpty {
                let ids = raised.keys.sorted()
                queries.append(
                    Query(MemberSQL.writeBadges) {
                        $0.int64Array(ids)
                        $0.int32Array(ids.map { raised[$0] ?? 0 })
                    })
            }
            return queries
                + MemberReadings.queries(
                    of: Self.rising(parcels.flatMap(\.ids)), on: parcels[0].route, try asked)
        }
    }

    /// The readings that any of the parcels needs.
    private var asked: MemberReadings.Asked {
        get throws(PostgresError) {
            var asked = MemberReadings.Asked()
            for parcel in parcels {
                if try parcel.asksLocale { asked.locales = true }
                if try parcel.asksCompared { asked.compared = true }
                if try parcel.hasInline { asked.inline += parcel.ids }
            }
            asked.inline = Self.rising(asked.inline)
            return asked
        }
    }

    func charges(_ scope: LeaseScope, now: WallInstant?) throws(PostgresError) -> [Query] {
        var queries: [Query] = []
        for parcel in parcels { queries += try parcel.charges(scope, now: now) }
        return queries
    }

    /// Builds the leased parcels. The lease is committed by now, so an unreadable parcel must not hold back the others.
    ///
    /// - Parameter answers: the answers to `readings`.
    func leased(with answers: [ResultSet]) throws(PostgresError) -> LeasedGroup {
        let readings = try isSingle ? nil : MemberReadings(answers: answers[(raised.isEmpty ? 0 : 1)...], to: asked)
        var leased = LeasedGroup(isForRate: isForRate)
        for (place, parcel) in parcels.enumerated() {
            do throws(PostgresError) {
                if let readings {
                    leased.parcels.append(try self.leased(parcel, badges[place], readings))
                } else {
                    leased.parcels.append(try parcel.leased(with: answers))
                }
            } catch { leased.unreadable.append(StoreFault(error).about("parcel \(parcel.id.value)")) }
        }
        return leased
    }

    private func leased(
        _ parcel: ClaimedParcel, _ badges: [Int64: Int32], _ readings: MemberReadings
    ) throws(PostgresError) -> LeasedParcel {
        let hasBadges = try parcel.badgeChange != BadgeChange.none.column
        return try parcel.leased(readings, hasBadges ? MemberBadges(badges) : MemberBadges(nil))
    }
}
