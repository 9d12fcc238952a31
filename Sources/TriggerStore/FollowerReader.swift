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
    /// The device holds a push of any subscription.
    let deviceHolds: Bool

    /// Reads a row of `FollowerSQL.read` behind its place.
    fileprivate init(_ candidate: FollowerCandidate, _ row: inout Row) throws(PostgresError) {
        self.candidate = candidate
        (sentSeq, terms) = (try row.int64(), try PushTerms(&row))
        let registration = try row.int64()
        device = try PushDevice(registration, &row)
        heldItem = try row.int64OrNil()
        holdsTriggered = try row.boolOrNil() ?? false
        deviceHolds = try row.bool()
    }
}

/// Locks and reads candidates.
struct FollowerReader: Sendable {
    private let candidates: [FollowerCandidate]
    private let start: WallInstant

    init(_ candidates: [FollowerCandidate], start: WallInstant) { (self.candidates, self.start) = (candidates, start) }

    struct Found: Sendable {
        /// In the order of the candidates. Those that were removed are missing.
        var followers: [LockedFollower] = []
        /// When each registration's window opens.
        var windows: [Int64: WallInstant] = [:]  // lookup only
    }

    /// Locks the devices' windows, which it makes if they don't exist, and keeps the subscriptions. Then it reads what
    /// other transactions may have changed before.
    func read(in transaction: PostgresTransaction) async throws(PostgresError) -> Found {
        if candidates.isEmpty { return Found() }
        let registrations = candidates.map(\.registration).rising
        let answers = try await transaction.run([
            Query(FollowerSQL.makeWindows) { $0.int64Array("registrations", registrations) },
            FollowerSQL.lockWindows.query(MemberKeys(registrations)),
            ItemPushSQL.keepSubscriptions.query(MemberKeys(candidates.map(\.subscription).rising)),
            Query(FollowerSQL.read) {
                $0.int64Array("items", candidates.map(\.item.id))
                $0.int64Array("subscriptions", candidates.map(\.subscription))
                $0.instant("now", start)
            },
        ])
        let windows = try answers[1].map { row throws(PostgresError) in
            (registration: try row.int64(), opensAt: try row.instant())
        }
        let count = candidates.count
        let followers = try answers[3].map { row throws(PostgresError) in
            let place = try row.place(upTo: count)
            return try LockedFollower(candidates[place], &row)
        }
        return Found(
            followers: followers,
            windows: Dictionary(windows.map { ($0.registration, $0.opensAt) }) { first, _ in first })
    }
}
