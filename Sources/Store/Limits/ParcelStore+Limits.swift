import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// The members of a claimed parcel after its app's limits were applied.
struct LimitedMembers: Sendable {
    /// One for each member that is still owed something.
    fileprivate(set) var deferrals: [MemberDeferral]
    /// Ids of the members whose badges this lease increments.
    fileprivate(set) var raised: [Int64] = []
    /// Ids of members whose registration is retired. This lease sends them nothing and counts them for no user, because
    /// they may be registered again before the next one.
    fileprivate(set) var gone: Set<Int64> = []
    /// The members that the badge mark leaves out, over all members of the parcel; nil: it covers all.
    fileprivate(set) var uncounted: MemberBitmap?

    var deferredCount: Int { deferrals.count { $0 != .none } }
}

// Parcels whose members must be checked one by one: their app sets limits or did so at an earlier lease, or their
// message's audience excludes some of them.
//
// A deferred member was never sent to, unless an earlier lease was free to send. Its badge and its user's cap stay as
// they are until a lease is free to send to it. The badge mark covers the other members, and a bitmap beside it holds
// those that it leaves out. All of it is one transaction with the lease, so the decisions outlive the process.
extension ClaimedParcel {
    /// Whether it is one of these. An expired parcel is not: nothing will be sent.
    private var isLimited: Bool { !row.isExpired && (row.limits != nil || uncounted != nil || !excluded.isEmpty) }
    /// Whether its app sets limits that apply to it.
    var hasLimits: Bool { !row.isExpired && !limits.isEmpty }
    /// Whether a lease counts its members' users.
    var countsUsers: Bool { !row.isExpired && limits.contains(.dailyCap) }

    private var limits: AppLimits { row.limits ?? [] }

    /// Applies the limits to the members of limited parcels of one app, in this order, as one lease after the other
    /// would. It counts those that are free to be sent to. `decide` and `writes` must follow in the same transaction.
    static func judge(
        _ parcels: [ClaimedParcel], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [LimitedMembers] {
        var members = parcels.map { LimitedMembers(deferrals: [MemberDeferral](repeating: .none, count: $0.ids.count)) }
        guard let first = parcels.first else { return members }
        let capped = parcels.indices.filter { parcels[$0].countsUsers }
        let counting = capped.isEmpty ? [] : [Query(LimitSQL.counting) { $0.int64("app", first.row.app.value) }]
        let answers = try await transaction.run(counting + first.limits(of: parcels.flatMap(\.ids).rising))
        let users = try LimitedUsers(app: answers[counting.count], answers[counting.count + 1])
        for place in parcels.indices {
            parcels[place].deferForQuietHours(&members[place], users)
            members[place].gone = Set(parcels[place].ids.filter(users.isRetired))
        }
        if let cap = users.cap, !capped.isEmpty {
            try await hold(&members, of: parcels, capped, users, cap: cap, in: transaction)
        }
        return members
    }

    /// Decides which badges this lease increments, once its excluded members are known.
    mutating func decide() {
        guard isLimited else { return }
        var members = judged ?? LimitedMembers(deferrals: [MemberDeferral](repeating: .none, count: ids.count))
        finish(&members)
        judged = members
    }

    /// Returns the queries that store which members of judged parcels are deferred. They run before the members' badges
    /// are read.
    ///
    /// - Parameter raisesBadges: changes the badges of a single parcel's free members too.
    static func writes(_ parcels: [ClaimedParcel], raisesBadges: Bool) -> [Query] {
        var writes: [Query] = []
        if raisesBadges, let single = parcels.first, single.row.hasBadges, let raised = single.judged?.raised,
            !raised.isEmpty
        {
            writes.append(MemberSQL.raiseBadges(of: raised, single.row))
        }
        let changed = parcels.filter { $0.judged?.uncounted != $0.uncounted }
        guard !changed.isEmpty else { return writes }
        let mark = Query(LimitSQL.mark) {
            $0.int64Array("parcels", changed.map(\.id.value))
            $0.bytesArray("uncounted", changed.map { $0.judged?.uncounted?.bytes })
        }
        return writes + [mark]
    }

    private func isFresh(_ place: Int) -> Bool { row.isUnmarked || uncounted?[Int(indices[place])] ?? false }

    /// The queries for the limits of the app, and for those of its members.
    private func limits(of ids: [Int64]) -> [Query] {
        var parameters = Parameters()
        parameters.int64("app", row.app.value)
        parameters.instant("now", row.leasedAt)
        return [Query(LimitSQL.ofApp, parameters), LimitSQL.ofMembers.query(MemberKeys(ids), parameters)]
    }

    private func deferForQuietHours(_ members: inout LimitedMembers, _ users: LimitedUsers) {
        guard limits.contains(.quietHours) else { return }
        for (place, id) in ids.enumerated() {
            guard let until = users.quietUntil(id) else { continue }
            members.deferrals[place] = .quietHours(until: until, isCounted: !isFresh(place))
        }
    }

    /// Applies the daily cap to the members that are free otherwise. A member that was counted before is not asked
    /// again: the day may be another one by now.
    ///
    /// Each parcel's users are counted before the next one's. A user who has reached the cap by then is deferred.
    private static func hold(
        _ members: inout [LimitedMembers], of parcels: [ClaimedParcel], _ capped: [Int], _ users: LimitedUsers,
        cap: Int32, in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        let asked = capped.map { (parcel: $0, members: parcels[$0].asked(members[$0], users)) }
            .filter { !$0.members.isEmpty }
        guard let first = asked.first else { return }
        let count = DailyCapCounter(day: users.day, app: parcels[first.parcel].row.app, cap: cap)
        let free = try await count.free(
            asked.map { (parcels[$0.parcel].row.message.value, $0.members.map(\.owner)) }, in: transaction)
        for (turn, (parcel, own)) in asked.enumerated() {
            for (place, owner) in own where !free[turn].contains(Array(owner.utf8)) {
                members[parcel].deferrals[place] = .dailyCap
            }
        }
    }

    private func asked(_ members: LimitedMembers, _ users: LimitedUsers) -> [(place: Int, owner: String)] {
        ids.enumerated().compactMap { place, id in
            guard members.deferrals[place] == .none, isFresh(place), excluded[id] == nil else { return nil }
            return users.owner(id).map { (place, $0) }
        }
    }

    private func finish(_ members: inout LimitedMembers) {
        var left = MemberBitmap(count: memberCount)
        for (place, id) in ids.enumerated() where isFresh(place) {
            if members.deferrals[place] == .none, !members.gone.contains(id), excluded[id] == nil {
                members.raised.append(id)
            } else {
                left[Int(indices[place])] = true
            }
        }
        members.uncounted = left.setCount > 0 ? left : nil
    }
}

/// The quiet hours, owners and cap of some of an app's members at one moment.
private struct LimitedUsers {
    let cap: Int32?
    /// The app's day, in days since 1970.
    let day: Int32
    /// The end of the quiet hours by the app's own clock, for members without a registration.
    private let ownUntil: WallInstant?
    private var known: [Int64: (until: WallInstant?, owner: String?)] = [:]  // lookup only

    /// - Parameters: answers to `LimitSQL.ofApp` and `LimitSQL.ofMembers`.
    init(app own: ResultSet, _ rows: ResultSet) throws(PostgresError) {
        (ownUntil, cap, day) = try own.one { row throws(PostgresError) in
            (try row.instantOrNil(), try row.int32OrNil(), try row.int32())
        }
        known.reserveCapacity(rows.rowCount)
        for place in 0..<rows.rowCount {
            var row = rows.row(place)
            let id = try row.int64()
            known[id] = (try row.instantOrNil(), try row.textOrNil())
        }
    }

    /// nil: its clock shows no quiet hour.
    func quietUntil(_ id: Int64) -> WallInstant? { known[id].map { $0.until } ?? ownUntil }

    /// nil: an inline target, which is not counted, or a retired registration.
    func owner(_ id: Int64) -> String? { known[id]?.owner }

    /// Whether the registration is retired. It may be registered again.
    func isRetired(_ id: Int64) -> Bool { known[id].map { $0.owner == nil } ?? false }
}
