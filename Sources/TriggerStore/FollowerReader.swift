import Basis
import Model
import Postgres
import Store
import TriggerRules

/// A follower that misses an update of an item.
struct FollowerCandidate: Sendable {
    let item: StoredItem
    let subscription: Int64
    let registration: Int64
    /// Whether the subscription has other items.
    let followsSeveral: Bool
}

/// Another item of a follower, with an update that the follower misses.
struct OtherItem: Sendable {
    let id: Int64
    /// The number of its last update.
    let seq: Int64
    let updatedAt: WallInstant

    /// Reads a row of `FollowerSQL.others` behind its place.
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        (id, seq, updatedAt) = (try row.int64(), try row.int64(), try row.instant())
    }
}

/// A follower whose subscription and device are locked.
struct LockedFollower: Sendable {
    let candidate: FollowerCandidate
    let sentSeq: Int64
    let terms: PushTerms
    let device: PushDevice
    /// The item of the push that the subscription holds; nil: it holds none.
    let heldItem: Int64?
    /// A trigger made that push.
    let holdsTriggered: Bool
    /// When the first of the pushes that the device holds falls due; nil: it holds none.
    fileprivate(set) var deviceDueAt: WallInstant?
    /// The other items with updates that it misses.
    fileprivate(set) var others: [OtherItem] = []
    /// The item that was updated last, among those with updates that it misses. The push shows its texts.
    fileprivate(set) var newest: StoredItem

    /// Reads a row of `FollowerSQL.read` behind its place.
    fileprivate init(_ candidate: FollowerCandidate, _ row: inout Row) throws(PostgresError) {
        (self.candidate, newest) = (candidate, candidate.item)
        (sentSeq, terms) = (try row.int64(), try PushTerms(&row))
        let registration = try row.int64()
        device = try PushDevice(registration, &row)
        heldItem = try row.int64OrNil()
        holdsTriggered = try row.boolOrNil() ?? false
    }

    /// The other item that was updated last; nil: none was updated later than the candidate's.
    fileprivate var newestOther: Int64? {
        let other = others.max { ($0.updatedAt, $0.id) < ($1.updatedAt, $1.id) }
        guard let other, (other.updatedAt, other.id) > (candidate.item.updatedAt, candidate.item.id) else { return nil }
        return other.id
    }
}

/// Locks and reads candidates.
struct FollowerReader: Sendable {
    private let candidates: [FollowerCandidate]
    private let apps: [Int64: PushApp]  // lookup only
    private let start: WallInstant

    /// - Parameter apps: those of the candidates, by their ids.
    init(_ candidates: [FollowerCandidate], _ apps: [Int64: PushApp], start: WallInstant) {
        (self.candidates, self.apps, self.start) = (candidates, apps, start)
    }

    struct Found: Sendable {
        /// In the order of the candidates. Those that were removed are missing.
        var followers: [LockedFollower] = []
        /// When each registration's window opens.
        var windows: [Int64: WallInstant] = [:]  // lookup only
        var quietHours = DeviceQuietHours()
    }

    /// Locks the devices' windows, which it makes if they don't exist, and keeps the subscriptions. Then it reads what
    /// other transactions may have changed before.
    func read(in transaction: PostgresTransaction) async throws(PostgresError) -> Found {
        if candidates.isEmpty { return Found() }
        let registrations = candidates.map(\.registration).rising
        let ownApps = candidates.map(\.item.app).rising.compactMap { apps[$0] }
        let quietHours = DeviceQuietHours.query(of: registrations, in: ownApps, now: start)
        let queries = [
            Query(FollowerSQL.makeWindows) { $0.int64Array("registrations", registrations) },
            FollowerSQL.lockWindows.query(MemberKeys(registrations)),
            ItemPushSQL.keepSubscriptions.query(MemberKeys(candidates.map(\.subscription).rising)),
            Query(FollowerSQL.read) {
                $0.int64Array("items", candidates.map(\.item.id))
                $0.int64Array("subscriptions", candidates.map(\.subscription))
                $0.instant("now", start)
            },
            Query(FollowerSQL.firstHeld) { $0.int64Array("registrations", registrations) },
        ]
        let answers = try await transaction.run(queries + (quietHours.map { [$0] } ?? []))
        let windows = try answers[1].map { row throws(PostgresError) in
            (registration: try row.int64(), opensAt: try row.instant())
        }
        let held = try answers[4].map { row throws(PostgresError) in
            (registration: try row.int64(), dueAt: try row.instant())
        }
        let firstHeld = Dictionary(held.map { ($0.registration, $0.dueAt) }) { first, _ in first }
        let count = candidates.count
        let followers = try answers[3].map { row throws(PostgresError) in
            let place = try row.place(upTo: count)
            var follower = try LockedFollower(candidates[place], &row)
            follower.deviceDueAt = firstHeld[follower.device.registration]
            return follower
        }
        var found = Found(
            followers: try await withOthers(followers, in: transaction),
            windows: Dictionary(windows.map { ($0.registration, $0.opensAt) }) { first, _ in first })
        if quietHours != nil { found.quietHours = try DeviceQuietHours(answers[5]) }
        return found
    }

    /// Reads the other items of followers of several.
    private func withOthers(
        _ followers: [LockedFollower], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [LockedFollower] {
        let several = followers.indices.filter { followers[$0].candidate.followsSeveral }
        if several.isEmpty { return followers }
        let query = Query(FollowerSQL.others) {
            $0.int64Array("items", several.map { followers[$0].candidate.item.id })
            $0.int64Array("subscriptions", several.map { followers[$0].candidate.subscription })
        }
        let count = several.count
        let others = try await transaction.run(query).map { row throws(PostgresError) in
            (place: try row.place(upTo: count), item: try OtherItem(&row))
        }
        var filled = followers
        for (place, item) in others { filled[several[place]].others.append(item) }
        let newest = several.compactMap { filled[$0].newestOther }.rising
        if newest.isEmpty { return filled }
        let found = try await transaction.run(Query(ItemPushSQL.items) { $0.int64Array("items", newest) })
        let items = Dictionary(try found.map(StoredItem.init).map { ($0.id, $0) }) { first, _ in first }
        for place in several {
            if let id = filled[place].newestOther, let item = items[id] { filled[place].newest = item }
        }
        return filled
    }
}
