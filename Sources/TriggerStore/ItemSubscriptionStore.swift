import Basis
import Model
import Postgres
import Store
import TriggerRules

/// The subscriptions of devices to items.
package struct ItemSubscriptionStore: Sendable {
    let pool: PostgresPool
    let counts = RowCounts()
    let templates = SweepCursor()

    package init(pool: PostgresPool) { self.pool = pool }

    /// The most subscriptions of one device.
    package static let perDeviceMax = TriggerSettings.subscriptionsPerDeviceMax
    /// The most different triggers of an item that no threshold orders: each update evaluates all of them.
    ///
    /// This limit is approximate. No lock is held while they are counted, so activations at once may pass it.
    package static let expressionsPerItemMax = 100
    package static let itemsPerAppMax = Int(UpdateStore.itemsPerAppMax)

    /// Adds a subscription, or overwrites an equal one. Committed when this returns `.activated` (P1).
    ///
    /// It is notified of later updates only. A coalescing activation looks for the device's subscription with the same
    /// items, fields and trigger, overwrites it and arms it again. Its held push stays, and the updates that it has not
    /// been notified of still count. Two such activations at once make one subscription.
    ///
    /// - Parameters:
    ///   - key: the name of a new one.
    ///   - user: the user whose token came with the request, who must be the device's user; nil: an API key came.
    ///   - claim: with it, a repeated request has no second effect (P10).
    ///   - answer: makes the answer that a repeated request gets. Called within the transaction, so it must not wait.
    package func activate(
        _ terms: SubscriptionTerms, key: UniversalID, coalescing: Bool, registration: RegistrationID, user: String?,
        app: AppID, once claim: IdempotencyClaim?, now: WallInstant? = nil,
        answer: @escaping @Sendable (ItemSubscription, _ isNew: Bool) -> [UInt8]
    ) async throws(StoreFault) -> ActivationReply {
        try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> ActivationReply in
                if let claim {
                    let answers = try await transaction.run(claim.opening(app))
                    guard answers[0].affectedRows == 1 else {
                        return ActivationReply(try claim.reply(in: answers[1]))
                    }
                }
                var arming = ItemArming(terms, of: registration, app: app, now: now)
                if let refusal = try await arming.begin(user: user, counts: counts, in: transaction) {
                    return await transaction.abandon(returning: ActivationReply(refusal))
                }
                let count = Query(ItemSubscriptionSQL.count) {
                    $0.int64("registration", registration.value)
                    $0.int64("limit", Int64(Self.perDeviceMax))
                }
                let found = try await transaction.run(
                    [count] + (coalescing ? arming.itemLocks + [arming.alike] : []))
                let known = try coalescing ? found[found.count - 1].first(ItemArming.Known.init) : nil
                let counted = try found[0].one(Int64.init)
                guard known != nil || counted < Int64(Self.perDeviceMax) else {
                    return await transaction.abandon(returning: .tooMany)
                }
                if let known { _ = try await transaction.run(arming.disarm(known.id, keepsProgress: true)) }
                if let refusal = try await arming.refusal(in: transaction) {
                    return await transaction.abandon(returning: ActivationReply(refusal))
                }
                let subscription =
                    if let known {
                        try await Self.overwrite(known, arming, user: user, in: transaction)
                    } else { try await Self.add(key, arming, user: user, in: transaction) }
                let closing = claim?.closing(app, answer: answer(subscription, known == nil))
                _ = try await transaction.runAndCommit(arming.arm(subscription.id) + (closing.map { [$0] } ?? []))
                return .activated(subscription, isNew: known == nil)
            })
    }

    /// The reply to an earlier activation with this key; nil: there was none, and the key is still free.
    package func earlier(_ claim: IdempotencyClaim, app: AppID) async throws(StoreFault) -> ActivationReply? {
        try await translated(await claim.earlier(app: app, in: pool)).map { ActivationReply($0) }
    }

    private static func add(
        _ key: UniversalID, _ arming: ItemArming, user: String?, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ItemSubscription {
        let made = try await transaction.run(arming.add(key, user: user)).one { row throws(PostgresError) in
            (id: try row.int64(), createdAt: try row.instant())
        }
        return ItemSubscription(
            id: made.id, key: key, status: .active, terms: arming.terms, revision: 1, createdAt: made.createdAt)
    }

    private static func overwrite(
        _ known: ItemArming.Known, _ arming: ItemArming, user: String?, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ItemSubscription {
        _ = try await transaction.run(arming.change(known.id, status: .active, user: user))
        return ItemSubscription(known, status: .active, terms: arming.terms)
    }
}

extension ItemSubscription {
    /// A subscription whose terms were changed.
    init(_ known: ItemArming.Known, status: SubscriptionStatus, terms: SubscriptionTerms) {
        self.init(
            id: known.id, key: known.key, status: status, terms: terms, revision: known.revision &+ 1,
            createdAt: known.createdAt)
    }
}

extension ActivationReply {
    fileprivate init(_ refusal: ItemArming.Refusal) {
        self =
            switch refusal {
            case .unknownDevice: .unknownDevice
            case .tooManyItems: .tooMany
            case .tooManyExpressions: .tooManyExpressions
            }
    }

    fileprivate init(_ earlier: IdempotentReply) {
        switch earlier {
        case .done(let answer), .replayed(let answer): self = .replayed(answer: answer)
        case .mismatch: self = .mismatch
        }
    }
}
