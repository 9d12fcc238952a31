import JSON
import Postgres
import TriggerRules

/// The triggers that are armed at the items of an update.
struct ArmedAtItems: Sendable {
    /// The most groups of thresholds that are read of an item. Of one with more, those of its own fields are read, whose
    /// number is bounded: anybody may arm thresholds on fields that the item doesn't have.
    static let groupsMax = 64

    /// By item.
    fileprivate private(set) var groups: [Int64: [ThresholdGroup]] = [:]  // lookup only
    fileprivate private(set) var expressions: [Int64: [ArmedExpression]] = [:]  // lookup only

    init() {}

    init(groups: ResultSet, expressions: ResultSet) throws(PostgresError) {
        self.groups = Dictionary(grouping: try groups.map(ThresholdGroup.init), by: \.item)
        self.expressions = Dictionary(grouping: try expressions.map(ArmedExpression.init), by: \.item)
    }
}

/// A trigger at an item that no threshold orders.
struct ArmedExpression: Sendable {
    let item: Int64
    /// The SHA-256 of mode, fields and trigger.
    let hash: [UInt8]
    let mode: UpdateMode
    let fields: [String]
    let trigger: String

    fileprivate init(_ row: inout Row) throws(PostgresError) {
        (item, hash) = (try row.int64(), try row.bytes())
        let mode: Stored<UpdateMode> = try row.stored()
        (self.mode, fields, trigger) = (mode.value, try row.textArray(), try row.text())
    }
}

/// A subscription whose trigger may fire.
private struct ArmedSubscription: Sendable {
    let id: Int64
    let registration: Int64
    let mode: UpdateMode
    let items: [String]
    let fields: [String]
    let trigger: String

    init(_ row: inout Row) throws(PostgresError) {
        (id, registration) = (try row.int64(), try row.int64())
        let mode: Stored<UpdateMode> = try row.stored()
        (self.mode, items) = (mode.value, try row.textArray())
        (fields, trigger) = (try row.textArray(), try row.text())
    }

    /// The terms on which it depends whether and how the trigger fires, as bytes.
    var terms: [UInt8] {
        let texts = [mode.rawValue, trigger, String(items.count)] + items + fields
        return texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) }
    }
}

/// A trigger that an update has satisfied.
private struct FiredSubscription: Sendable {
    let id: Int64
    let registration: Int64
    let item: Int64
    /// The texts of its fields, as JSON.
    let texts: [UInt8]
}

extension ThresholdGroup {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        let item = try row.int64()
        let mode: Stored<UpdateMode> = try row.stored()
        let field = try row.text()
        let conversion: Stored<NumberConversion> = try row.stored()
        let comparison: Stored<TriggerComparison> = try row.stored()
        self.init(
            item: item, mode: mode.value, field: field, conversion: conversion.value, comparison: comparison.value)
    }
}

extension UpdateRun {
    /// The subscriptions that are locked and asked at once.
    private static let askedTogether = 2_000
    /// The texts of the pushes that one statement holds, in bytes.
    private static let textBytesTogether = 4 << 20

    /// Fires the triggers that an update satisfies, each once.
    /// - Parameter expressions: those that an update satisfies.
    mutating func fire(
        _ armed: ArmedAtItems, _ expressions: [ArmedExpression], in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        let candidates = try await candidates(armed, expressions, in: transaction)
        for start in stride(from: 0, to: candidates.count, by: Self.askedTogether) {
            let ids = Array(candidates[start..<min(start + Self.askedTogether, candidates.count)])
            // A trigger may ask for more than its threshold. Those that don't fire are not locked.
            let firing = fired(among: try await ask(ids, UpdateSQL.readArmed, in: transaction)).map(\.id)
            if firing.isEmpty { continue }
            let fired = fired(among: try await ask(firing, UpdateSQL.lockArmed, in: transaction))
            for together in Self.portions(of: fired) { try await hold(together, in: transaction) }
        }
    }

    private func ask(
        _ subscriptions: [Int64], _ statement: Statement, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [ArmedSubscription] {
        let query = Query(statement) {
            $0.int64Array("subscriptions", subscriptions)
            $0.instant("now", now)
        }
        return try await transaction.run(query).map(ArmedSubscription.init)
    }

    /// The subscriptions whose triggers may be satisfied, by rising id.
    private func candidates(
        _ armed: ArmedAtItems, _ expressions: [ArmedExpression], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Int64] {
        let ranges = try await ranges(armed, in: transaction)
        if ranges.isEmpty && expressions.isEmpty { return [] }
        let answers = try await transaction.run([
            Query(UpdateSQL.ofThresholds) {
                $0.int64Array("items", ranges.map(\.group.item))
                $0.int16Array("modes", ranges.map(\.group.mode.storedNumber))
                $0.textArray("fields", ranges.map(\.group.field))
                $0.int16Array("conversions", ranges.map(\.group.conversion.storedNumber))
                $0.int16Array("comparisons", ranges.map(\.group.comparison.storedNumber))
                $0.doubleArray("lowest", ranges.map(\.bounds.lowerBound))
                $0.doubleArray("highest", ranges.map(\.bounds.upperBound))
            },
            Query(UpdateSQL.ofExpressions) {
                $0.int64Array("items", expressions.map(\.item))
                $0.bytesArray("expressions", expressions.map(\.hash))
            },
        ])
        var found = Set(try answers[0].map(Int64.init))
        found.formUnion(try answers[1].map(Int64.init))
        return found.sorted()
    }

    private func ranges(
        _ armed: ArmedAtItems, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [ArmedRange] {
        var numbers: [Int64: FieldNumbers] = [:]  // lookup only
        var groups: [ThresholdGroup] = []
        var asked: [(item: Int64, mode: UpdateMode, field: String, conversion: NumberConversion)] = []
        for item in batch.items {
            guard let id = items.id(of: item.name), let known = armed.groups[id] else { continue }
            let isCrowded = known.count >= ArmedAtItems.groupsMax
            let own = batch.numbers(of: item.name, fields: isCrowded ? nil : known.map(\.field))
            numbers[id] = own
            if isCrowded {
                for field in own.fields { asked.append((id, field.mode, field.name, field.conversion)) }
            } else {
                groups += known
            }
        }
        if !asked.isEmpty {
            let query = Query(UpdateSQL.fieldGroups) {
                $0.int64Array("items", asked.map(\.item))
                $0.int16Array("modes", asked.map(\.mode.storedNumber))
                $0.textArray("fields", asked.map(\.field))
                $0.int16Array("conversions", asked.map(\.conversion.storedNumber))
            }
            groups += try await transaction.run(query).map(ThresholdGroup.init)
        }
        return groups.flatMap { group -> [ArmedRange] in
            let range = numbers[group.item]?.range(of: group.field, group.mode, group.conversion)
            guard let range else { return [] }
            return group.comparison.bounds(satisfiedBy: range).map { ArmedRange(group: group, bounds: $0) }
        }
    }

    /// The expressions that an update satisfies, and the number of the batch's updates at which all were asked.
    func satisfiedExpressions(_ armed: ArmedAtItems) -> (expressions: [ArmedExpression], updateCount: Int) {
        var (asked, questions): ([ArmedExpression], [TriggerQuestion]) = ([], [])
        for item in batch.items {
            for expression in items.id(of: item.name).flatMap({ armed.expressions[$0] }) ?? [] {
                guard let trigger = try? TriggerExpression(parsing: expression.trigger, fields: expression.fields)
                else { continue }
                asked.append(expression)
                questions.append(TriggerQuestion(trigger, of: expression.fields, item: item.name, expression.mode))
            }
        }
        let answers = batch.ask(questions, workMax: workMax)
        return (answers.satisfied.map { asked[$0] }, answers.updateCount)
    }

    /// Asks the triggers of subscriptions. Each different one is asked once.
    private func fired(among subscriptions: [ArmedSubscription]) -> [FiredSubscription] {
        var known: [[UInt8]: (item: Int64, texts: [UInt8])?] = [:]  // lookup only
        return subscriptions.compactMap { subscription in
            let terms = subscription.terms
            let found: (item: Int64, texts: [UInt8])? = known[terms] ?? firing(of: subscription)
            known[terms] = .some(found)
            return found.map { firing in
                FiredSubscription(
                    id: subscription.id, registration: subscription.registration, item: firing.item,
                    texts: firing.texts)
            }
        }
    }

    private func firing(of subscription: ArmedSubscription) -> (item: Int64, texts: [UInt8])? {
        guard let trigger = try? TriggerExpression(parsing: subscription.trigger, fields: subscription.fields),
            let fired = batch.firing(
                trigger, of: subscription.fields, items: subscription.items, subscription.mode),
            let item = items.id(of: fired.item)
        else { return nil }
        return (item, JSONWriter.texts(fired.texts))
    }

    private static func portions(of fired: [FiredSubscription]) -> [[FiredSubscription]] {
        var portions: [[FiredSubscription]] = []
        var bytes = 0
        for subscription in fired {
            if portions.isEmpty || bytes > textBytesTogether {
                portions.append([])
                bytes = 0
            }
            portions[portions.count - 1].append(subscription)
            bytes += subscription.texts.count
        }
        return portions
    }

    private mutating func hold(
        _ fired: [FiredSubscription], in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        let query = Query(UpdateSQL.fire) {
            $0.int64("app", app.value)
            $0.int64Array("subscriptions", fired.map(\.id))
            $0.int64Array("registrations", fired.map(\.registration))
            $0.int64Array("items", fired.map(\.item))
            $0.jsonArray("texts", fired.map(\.texts))
            $0.instant("now", now)
        }
        heldCount += try await transaction.run(query).one(Int64.init)
    }
}
