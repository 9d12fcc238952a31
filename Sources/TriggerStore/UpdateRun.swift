import Basis
import JSON
import Model
import Postgres
import Store
import TriggerRules

/// Updates of one app that one transaction takes: what it reads, decides and writes.
///
/// It locks the items by rising names, then by rising ids the subscriptions whose triggers fire, then their held pushes,
/// and the rows of `item_due` last.
struct UpdateRun {
    let app: AppID
    let now: WallInstant?
    /// Those that it takes: the first ones if all would be too much work.
    private var updates: [ItemUpdate]
    private let room: Int64
    let workMax: Int

    private(set) var items = LockedItems([])
    private(set) var batch = UpdateBatch([], items: [])
    /// The number of items that it made. The first update of an item is within the item's limits, so it is taken.
    private var made: Int64 = 0
    private var replies: [UpdateReply] = []
    var heldCount: Int64 = 0

    /// The outcome of a transaction.
    struct Outcome: Sendable {
        /// In order, one for each update that was decided: for the first one at least.
        var replies: [UpdateReply]
        /// The number of new items.
        var made: Int64 = 0
        /// Items have become due, or pushes are held.
        var raised = false
    }

    /// - Parameters:
    ///   - room: the most items that it may make.
    ///   - workMax: the most work of triggers, as `TriggerQuestion` counts it.
    init(_ updates: [ItemUpdate], app: AppID, room: Int64, workMax: Int, now: WallInstant?) {
        (self.updates, self.app, self.room, self.now) = (updates, app, room, now)
        self.workMax = workMax
    }

    /// The number of updates that were decided, from the first one.
    var decidedCount: Int { replies.count }

    /// Whether there is something to commit.
    var takesAny: Bool { replies.contains(.taken) }

    /// The outcome without a commit.
    var outcome: Outcome { Outcome(replies: replies) }

    /// Locks the items, merges the updates in their order, and fires the triggers that they satisfy.
    ///
    /// If their triggers are too much work for one transaction, the last updates are left for the next one.
    mutating func decide(in transaction: PostgresTransaction) async throws(PostgresError) {
        if updates.isEmpty { return }
        let armed = try await read(in: transaction)
        let places = updates.indices.filter { items.contains(updates[$0].item) }
        batch = UpdateBatch(places.map { updates[$0] }, items: items.states)
        let (expressions, count) = satisfiedExpressions(armed)
        if count < places.count {
            batch = UpdateBatch(places[..<count].map { updates[$0] }, items: items.states)
            updates = Array(updates[...places[count - 1]])
        }
        var faults = batch.faults[...]
        replies = updates.map { update -> UpdateReply in
            guard items.contains(update.item) else { return .refused(.tooManyItems) }
            return faults.removeFirst().map { UpdateReply.refused(.fault($0)) } ?? .taken
        }
        if takesAny { try await fire(armed, expressions, in: transaction) }
    }

    /// Makes the items that there are not yet, locks all of them, and reads what is armed at them.
    private mutating func read(in transaction: PostgresTransaction) async throws(PostgresError) -> ArmedAtItems {
        let names = LockedItems.names(of: updates)
        var armed = ArmedAtItems()
        // An item that was swept between the statements is made by the second try.
        var tries = 0
        repeat {
            tries += 1
            let answers = try await transaction.run([
                Query(PlannerSQL.inKeyOrder),
                Query(UpdateSQL.makeItems) {
                    $0.items(names, of: app)
                    $0.int64("room", room - made)
                    $0.instant("now", now)
                },
                Query(UpdateSQL.lockItems) { $0.items(names, of: app) },
                Query(UpdateSQL.thresholdGroups) {
                    $0.items(names, of: app)
                    $0.int32("groups_max", Int32(ArmedAtItems.groupsMax))
                },
                Query(UpdateSQL.expressions) { $0.items(names, of: app) },
            ])
            made += Int64(answers[1].affectedRows)
            items = LockedItems(try answers[2].map(LockedItem.init))
            armed = try ArmedAtItems(groups: answers[3], expressions: answers[4])
        } while items.count < names.count && made < room && tries < 2
        return armed
    }

    /// Writes the items, makes them due, and commits.
    /// - Parameter closing: the last queries.
    func commit(_ closing: [Query], in transaction: PostgresTransaction) async throws(PostgresError) -> Outcome {
        let changed = batch.items.compactMap { item in
            items.id(of: item.name).map {
                (id: $0, state: item.state, lastOrder: Int64(batch.lastOrder(of: item.name) ?? 0))
            }
        }
        let (ids, states) = (changed.map(\.id), changed.map(\.state))
        let names = states.map { state in JSONWriter.texts(state.fields.map { $0.name }) }
        let texts = states.map { state in JSONWriter.texts(state.fields.map { $0.text }) }
        let seqs = states.map { state in JSONWriter.integers(state.fields.map { $0.seq }) }
        let queries = [
            Query(UpdateSQL.write) {
                $0.int64Array("items", ids)
                $0.int64Array("item_seqs", states.map { $0.seq })
                $0.jsonArray("names", names)
                $0.jsonArray("texts", texts)
                $0.jsonArray("seqs", seqs)
                $0.int64Array("last_orders", changed.map(\.lastOrder))
                $0.instant("now", now)
            },
            Query(UpdateSQL.makeDue) {
                $0.int64("app", app.value)
                $0.int64Array("items", ids)
                $0.int64("gathering_us", ThrottleWindow.gathering.wholeMicroseconds)
                $0.instant("now", now)
            },
        ]
        let answers = try await transaction.runAndCommit(queries + closing)
        return Outcome(replies: replies, made: made, raised: heldCount > 0 || answers[1].affectedRows > 0)
    }
}

/// An item that this transaction has locked.
struct LockedItem: Sendable {
    let id: Int64
    let name: String
    let state: ItemState

    init(_ row: inout Row) throws(PostgresError) {
        (id, name) = (try row.int64(), try row.text())
        let seq = try row.int64()
        let (names, texts, seqs) = (try row.textArray(), try row.optionalTextArray(), try row.int64Array())
        guard names.count == texts.count, names.count == seqs.count else {
            throw .unexpectedShape(statement: UpdateSQL.lockItems.name, column: 4)
        }
        let fields = names.indices.map { ItemState.Field(name: names[$0], text: texts[$0], seq: seqs[$0]) }
        state = ItemState(seq: seq, fields: fields)
    }
}

/// The locked items, found by the bytes of their names.
struct LockedItems: Sendable {
    private let items: [LockedItem]
    private let ids: [[UInt8]: Int64]  // lookup only

    init(_ items: [LockedItem]) {
        self.items = items
        ids = Dictionary(items.map { (Array($0.name.utf8), $0.id) }) { first, _ in first }
    }

    var count: Int { items.count }
    var states: [(name: String, state: ItemState)] { items.map { (name: $0.name, state: $0.state) } }

    func id(of name: String) -> Int64? { ids[Array(name.utf8)] }
    func contains(_ name: String) -> Bool { id(of: name) != nil }

    /// The items that updates name, by rising bytes, each once.
    static func names(of updates: [ItemUpdate]) -> [String] {
        var names: [String] = []
        for name in updates.map(\.item).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where names.last.map({ !$0.hasSameBytes(as: name) }) ?? true {
            names.append(name)
        }
        return names
    }
}

extension Parameters {
    fileprivate mutating func items(_ names: [String], of app: AppID) {
        int64("app", app.value)
        textArray("names", names)
    }
}

extension JSONWriter {
    /// An array of texts, as a jsonb parameter takes it. It stands for an array of PostgreSQL, which a list of lists can't
    /// hold.
    static func texts(_ texts: [String?]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for text in texts {
            if let text { writer.string(text) } else { writer.null() }
        }
        writer.endArray()
        return writer.bytes
    }

    fileprivate static func integers(_ integers: [Int64]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for integer in integers { writer.integer(integer) }
        writer.endArray()
        return writer.bytes
    }
}
