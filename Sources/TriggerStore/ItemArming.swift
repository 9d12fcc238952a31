import Basis
import Model
import Postgres
import Store
import TriggerRules

/// The terms of a subscription as one transaction writes them: first what they refer to, then their row, and last the
/// rows by which updates find it.
struct ItemArming: Sendable {
    let terms: SubscriptionTerms
    private let app: AppID
    private let registration: RegistrationID
    private let now: WallInstant?
    /// Its items by rising bytes, which is the order in which items are locked.
    private let names: [String]
    /// The ids of these.
    private var items: [Int64] = []
    private var template: Int64 = 0

    init(_ terms: SubscriptionTerms, of registration: RegistrationID, app: AppID, now: WallInstant?) {
        (self.terms, self.registration, self.app, self.now) = (terms, registration, app, now)
        names = terms.items.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Why the terms can't be written.
    enum Refusal {
        case unknownDevice
        case tooManyItems
        case tooManyExpressions
    }

    /// A subscription that is locked.
    struct Known: Sendable {
        let id: Int64
        let key: UniversalID
        let status: SubscriptionStatus
        let user: String?
        let fields: [String]
        let revision: Int32
        let createdAt: WallInstant

        init(_ row: inout Row) throws(PostgresError) {
            (id, key, status) = (try row.int64(), try row.uuid(), try row.stored())
            (user, fields) = (try row.textOrNil(), try row.textArray())
            (revision, createdAt) = (try row.int32(), try row.instant())
        }
    }

    /// Another transaction may remove an item or a template between the look for it and the lock.
    private static let triesMax = 5

    /// Locks the device, and keeps items and template, which it makes if they don't exist.
    ///
    /// - Parameter user: the one that the device must have; nil: any.
    mutating func begin(
        user: String?, counts: RowCounts, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Refusal? {
        let lock = Query(ItemSubscriptionSQL.lockDevice) { $0.int64("registration", registration.value) }
        let keep = Query(ItemSubscriptionSQL.keepDevice) {
            $0.int64("registration", registration.value)
            $0.int64("app", app.value)
            $0.text("user", user)
        }
        let opening = [Query(PlannerSQL.throughKeys), lock, keep]
        guard try await transaction.run(opening)[2].rowCount > 0 else { return .unknownDevice }
        for _ in 0..<Self.triesMax {
            let answers = try await transaction.run(keptRows)
            let added = answers[0].affectedRows
            if added > 0, try await !hasRoom(added, counts, in: transaction) { return .tooManyItems }
            items = try answers[1].map(Int64.init)
            if items.count == names.count, let id = try answers[3].first(Int64.init) {
                template = id
                return nil
            }
        }
        throw .deadlinePassed
    }

    /// The queries that make items and the template, and keep them.
    private var keptRows: [Query] {
        let addItems = Query(ItemSubscriptionSQL.addItems) {
            $0.int64("app", app.value)
            $0.textArray("names", names)
            $0.instant("now", now)
        }
        let keepItems = Query(ItemSubscriptionSQL.keepItems) {
            $0.int64("app", app.value)
            $0.textArray("names", names)
        }
        let templates = [ItemSubscriptionSQL.addTemplate, ItemSubscriptionSQL.keepTemplate].map {
            Query($0) {
                $0.int64("app", app.value)
                $0.bytes("given", terms.template.given)
                $0.bytes("content", terms.template.content)
            }
        }
        return [addItems, keepItems] + templates
    }

    /// Whether the app may have the items that were just made.
    private func hasRoom(
        _ added: Int, _ counts: RowCounts, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Bool {
        let itemsMax = UpdateStore.itemsPerAppMax
        if counts.mustCount(app.value, max: itemsMax) {
            let count = Query(ItemSubscriptionSQL.countItems) {
                $0.int64("app", app.value)
                $0.int64("limit", itemsMax + 1)
            }
            counts.set(try await transaction.run(count).one(Int64.init), of: app.value)
        } else {
            counts.add(Int64(added), to: app.value)
        }
        return counts[app.value] <= itemsMax
    }
}

// The subscription's row.
extension ItemArming {
    /// The query that locks the oldest of the device's subscriptions with the same items, fields and trigger.
    var alike: Query {
        Query(ItemSubscriptionSQL.alike) {
            $0.int64("registration", registration.value)
            $0.bytes("identity", terms.identityBytes)
            $0.instant("now", now)
        }
    }

    func add(_ key: UniversalID, user: String?) -> Query {
        Query(ItemSubscriptionSQL.add) {
            $0.uuid("key", key)
            $0.int64("app", app.value)
            $0.int64("registration", registration.value)
            $0.instant("now", now)
            bind(to: &$0, user)
        }
    }

    func change(_ subscription: Int64, status: SubscriptionStatus, user: String?) -> Query {
        Query(ItemSubscriptionSQL.change) {
            $0.int64("subscription", subscription)
            $0.int16("status", status.rawValue)
            $0.instant("now", now)
            bind(to: &$0, user)
        }
    }

    private func bind(to parameters: inout Parameters, _ user: String?) {
        parameters.text("user", user)
        parameters.textArray("items", terms.items)
        parameters.textArray("fields", terms.fields)
        parameters.int16("mode", terms.mode.storedNumber)
        parameters.text("trigger", terms.trigger?.text)
        parameters.int64("template", template)
        parameters.bool("is_shown", terms.template.isShown)
        parameters.int32("pause_seconds", terms.pauseSeconds)
        parameters.int16("when_paused", terms.whenPaused.storedNumber)
        parameters.bytes("identity", terms.identityBytes)
        parameters.instant("expires_at", terms.expiresAt)
    }
}

// The rows by which updates find it.
extension ItemArming {
    /// The thresholds that order the trigger. Terms that were read back don't have them.
    private var thresholds: [Threshold] {
        guard let trigger = terms.trigger else { return [] }
        if !trigger.thresholds.isEmpty { return trigger.thresholds }
        return (try? TriggerExpression(parsing: trigger.text, fields: terms.fields))?.thresholds ?? []
    }

    /// Whether the trigger stands among those that each update evaluates one by one.
    private var isOther: Bool { terms.trigger != nil && thresholds.isEmpty }

    /// The bytes that equal triggers share, whatever their items are.
    private var expression: [UInt8] {
        var shared = terms
        shared.items = []
        return [UInt8(truncatingIfNeeded: terms.mode.storedNumber)] + shared.identityBytes
    }

    /// Whether an item would have too many different expressions. Those of the subscription itself are removed before.
    func refusal(in transaction: PostgresTransaction) async throws(PostgresError) -> Refusal? {
        guard isOther else { return nil }
        let isFull = Query(ItemArmingSQL.isFull) {
            $0.int64Array("items", items)
            $0.bytes("expression", expression)
            $0.int64("limit", Int64(ItemSubscriptionStore.expressionsPerItemMax))
        }
        return try await transaction.run(isFull).one(Bool.init) ? .tooManyExpressions : nil
    }

    /// Removes the rows of the subscription's former terms.
    ///
    /// - Parameter keepsProgress: it goes on with the items that it follows, if it follows any still.
    func disarm(_ subscription: Int64, keepsProgress: Bool) -> [Query] {
        let keepsFollowing = keepsProgress && terms.trigger == nil
        let statements = [ItemArmingSQL.disarm, ItemArmingSQL.disarmOther]
        return (keepsFollowing ? statements : [ItemArmingSQL.unfollow] + statements).map {
            Query($0) { $0.int64("subscription", subscription) }
        }
    }

    /// The queries that lock the items of terms without a trigger. They come before the lock of a subscription, because
    /// updates lock items first.
    var itemLocks: [Query] {
        terms.trigger == nil ? [Query(ItemArmingSQL.lockItems) { $0.int64Array("items", items) }] : []
    }

    /// The last queries before the commit: later updates find the subscription.
    func arm(_ subscription: Int64) -> [Query] {
        guard terms.trigger != nil else {
            let follow = Query(ItemArmingSQL.follow) {
                $0.int64("subscription", subscription)
                $0.int64Array("items", items)
            }
            return itemLocks + [follow]
        }
        let thresholds = thresholds
        guard !thresholds.isEmpty else {
            let arm = Query(ItemArmingSQL.armOther) {
                $0.int64("subscription", subscription)
                $0.int64Array("items", items)
                $0.bytes("expression", expression)
            }
            return [arm]
        }
        let arm = Query(ItemArmingSQL.arm) {
            $0.int64("subscription", subscription)
            $0.int64Array("items", items)
            $0.int16("mode", terms.mode.storedNumber)
            $0.textArray("fields", thresholds.map(\.field))
            $0.int16Array("conversions", thresholds.map(\.conversion.storedNumber))
            $0.int16Array("comparisons", thresholds.map(\.comparison.storedNumber))
            $0.doubleArray("bounds", thresholds.map(\.bound))
        }
        return [arm]
    }

    /// Drops the push that the subscription holds without a trigger, if it follows the push's item no more.
    func dropHeld(_ subscription: Int64) -> Query {
        Query(ItemArmingSQL.dropHeld) {
            $0.int64("subscription", subscription)
            $0.int64Array("items", terms.trigger == nil ? items : [])
        }
    }

    /// Fits the held push of a trigger to the new fields. A field that was not among the former ones has no value.
    func rewriteHeld(_ subscription: Int64, texts: [String?], of fields: [String]) -> Query {
        let known = zip(fields, texts)
        let fitted = terms.fields.map { name in known.first { $0.0.hasSameBytes(as: name) }?.1 }
        return Query(ItemArmingSQL.rewriteHeld) {
            $0.int64("subscription", subscription)
            $0.textArray("texts", fitted)
        }
    }
}
