import Basis
import Encodings
import Expressions
import Model
import Postgres
import QueueRules
import Reactor
import WakeUpRules

/// One transaction of a fan-out, step by step: it claims watches, reads them with their subscriptions, and writes.
struct FanOutRun: Sendable {
    let order: FanOutOrder
    let now: WallInstant?
    private let contents: FanOutContents
    private let cache: RuleCache
    var turns: [Turn] = []
    /// Wake-ups, and notices of revocations.
    private(set) var messages: [MessageDraft] = []
    /// Subscriptions whose user may no longer read the path.
    private(set) var denied: [Int64] = []
    private(set) var progress: [Progress] = []

    init(_ order: FanOutOrder, now: WallInstant?, _ contents: FanOutContents, _ cache: RuleCache) {
        (self.order, self.now, self.contents, self.cache) = (order, now, contents, cache)
    }

    /// A claimed watch.
    struct Turn: Sendable {
        let watch: Int64
        let app: Int64
        let claim: WatchClaim
        var snapshot: WatchSnapshot?
        /// Its decisions. nil, as the snapshot: the watch was removed, or was left for another transaction.
        var rules: WatchTurn?
        var subscriptions: [SubscriptionStatus] = []
        /// The watch was not removed meanwhile.
        var exists = true
        /// Ends all its subscriptions, because the node has become too heavy.
        var revocation: Query?

        /// Nobody subscribes to it any more.
        var isEmpty: Bool { snapshot != nil && claim.after == 0 && subscriptions.isEmpty }

        init(_ row: inout Row) throws(PostgresError) {
            (watch, app) = (try row.int64(), try row.int64())
            claim = WatchClaim(
                tries: try row.int16(), roundSeq: try row.int64OrNil(), after: try row.int64(), skipped: try row.bool())
        }

        /// The subscriptions that may be told something.
        var behind: [SubscriptionStatus] { rules.map { rules in subscriptions.filter { rules.isBehind($0) } } ?? [] }
    }

    struct Progress: Sendable {
        let subscription: Int64
        /// The number that it had when it was read.
        let was: Int64
        let seq: Int64
        /// nil: nothing was left to tell.
        let message: UniversalID?

        func isSame(as other: Progress) -> Bool {
            was == other.was && seq == other.seq && message == other.message
        }
    }

    /// An open parcel, as far as it says whose push has not ended.
    private struct OpenParcel {
        let message: UniversalID
        let pending: [Int64]

        init(_ row: inout Row) throws(PostgresError) {
            message = try row.uuid()
            let count = Int(try row.int32())
            let members = try row.members(column: 2, of: FanOutSQL.openParcels)
            guard let bytes = try row.bytesOrNil() else {
                pending = members
                return
            }
            guard members.count == count, let settled = MemberBitmap(bytes: bytes, count: count) else {
                throw .unexpectedShape(statement: FanOutSQL.openParcels.name, column: 3)
            }
            pending = members.indices.filter { !settled[$0] }.map { members[$0] }
        }
    }

    var toldCount: Int { messages.reduce(0) { $0 + $1.members } }
    /// The app after which the next claim begins: that of a watch that was left for a transaction of its own comes first.
    var lastApp: Int64? {
        let left = turns.first { $0.exists && $0.snapshot == nil }
        return left.map { $0.app - 1 } ?? turns.last?.app
    }

    /// Claims due watches. Returns false if there are none.
    mutating func claim(after app: Int64, in transaction: PostgresTransaction) async throws(PostgresError) -> Bool {
        let claim = Query(FanOutSQL.claim) {
            $0.int64("last_app", app)
            $0.int64("limit", Int64(FanOutStore.watchesMax))
            $0.instant("now", now)
        }
        turns = try await transaction.run([Query(PlannerSQL.throughKeys), claim])[1].map(Turn.init)
        return !turns.isEmpty
    }

    /// Reads the watches, and the next subscriptions of each.
    mutating func read(in transaction: PostgresTransaction) async throws(PostgresError) {
        let snapshots = try await transaction.run(readWatches).map(WatchSnapshot.init)
        var found = try await subscriptions(in: transaction)
        var isMine = Array(repeating: true, count: turns.count)
        if turns.count > 1 {
            // A watch with many subscriptions has a transaction to itself, once it comes first.
            let counts = found.reduce(into: Array(repeating: 0, count: turns.count)) { $0[$1.turn] += 1 }
            isMine = counts.map { $0 < limit }
            if !isMine[0] {
                turns.removeSubrange(1...)
                isMine = [true]
                found = try await subscriptions(in: transaction)
            }
        }
        let existing = Set(snapshots.map(\.id.value))
        for place in turns.indices { turns[place].exists = existing.contains(turns[place].watch) }
        for snapshot in snapshots {
            guard let place = turns.firstIndex(where: { $0.watch == snapshot.id.value }), isMine[place] else {
                continue
            }
            turns[place].snapshot = snapshot
            if snapshot.isTooHeavy { turns[place].revocation = Query(revoking: snapshot) }
        }
        for subscription in found where turns[subscription.turn].snapshot != nil {
            turns[subscription.turn].subscriptions.append(subscription.status)
        }
        for place in turns.indices {
            guard let snapshot = turns[place].snapshot else { continue }
            turns[place].rules = WatchTurn(
                turns[place].claim, snapshot.status, reading: turns[place].subscriptions, limit: limit)
        }
        try await sort(in: transaction)
    }

    /// The most subscriptions of one watch.
    var limit: Int { turns.count == 1 ? order.subscriptionsMax : order.fewSubscriptions }

    private var readWatches: Query {
        Query(FanOutSQL.read) {
            $0.int64Array("watches", turns.map(\.watch))
            $0.int64("changes_max", WatchSnapshot.changesMax)
            $0.int64("children_max", WatchSnapshot.childrenMax)
        }
    }

    /// Decides for each subscription whether it is told something now, and makes the messages.
    private mutating func sort(in transaction: PostgresTransaction) async throws(PostgresError) {
        let asked = Set(turns.flatMap { turn in turn.behind.compactMap(\.message) })
        let unsettled = try await unsettled(of: asked.sorted { ($0.high, $0.low) < ($1.high, $1.low) }, in: transaction)
        let losses = try await losses(in: transaction)
        let rules = try await rules(in: transaction)
        for place in turns.indices {
            guard let snapshot = turns[place].snapshot else { continue }
            // Those whose pushes have not ended are asked too: a retry must not tell what its user may no longer read.
            let candidates = turns[place].behind
            let check = RuleCheck(
                app: snapshot.app.value, rules: rules[snapshot.app.value] ?? .none, now: now ?? Clocks.wallNow())
            var allowed = try await allowed(candidates, snapshot, check, in: transaction)
            var denied = candidates.without(allowed)
            if !denied.isEmpty, check.rules.namesAuth(at: snapshot.address.path.keys) {
                // Their users may have subscribed anew since the claims were read. What is locked stays until the end.
                let lock = Query(FanOutSQL.lock) { $0.int64Array("subscriptions", denied.map(\.id)) }
                let left = Set(try await transaction.run(lock).map(Int64.init))
                denied = denied.filter { left.contains($0.id) }
                allowed += try await self.allowed(denied, snapshot, check, in: transaction)
                denied = denied.without(allowed)
            }
            let told = turns[place].rules?.toTell(allowed, isUnsettled: { unsettled.include($0) }) ?? []
            for (group, members) in WakeUpGroup.groups(of: told, isLost: { losses.include($0) }) {
                tell(members, group, snapshot, at: place)
            }
            revoke(denied, snapshot, at: place)
        }
    }

    /// The read rules of the apps of this turn.
    private func rules(in transaction: PostgresTransaction) async throws(PostgresError) -> [Int64: ReadRules] {
        var revisions: [Int64: Int64] = [:]  // lookup only
        for snapshot in turns.compactMap(\.snapshot) { revisions[snapshot.app.value] = snapshot.rulesRevision }
        return try await cache.rules(revisions, in: transaction)
    }

    /// The subscriptions whose users may read the path now.
    private func allowed(
        _ candidates: [SubscriptionStatus], _ snapshot: WatchSnapshot, _ check: RuleCheck,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [SubscriptionStatus] {
        let mayRead = try await check.mayRead(
            snapshot.address.path, subscriptions: candidates.map(\.id), in: transaction)
        return zip(candidates, mayRead).filter(\.1).map(\.0)
    }

    /// The members whose last push was discarded, of messages about children: they miss what it told. So may all members
    /// of a message whose history was removed.
    private func losses(in transaction: PostgresTransaction) async throws(PostgresError) -> PushSet {
        let asked = Set(turns.flatMap { turn in turn.behind.filter { $0.mode == .childEvent }.compactMap(\.message) })
        var lost = PushSet()
        if asked.isEmpty { return lost }
        let messages = asked.sorted { ($0.high, $0.low) < ($1.high, $1.low) }
        let answers = try await transaction.run([
            Query(FanOutSQL.discarded) { $0.uuidArray("messages", messages) },
            Query(FanOutSQL.forgotten) { $0.uuidArray("messages", messages) },
        ])
        for message in try answers[1].map({ row throws(PostgresError) in try row.uuid() }) { lost.addAll(of: message) }
        let rows = try answers[0].map { row throws(PostgresError) in
            (message: try row.uuid(), members: try row.members(column: 1, of: FanOutSQL.discarded))
        }
        for row in rows { lost.add(row.message, row.members) }
        return lost
    }

    /// Ends subscriptions whose users may not read the path any more, with a notice.
    private mutating func revoke(_ subscriptions: [SubscriptionStatus], _ snapshot: WatchSnapshot, at place: Int) {
        if subscriptions.isEmpty { return }
        turns[place].rules?.noteRevoked()
        denied += subscriptions.map(\.id)
        let byProvider = Dictionary(grouping: subscriptions, by: \.provider)
        for (provider, members) in byProvider.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let group = RevocationGroup(
                address: snapshot.address, settings: snapshot.settings, provider: provider, reason: .permissionDenied)
            guard let content = contents.revocation(group) else { continue }
            messages.append(
                MessageDraft(
                    content, .revocation, app: snapshot.app, audience: .revoked(snapshot.id),
                    members: members.map(\.member), order))
        }
    }

    /// The members of messages whose pushes have not ended.
    private func unsettled(
        of messages: [UniversalID], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> PushSet {
        var open = PushSet()
        if messages.isEmpty { return open }
        let rows = try await transaction.run(Query(FanOutSQL.openParcels) { $0.uuidArray("messages", messages) })
        for parcel in try rows.map(OpenParcel.init) { open.add(parcel.message, parcel.pending) }
        return open
    }

    /// Cuts one message for subscriptions that are told the same. All of them are noted as told.
    private mutating func tell(
        _ members: [SubscriptionStatus], _ group: WakeUpGroup, _ snapshot: WatchSnapshot, at place: Int
    ) {
        let content = contents.change(FanOutGroup(snapshot, group))
        if let content {
            messages.append(
                MessageDraft(
                    content, .wakeUp, app: snapshot.app, audience: .subscribers(snapshot.id),
                    members: members.map(\.member), order))
            turns[place].rules?.noteWoken()
        }
        progress += members.map {
            Progress(
                subscription: $0.id, was: $0.sentSeq, seq: snapshot.seq, message: content?.id.value)
        }
    }
}

/// Pushes of messages: those that have not ended, or those that were discarded.
private struct PushSet: Sendable {
    private var members: [UniversalID: Set<Int64>] = [:]  // lookup only
    private var whole: Set<UniversalID> = []  // lookup only

    mutating func addAll(of message: UniversalID) { whole.insert(message) }

    mutating func add(_ message: UniversalID, _ registrations: [Int64]) {
        members[message, default: []].formUnion(registrations)
    }

    /// Whether the subscription's last push is one of them.
    func include(_ subscription: SubscriptionStatus) -> Bool {
        guard let message = subscription.message else { return false }
        return whole.contains(message) || members[message]?.contains(subscription.registration) == true
    }
}

extension [SubscriptionStatus] {
    fileprivate func without(_ others: [SubscriptionStatus]) -> [SubscriptionStatus] {
        let others = Set(others.map(\.id))
        return filter { !others.contains($0.id) }
    }
}

extension SubscriptionStatus {
    fileprivate var member: Member { Member(id: registration, route: route) }
}
