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
    private(set) var messages: [GatewayMessage] = []
    private(set) var notices: [GatewayMessage] = []
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
        let tries: Int16
        /// The watch's number when the round began; nil: it begins now.
        let roundSeq: Int64?
        /// The last registration that this round has passed.
        let after: Int64
        var snapshot: WatchSnapshot?
        var subscriptions: [Subscription] = []
        /// Pushes of some of its subscriptions have not ended.
        var hasUnsettled = false
        var wakesSome = false
        /// The watch was not removed meanwhile.
        var exists = true
        /// Ends all its subscriptions, because the node has become too heavy.
        var revocation: Query?

        /// Nobody subscribes to it any more.
        var isEmpty: Bool { snapshot != nil && after == 0 && subscriptions.isEmpty }

        init(_ row: inout Row) throws(PostgresError) {
            (watch, app, tries) = (try row.int64(), try row.int64(), try row.int16())
            (roundSeq, after) = (try row.int64OrNil(), try row.int64())
        }

        /// Whether a subscription is to be told of something. One whose token is retired sleeps until that is taken back.
        func isBehind(_ subscription: Subscription) -> Bool {
            guard let snapshot, snapshot.settings.isEnabled, !snapshot.isTooHeavy else { return false }
            return subscription.sentSeq < snapshot.seq && !subscription.isExpired && !subscription.isRetired
        }
    }

    struct Subscription: Sendable {
        let turn: Int
        let id: Int64
        let registration: Int64
        let mode: WakeUpMode
        let isExpired: Bool
        let sentSeq: Int64
        let message: UniversalID?
        let route: Int64
        let provider: Provider
        let isRetired: Bool

        var member: Member { Member(id: registration, route: route) }

        init(_ row: inout Row, turns: Int) throws(PostgresError) {
            turn = try row.place(upTo: turns)
            (id, registration) = (try row.int64(), try row.int64())
            (mode, isExpired, sentSeq) = (try row.stored(), try row.bool(), try row.int64())
            message = try row.optional { row throws(PostgresError) in try row.uuid() }
            (route, provider, isRetired) = (try row.int64(), try row.stored(), try row.bool())
        }
    }

    /// A group of subscriptions that are told the same.
    private struct GroupKey: Hashable, Comparable {
        let mode: WakeUpMode
        let provider: Provider
        /// Only for child events: the others are told the data as it is now.
        var sentSeq: Int64

        init(_ subscription: Subscription) {
            (mode, provider) = (subscription.mode, subscription.provider)
            sentSeq = mode == .childEvent ? subscription.sentSeq : 0
        }

        static func < (left: GroupKey, right: GroupKey) -> Bool {
            (left.mode.rawValue, left.provider.rawValue, right.sentSeq)
                < (right.mode.rawValue, right.provider.rawValue, left.sentSeq)
        }
    }

    struct Progress: Sendable {
        let subscription: Int64
        /// The number that it had when it was read.
        let was: Int64
        let seq: Int64
        /// nil: nothing was left to tell.
        let message: UniversalID?
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

    /// The most groups of subscriptions that are told of different children, those that were told last first. The others
    /// only hear that there is too much to tell.
    private static let childGroupsMax = 8

    var messageCount: Int { messages.count + notices.count }
    var toldCount: Int { (messages + notices).reduce(0) { $0 + $1.cut.members } }
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
            turns[subscription.turn].subscriptions.append(subscription)
        }
        try await sort(in: transaction)
    }

    /// The most subscriptions of one watch.
    var limit: Int { turns.count == 1 ? order.subscriptionsMax : FanOutStore.fewSubscriptions }

    private var readWatches: Query {
        Query(FanOutSQL.read) {
            $0.int64Array("watches", turns.map(\.watch))
            $0.int64("changes_max", WatchSnapshot.changesMax)
            $0.int64("children_max", WatchSnapshot.childrenMax + 1)
        }
    }

    private func subscriptions(in transaction: PostgresTransaction) async throws(PostgresError) -> [Subscription] {
        let query = Query(FanOutSQL.subscriptions) {
            $0.int64Array("watches", turns.map(\.watch))
            $0.int64Array("after", turns.map(\.after))
            $0.int64("limit", Int64(limit))
            $0.instant("now", now)
        }
        let count = turns.count
        return try await transaction.run(query).map { row throws(PostgresError) in try Subscription(&row, turns: count)
        }
    }

    /// Decides for each subscription whether it is told something now, and makes the messages.
    private mutating func sort(in transaction: PostgresTransaction) async throws(PostgresError) {
        let asked = Set(
            turns.flatMap { turn in turn.subscriptions.compactMap { turn.isBehind($0) ? $0.message : nil } })
        let unsettled = try await unsettled(of: asked.sorted { ($0.high, $0.low) < ($1.high, $1.low) }, in: transaction)
        let losses = try await losses(in: transaction)
        let rules = try await rules(in: transaction)
        for place in turns.indices {
            guard let snapshot = turns[place].snapshot else { continue }
            var candidates: [Subscription] = []
            for subscription in turns[place].subscriptions where turns[place].isBehind(subscription) {
                if let message = subscription.message, unsettled[message]?.contains(subscription.registration) == true {
                    turns[place].hasUnsettled = true
                } else {
                    candidates.append(subscription)
                }
            }
            let check = RuleCheck(
                app: snapshot.app.value, rules: rules[snapshot.app.value] ?? .none, now: now ?? Clocks.wallNow())
            let allowed = try await allowed(candidates, snapshot, check, in: transaction)
            tell(allowed, snapshot, losses, at: place)
            let others = Set(candidates.map(\.id)).subtracting(allowed.map(\.id))
            revoke(candidates.filter { others.contains($0.id) }, snapshot)
        }
    }

    /// The read rules of the apps of this turn.
    private func rules(in transaction: PostgresTransaction) async throws(PostgresError) -> [Int64: ReadRules] {
        var rules: [Int64: ReadRules] = [:]
        var missing: Set<Int64> = []
        for snapshot in turns.compactMap(\.snapshot) {
            guard let revision = snapshot.rulesRevision else { continue }
            rules[snapshot.app.value] = cache.rules(snapshot.app.value, revision: revision)
            if rules[snapshot.app.value] == nil { missing.insert(snapshot.app.value) }
        }
        if missing.isEmpty { return rules }
        let read = try await transaction.run(Query(FanOutSQL.rules) { $0.int64Array("apps", missing.sorted()) })
        let sources = try read.map { row throws(PostgresError) in
            (app: try row.int64(), source: try row.text(), revision: try row.int64())
        }
        for (app, source, revision) in sources { rules[app] = cache.store(source, app, revision: revision) }
        return rules
    }

    /// The subscriptions whose users may read the path now.
    private func allowed(
        _ candidates: [Subscription], _ snapshot: WatchSnapshot, _ check: RuleCheck,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Subscription] {
        if candidates.isEmpty { return [] }
        let path = snapshot.address.path
        guard check.rules.namesAuth(at: path.keys) else {
            let mayRead = try await check.mayRead([.init(path: path, claims: nil)], in: transaction)
            return mayRead[0] ? candidates : []
        }
        let query = Query(FanOutSQL.claims) { $0.int64Array("subscriptions", candidates.map(\.id)) }
        var claims: [Int64: [UInt8]] = [:]  // lookup only
        let rows = try await transaction.run(query).map { row throws(PostgresError) in
            (id: try row.int64(), claims: try row.optional { row throws(PostgresError) in try row.json() })
        }
        for row in rows { claims[row.id] = row.claims }
        let mayRead = try await check.mayRead(
            candidates.map { .init(path: path, claims: claims[$0.id]) }, in: transaction)
        return zip(candidates, mayRead).filter(\.1).map(\.0)
    }

    /// The members whose last push was discarded, of messages about children: they miss what it told.
    private func losses(in transaction: PostgresTransaction) async throws(PostgresError) -> [UniversalID: Set<Int64>] {
        let asked = Set(
            turns.flatMap { turn in
                turn.subscriptions.filter { $0.mode == .childEvent && turn.isBehind($0) }.compactMap(\.message)
            })
        var lost: [UniversalID: Set<Int64>] = [:]
        if asked.isEmpty { return lost }
        let query = Query(FanOutSQL.discarded) {
            $0.uuidArray("messages", asked.sorted { ($0.high, $0.low) < ($1.high, $1.low) })
        }
        let rows = try await transaction.run(query).map { row throws(PostgresError) in
            (message: try row.uuid(), members: try row.members(column: 1, of: FanOutSQL.discarded))
        }
        for row in rows { lost[row.message, default: []].formUnion(row.members) }
        return lost
    }

    private mutating func tell(
        _ subscriptions: [Subscription], _ snapshot: WatchSnapshot, _ losses: [UniversalID: Set<Int64>], at place: Int
    ) {
        let groups = Dictionary(grouping: subscriptions) { subscription in
            var key = GroupKey(subscription)
            if let message = subscription.message, losses[message]?.contains(subscription.registration) == true {
                key.sentSeq = FanOutGroup.unknown
            }
            return key
        }
        var childGroups = 0
        for (var key, members) in groups.sorted(by: { $0.key < $1.key }) {
            if key.mode == .childEvent { childGroups += 1 }
            if childGroups > Self.childGroupsMax { key.sentSeq = FanOutGroup.unknown }
            tell(members, key, snapshot, at: place)
        }
    }

    /// Ends subscriptions whose users may not read the path any more, with a notice.
    private mutating func revoke(_ subscriptions: [Subscription], _ snapshot: WatchSnapshot) {
        denied += subscriptions.map(\.id)
        let byProvider = Dictionary(grouping: subscriptions, by: \.provider)
        for (provider, members) in byProvider.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let group = RevocationGroup(
                address: snapshot.address, settings: snapshot.settings, provider: provider, reason: .permissionDenied)
            guard let content = contents.revocation(group) else { continue }
            notices.append(
                GatewayMessage(
                    content, app: snapshot.app, audience: Audience(.revoked(snapshot.id)),
                    members: members.map(\.member), parcelMembersMax: order.parcelMembersMax))
        }
    }

    /// The members of messages whose pushes have not ended.
    private func unsettled(
        of messages: [UniversalID], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [UniversalID: Set<Int64>] {
        var members: [UniversalID: Set<Int64>] = [:]
        if messages.isEmpty { return members }
        let rows = try await transaction.run(Query(FanOutSQL.openParcels) { $0.uuidArray("messages", messages) })
        for parcel in try rows.map(OpenParcel.init) { members[parcel.message, default: []].formUnion(parcel.pending) }
        return members
    }

    /// Cuts one message for subscriptions that are told the same. All of them are noted as told.
    private mutating func tell(_ members: [Subscription], _ key: GroupKey, _ snapshot: WatchSnapshot, at place: Int) {
        let group = FanOutGroup(watch: snapshot, mode: key.mode, provider: key.provider, sentSeq: key.sentSeq)
        let content = contents.change(group)
        if let content {
            messages.append(
                GatewayMessage(
                    content, app: snapshot.app, audience: Audience(.subscribers(snapshot.id)),
                    members: members.map(\.member), parcelMembersMax: order.parcelMembersMax))
            turns[place].wakesSome = true
        }
        progress += members.map {
            Progress(subscription: $0.id, was: $0.sentSeq, seq: snapshot.seq, message: content?.id.value)
        }
    }
}
