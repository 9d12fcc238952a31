import DeliveryRules
import Encodings
import Postgres
import PushModel

/// What the limits of its app leave of a claimed parcel.
struct LimitedMembers: Sendable {
    /// One a member that is owed something.
    fileprivate(set) var holds: [MemberHold]
    /// Ids of those whose badges this lease raises.
    fileprivate(set) var raised: [Int64] = []
    /// Over all members of the parcel; nil: the mark speaks of all.
    fileprivate(set) var uncounted: MemberBitmap?

    var heldCount: Int { holds.count { $0 != .none } }
}

/// A claimed parcel whose members have to be looked at one by one: its app set limits, or had when it was leased before.
///
/// Whoever is held back was never sent to, unless an earlier lease was free to: so its badge and its user's cap are left
/// alone until a lease is. The mark of the parcel speaks of the others, and a bitmap beside it says of whom it does not.
/// All of it is one transaction with the lease: what is decided stays so, whatever becomes of the process.
struct LimitedParcel: Sendable {
    let parcel: ParcelID
    let message: MessageID
    let app: AppID
    let leasedAt: WallInstant
    let limits: AppLimits
    /// Nobody was free to send before.
    let isFirst: Bool
    /// Whom the mark did not speak of.
    let uncounted: MemberBitmap?
    let memberCount: Int
    let indices: [Int32]
    /// Rising.
    let ids: [Int64]

    /// Judges the members, counts those that are free, and writes down who is not.
    func judge(_ badge: (change: Int16, value: Int32), in transaction: PostgresTransaction) async throws(PostgresError)
        -> LimitedMembers
    {
        var members = LimitedMembers(holds: [MemberHold](repeating: .none, count: ids.count))
        if !limits.isEmpty {
            let counting = limits.contains(.dailyCap) ? [Query(LimitSQL.counting) { $0.int64(app.value) }] : []
            let answers = try await transaction.run(counting + [ofApp, ofMembers])
            let (own, rows) = (answers[counting.count], answers[counting.count + 1])
            let owners = try holdQuiet(&members, app: own, rows)
            if limits.contains(.dailyCap), let cap = try own.int32OrNil(0, 1) {
                try await holdCapped(&members, owners, cap: cap, day: try own.int32(0, 2), in: transaction)
            }
        }
        let writes = try finish(&members, badge)
        if !writes.isEmpty { _ = try await transaction.run(writes) }
        return members
    }

    private func isFresh(_ place: Int) -> Bool { isFirst || uncounted?[Int(indices[place])] ?? false }

    private var ofApp: Query {
        Query(LimitSQL.ofApp) {
            $0.int64(app.value)
            $0.instant(leasedAt)
        }
    }

    private var ofMembers: Query {
        var parameters = Parameters()
        parameters.int64(app.value)
        parameters.instant(leasedAt)
        return LimitSQL.ofMembers.query(MemberKeys(ids), parameters)
    }

    /// - Returns: whose each member is, by place; nil: a token that is no registration, of which nothing is kept, or one
    ///   that nobody has any more.
    private func holdQuiet(
        _ members: inout LimitedMembers, app own: ResultSet, _ rows: ResultSet
    ) throws(PostgresError) -> [String?] {
        let isQuiet = limits.contains(.quietHours)
        let ownUntil = try own.instantOrNil(0, 0)
        var owners = [String?](repeating: nil, count: ids.count)
        var next = 0
        for place in ids.indices {
            var until = ownUntil
            if next < rows.rowCount, try rows.int64(next, 0) == ids[place] {
                until = try rows.instantOrNil(next, 1)
                owners[place] = rows.isNull(next, 2) ? nil : try rows.text(next, 2)
                next += 1
            }
            guard isQuiet, let until else { continue }
            members.holds[place] = .quietHours(until: until, isCounted: !isFresh(place))
        }
        return owners
    }

    /// Of those that are free otherwise. Who was counted before is not asked again: the day may be another one by now.
    private func holdCapped(
        _ members: inout LimitedMembers, _ owners: [String?], cap: Int32, day: Int32,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        var asked: [(place: Int, owner: String)] = []
        for place in ids.indices where members.holds[place] == .none && isFresh(place) {
            if let owner = owners[place] { asked.append((place, owner)) }
        }
        guard !asked.isEmpty else { return }
        // By bytes: two texts of one look may be two users.
        var people: [String] = []
        var known: Set<[UInt8]> = []
        for (_, owner) in asked where known.insert(Array(owner.utf8)).inserted { people.append(owner) }
        let found = try await transaction.run([
            Query(LimitSQL.count) {
                $0.int32(day)
                $0.int64(app.value)
                $0.uuid(message.value)
                $0.int32(cap)
                $0.textArray(people)
            },
            Query(LimitSQL.counted) {
                $0.int32(day)
                $0.int64(app.value)
                $0.uuid(message.value)
                $0.textArray(people)
            },
        ])[1]
        var free: Set<[UInt8]> = []
        for row in 0..<found.rowCount { free.insert(Array(try found.text(row, 0).utf8)) }
        for (place, owner) in asked where !free.contains(Array(owner.utf8)) { members.holds[place] = .dailyCap }
    }

    private func finish(
        _ members: inout LimitedMembers, _ badge: (change: Int16, value: Int32)
    ) throws(PostgresError) -> [Query] {
        var left = MemberBitmap(count: memberCount)
        var isAnyLeft = false
        for place in ids.indices where isFresh(place) {
            if members.holds[place] == .none {
                members.raised.append(ids[place])
            } else {
                left[Int(indices[place])] = true
                isAnyLeft = true
            }
        }
        members.uncounted = isAnyLeft ? left : nil
        var writes: [Query] = []
        if badge.change != BadgeChange.none.column, !members.raised.isEmpty {
            var parameters = Parameters()
            parameters.int16(badge.change)
            parameters.int32(badge.value)
            writes.append(MemberSQL.raiseBadges.query(MemberKeys(members.raised), parameters))
        }
        if members.uncounted != uncounted {
            let bytes = members.uncounted?.bytes
            writes.append(
                Query(LimitSQL.mark) {
                    $0.int64(parcel.value)
                    $0.bytes(bytes)
                })
        }
        return writes
    }
}
