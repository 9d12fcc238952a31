import Basis
import Model
import Postgres
import Store
import TriggerRules

/// One transaction of rounds of followers, step by step: it claims due items, reads them with their next followers, and
/// decides which pushes go.
struct FollowerRun: Sendable {
    /// The most items of one transaction. One with many followers has a transaction to itself.
    private static let itemsMax = 64
    /// The most followers of an item that shares its transaction with others.
    private static let fewFollowers = 64
    /// The most messages of one transaction, for followers whose templates or texts all differ.
    static let messagesMax = 1_000

    private(set) var cut: ItemPushCut
    /// The time by the database's clock at which the transaction began.
    private var start = WallInstant(microseconds: 0)
    private var items: [DueItem] = []
    private var apps: [Int64: PushApp] = [:]  // lookup only
    /// The app after which the next claim begins: the first one, as long as nothing was read.
    private(set) var lastApp: Int64 = 0
    private var decision = FollowerDecision()

    init(_ order: ItemPushOrder, now: WallInstant?, _ contents: ItemPushContents) {
        cut = ItemPushCut(order, now: now, contents)
    }

    /// A claimed item.
    struct DueItem: Sendable {
        let id: Int64
        let app: Int64
        /// The cursor of its round.
        let after: Int64
        /// The item's number when its round began; nil: the round begins now.
        let roundSeq: Int64?
        /// nil: the item was removed.
        var stored: StoredItem?
        /// By rising id.
        var followers: [NextFollower] = []
        /// No follower comes behind these.
        var isLast = true

        init(_ row: inout Row) throws(PostgresError) {
            (id, app) = (try row.int64(), try row.int64())
            (after, roundSeq) = (try row.int64(), try row.int64OrNil())
        }
    }

    /// A follower before it is locked.
    struct NextFollower: Sendable {
        let subscription: Int64
        let sentSeq: Int64
        /// nil: the subscription is being removed.
        let registration: Int64?
        let fields: [String]
        /// Whether the subscription has other items.
        let followsSeveral: Bool

        init(_ row: inout Row) throws(PostgresError) {
            (subscription, sentSeq, registration) = (try row.int64(), try row.int64(), try row.int64OrNil())
            fields = try row.optional { row throws(PostgresError) in try row.textArray() } ?? []
            followsSeveral = try row.boolOrNil() ?? false
        }
    }

    /// Claims due items. Returns false if there are none.
    /// - Parameter limit: the most items.
    mutating func claim(
        after app: Int64, limit: Int, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Bool {
        let claim = Query(FollowerSQL.claim) {
            $0.int64("last_app", app)
            $0.int64("limit", Int64(min(limit, Self.itemsMax)))
            $0.instant("now", cut.now)
        }
        let rows = try await transaction.run([Query(PlannerSQL.inKeyOrder), claim])[1]
        let claimed = try rows.map { row throws(PostgresError) in (item: try DueItem(&row), start: try row.instant()) }
        guard let first = claimed.first else { return false }
        (items, start, lastApp) = (claimed.map(\.item), first.start, first.item.app)
        return true
    }

    /// Reads the items with their next followers, and decides on those that miss an update.
    mutating func read(in transaction: PostgresTransaction) async throws(PostgresError) {
        try await readItems(in: transaction)
        let candidates = candidates
        let decided = candidates[..<decidedCount(of: candidates)]
        let reader = FollowerReader(Array(decided), apps, start: start)
        let found = try await reader.read(in: transaction)
        var failed: Set<[UInt8]> = []  // lookup only
        var messagesMax = Self.messagesMax
        while true {
            decision = FollowerDecision(
                found.windows, found.quietHours, start: start, failed: failed, messagesMax: messagesMax)
            for follower in found.followers where decision.stoppedAt == nil {
                guard let app = apps[follower.candidate.item.app] else { continue }
                decision.take(follower, app)
            }
            if decision.stoppedAt == nil, decided.endIndex < candidates.endIndex {
                decision.stop(at: candidates[decided.endIndex])
            }
            // A group that no message can be made for takes no window: then others may go.
            let made = try await cut.make(decision.groups, in: transaction)
            if made.failed.isEmpty, !made.isFull { break }
            failed.formUnion(made.failed)
            if made.isFull { messagesMax = made.drafts.count }
        }
        // An app that fills a transaction waits for its next turn.
        if let stop = decision.stoppedAt { lastApp = stop.item.app }
    }

    private mutating func readItems(in transaction: PostgresTransaction) async throws(PostgresError) {
        let several = items.count > 1
        let limit = several ? Self.fewFollowers : cut.order.subscriptionsMax
        let answers = try await transaction.run([
            Query(ItemPushSQL.items) { $0.int64Array("items", items.map(\.id)) },
            Query(ItemPushSQL.apps) { $0.int64Array("apps", items.map(\.app).rising) },
            next(limit),
        ])
        let stored = Dictionary(try answers[0].map(StoredItem.init).map { ($0.id, $0) }) { first, _ in first }
        for place in items.indices { items[place].stored = stored[items[place].id] }
        apps = try PushApp.all(in: answers[1])
        try take(answers[2], limit)
        if several, !items[0].isLast {
            items.removeSubrange(1...)
            try take(try await transaction.run(next(cut.order.subscriptionsMax)), cut.order.subscriptionsMax)
        }
        lastApp = items.last?.app ?? 0
        if items.count > 1, let waiting = items.first(where: { !$0.isLast }) {
            // An item with many followers waits for a transaction of its own. Its app comes first then.
            items.removeAll { !$0.isLast }
            lastApp = waiting.app - 1
        }
    }

    private func next(_ limit: Int) -> Query {
        Query(FollowerSQL.next) {
            $0.int64Array("items", items.map(\.id))
            $0.int64Array("after", items.map(\.after))
            $0.int64("limit", Int64(limit))
        }
    }

    private mutating func take(_ rows: ResultSet, _ limit: Int) throws(PostgresError) {
        let count = items.count
        for place in items.indices { items[place].followers = [] }
        let found = try rows.map { row throws(PostgresError) in
            (place: try row.place(upTo: count), follower: try NextFollower(&row))
        }
        for (place, follower) in found { items[place].followers.append(follower) }
        for place in items.indices { items[place].isLast = items[place].followers.count < limit }
    }

    /// The items in the order of decisions: app by app, as they were claimed. Of an app the item that was updated last
    /// comes first: of several items of a subscription, the newest makes its push.
    private var ordered: [StoredItem] {
        let turns = Dictionary(items.enumerated().map { ($0.element.app, $0.offset) }) { first, _ in first }
        return items.compactMap(\.stored).sorted {
            let (one, other) = (turns[$0.app] ?? 0, turns[$1.app] ?? 0)
            return one == other ? ($0.updatedAt, $0.id) > ($1.updatedAt, $1.id) : one < other
        }
    }

    /// The followers that miss an update, in the order of their items.
    private var candidates: [FollowerCandidate] {
        ordered.flatMap { item -> [FollowerCandidate] in
            let followers = items.first { $0.id == item.id }?.followers ?? []
            return followers.compactMap { follower -> FollowerCandidate? in
                guard let registration = follower.registration,
                    item.state.lastSeq(naming: follower.fields) > follower.sentSeq
                else { return nil }
                return FollowerCandidate(
                    item: item, subscription: follower.subscription, registration: registration,
                    followsSeveral: follower.followsSeveral)
            }
        }
    }

    /// The number of candidates that this transaction decides on. It takes fewer that follow several items, because each
    /// of them may write a row for every item.
    private func decidedCount(of candidates: [FollowerCandidate]) -> Int {
        let severalMax = max(1, cut.order.subscriptionsMax / 4)
        let several = candidates.indices.filter { candidates[$0].followsSeveral }
        return several.count > severalMax ? several[severalMax] : candidates.count
    }
}

// The end of the slices.
extension FollowerRun {
    /// The queries beside those that write messages.
    var notes: [Query] {
        let gone = items.filter { $0.stored == nil }.map(\.id)
        let forget = gone.isEmpty ? [] : [Query(FollowerSQL.forget) { $0.int64Array("items", gone) }]
        return decision.notes + [end] + forget
    }

    /// The end of a slice of an item's round.
    private struct End {
        let item: StoredItem
        let roundSeq: Int64
        /// The cursor of the next slice; 0: the round is complete.
        let after: Int64
    }

    private var end: Query {
        let ordered = ends.sorted {
            $0.item.app == $1.item.app
                ? $0.item.name.utf8.lexicographicallyPrecedes($1.item.name.utf8) : $0.item.app < $1.item.app
        }
        return Query(FollowerSQL.end) {
            $0.instant("now", start)
            $0.int64("gathering_us", ThrottleWindow.gathering.wholeMicroseconds)
            $0.int64Array("items", ordered.map(\.item.id))
            $0.boolArray("complete", ordered.map { $0.after == 0 })
            $0.int64Array("round_seqs", ordered.map(\.roundSeq))
            $0.int64Array("after", ordered.map(\.after))
        }
    }

    /// The items whose followers were decided on. Those behind the place where the transaction became full stay due.
    private var ends: [End] {
        let stop = decision.stoppedAt
        let complete = Set(ordered.prefix { $0.id != stop?.item.id }.map(\.id))  // lookup only
        return items.compactMap { item -> End? in
            guard let stored = item.stored else { return nil }
            let roundSeq = item.roundSeq ?? stored.state.seq
            if let stop {
                if stop.item.id == item.id {
                    let last = decision.lastTaken[item.id] ?? item.after
                    return last == 0 ? nil : End(item: stored, roundSeq: roundSeq, after: last)
                }
                guard complete.contains(item.id) else { return nil }
            }
            let last = item.isLast ? 0 : item.followers.last?.subscription ?? 0
            return End(item: stored, roundSeq: roundSeq, after: last)
        }
    }
}
