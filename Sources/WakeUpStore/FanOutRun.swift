import Basis
import Encodings
import Expressions
import Model
import Postgres
import Reactor
import Store
import WakeUpRules

/// One transaction of a fan-out, step by step: it claims watches, reads them with their subscriptions, and writes.
struct FanOutRun: Sendable {
    let order: FanOutOrder
    let now: WallInstant?
    private let contents: FanOutContents
    private let reader: RuleReader
    var watches: [ClaimedWatch] = []
    /// Wake-ups, and notices of revocations.
    private(set) var messages: [MessageDraft] = []
    /// Subscriptions whose user may no longer read the path.
    private(set) var denied: [Int64] = []
    private(set) var progress: [SubscriptionProgress] = []

    init(_ order: FanOutOrder, now: WallInstant?, _ contents: FanOutContents, _ reader: RuleReader) {
        (self.order, self.now, self.contents, self.reader) = (order, now, contents, reader)
    }

    /// A claimed watch.
    struct ClaimedWatch: Sendable {
        let id: Int64
        let app: Int64
        let claim: WatchClaim
        var snapshot: WatchSnapshot?
        /// Its decisions. nil, as the snapshot: the watch was removed, or waits for another transaction.
        var slice: WatchSlice?
        /// The watch was not removed meanwhile.
        var exists = true
        /// Ends all its subscriptions, because the node has become too heavy.
        var revocation: Query?

        init(_ row: inout Row) throws(PostgresError) {
            (id, app) = (try row.int64(), try row.int64())
            claim = WatchClaim(
                tries: try row.int16(), roundSeq: try row.int64OrNil(), after: try row.int64(),
                skippedEarlier: try row.bool())
        }

        var candidates: [SubscriptionStatus] { slice?.candidates ?? [] }
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

    var notifiedCount: Int { messages.reduce(0) { $0 + $1.memberCount } }
    /// The app after which the next claim begins. The app of a watch that waits for a transaction of its own comes
    /// first.
    var lastApp: Int64? {
        let waiting = watches.first { $0.exists && $0.snapshot == nil }
        return waiting.map { $0.app - 1 } ?? watches.last?.app
    }

    /// Claims due watches. Returns false if there are none.
    mutating func claim(after app: Int64, in transaction: PostgresTransaction) async throws(PostgresError) -> Bool {
        let claim = Query(FanOutSQL.claim) {
            $0.int64("last_app", app)
            $0.int64("limit", Int64(FanOutStore.watchesMax))
            $0.instant("now", now)
        }
        watches = try await transaction.runThroughKeys(claim).map(ClaimedWatch.init)
        return !watches.isEmpty
    }

    /// Reads the watches, and the next subscriptions of each.
    mutating func read(in transaction: PostgresTransaction) async throws(PostgresError) {
        let snapshots = try await transaction.run(readWatches).map(WatchSnapshot.init)
        var found = try await subscriptions(in: transaction)
        let counts = found.reduce(into: Array(repeating: 0, count: watches.count)) { $0[$1.index] += 1 }
        let division = FanOutDivision(counts: counts, sharedMax: limit)
        if watches.count > 1, division == .firstAlone {
            watches.removeSubrange(1...)
            found = try await subscriptions(in: transaction)
        }
        let existing = Set(snapshots.map(\.id.value))
        for index in watches.indices { watches[index].exists = existing.contains(watches[index].id) }
        var read: [[SubscriptionStatus]] = Array(repeating: [], count: watches.count)
        for subscription in found { read[subscription.index].append(subscription.status) }
        for snapshot in snapshots {
            guard let index = watches.firstIndex(where: { $0.id == snapshot.id.value }), division.takes(index) else {
                continue
            }
            let claim = watches[index].claim
            watches[index].snapshot = snapshot
            watches[index].slice = WatchSlice(claim, snapshot.status, reading: read[index], limit: limit)
            if snapshot.isTooHeavy { watches[index].revocation = Query(revoking: snapshot) }
        }
        try await decide(in: transaction)
    }

    /// The most subscriptions of one watch.
    var limit: Int { watches.count == 1 ? order.subscriptionsMax : order.fewSubscriptions }

    private var readWatches: Query {
        Query(FanOutSQL.read) {
            $0.int64Array("watches", watches.map(\.id))
            $0.int64("changes_max", Int64(ChildLog.changesMax))
            $0.int64("children_max", Int64(ChildLog.childrenMax))
        }
    }

    /// Reads what the decisions depend on, and makes the messages that they ask for.
    private mutating func decide(in transaction: PostgresTransaction) async throws(PostgresError) {
        let candidates = watches.flatMap(\.candidates)
        let unsettled = try await unsettled(of: candidates.lastMessages, in: transaction)
        let lost = try await lost(of: candidates.lastMessagesAboutChildren, in: transaction)
        let rules = try await rules(in: transaction)
        for index in watches.indices {
            guard let snapshot = watches[index].snapshot else { continue }
            let check = RuleCheck(
                app: snapshot.app.value, rules: rules[snapshot.app.value], now: now ?? Clocks.wallNow())
            let access = try await access(watches[index].candidates, snapshot.address.path, check, in: transaction)
            guard let decision = watches[index].slice?.decide(access, unsettled: unsettled, lost: lost) else {
                continue
            }
            for (group, members) in decision.wakeUps { wake(members, group, snapshot, at: index) }
            denied += decision.revoked.map(\.id)
            for (provider, members) in decision.notices { announceEnd(of: members, provider, snapshot) }
        }
    }

    /// The read rules of the apps whose watches are read.
    private func rules(in transaction: PostgresTransaction) async throws(PostgresError) -> RuleReader.AppRules {
        var revisions: [Int64: Int64] = [:]  // lookup only
        for snapshot in watches.compactMap(\.snapshot) { revisions[snapshot.app.value] = snapshot.rulesRevision }
        return try await reader.rules(revisions, in: transaction)
    }

    /// Asks the read rules about candidates. Locked rows stay so until the transaction ends.
    private func access(
        _ candidates: [SubscriptionStatus], _ path: NodePath, _ check: RuleCheck, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> CandidateAccess {
        let first = try await check.mayRead(path, subscriptions: candidates.map(\.id), in: transaction)
        var access = CandidateAccess(candidates, mayRead: first)
        guard access.needsSecondCheck(rulesNameUsers: check.rules.namesAuth(at: path.keys)) else { return access }
        let denied = access.denied.map(\.id)
        let lock = Query(FanOutSQL.lock) { $0.int64Array("subscriptions", denied) }
        access.noteLocked(try await transaction.run(lock).map(Int64.init))
        let second = try await check.mayRead(path, subscriptions: access.denied.map(\.id), in: transaction)
        access.noteSecondCheck(second)
        return access
    }

    /// The members whose push of these messages was discarded: they miss its changes. So may all members of a message
    /// whose history was removed.
    private func lost(
        of messages: [UniversalID], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> PushSet {
        var lost = PushSet()
        if messages.isEmpty { return lost }
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

    /// Makes the notice for devices of one provider whose subscriptions end.
    private mutating func announceEnd(
        of members: [SubscriptionStatus], _ provider: Provider, _ snapshot: WatchSnapshot
    ) {
        let group = RevocationGroup(
            address: snapshot.address, settings: snapshot.settings, provider: provider, reason: .permissionDenied)
        guard let content = contents.revocation(group) else { return }
        messages.append(
            MessageDraft(
                content, .revocation, app: snapshot.app, audience: .revoked(snapshot.id),
                members: members.map(\.member), order))
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

    /// Cuts one message for subscriptions that get the same one, and notes their progress.
    private mutating func wake(
        _ members: [SubscriptionStatus], _ group: WakeUpGroup, _ snapshot: WatchSnapshot, at index: Int
    ) {
        let content = contents.change(FanOutGroup(snapshot, group))
        if let content {
            messages.append(
                MessageDraft(
                    content, .wakeUp, app: snapshot.app, audience: .subscribers(snapshot.id),
                    members: members.map(\.member), order))
        }
        progress += watches[index].slice?.progress(of: members, message: content?.id.value) ?? []
    }
}

extension SubscriptionStatus {
    fileprivate var member: Member { Member(id: registration, route: route) }
}
