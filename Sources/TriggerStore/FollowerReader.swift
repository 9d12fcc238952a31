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
    /// When the first of the pushes that the device holds falls due; nil: it holds none.
    let deviceDueAt: WallInstant?

    /// Reads a row of `FollowerSQL.read` behind its place.
    fileprivate init(_ candidate: FollowerCandidate, _ row: inout Row) throws(PostgresError) {
        self.candidate = candidate
        (sentSeq, terms) = (try row.int64(), try PushTerms(&row))
        let registration = try row.int64()
        device = try PushDevice(registration, &row)
        heldItem = try row.int64OrNil()
        holdsTriggered = try row.boolOrNil() ?? false
        deviceDueAt = try row.instantOrNil()
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
        ]
        let answers = try await transaction.run(queries + (quietHours.map { [$0] } ?? []))
        let windows = try answers[1].map { row throws(PostgresError) in
            (registration: try row.int64(), opensAt: try row.instant())
        }
        let count = candidates.count
        let followers = try answers[3].map { row throws(PostgresError) in
            let place = try row.place(upTo: count)
            return try LockedFollower(candidates[place], &row)
        }
        var found = Found(
            followers: followers,
            windows: Dictionary(windows.map { ($0.registration, $0.opensAt) }) { first, _ in first })
        if quietHours != nil { found.quietHours = try DeviceQuietHours(answers[4]) }
        return found
    }
}
