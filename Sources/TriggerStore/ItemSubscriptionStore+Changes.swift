import Basis
import Model
import Postgres
import Store
import TriggerRules

extension ItemSubscriptionStore {
    /// Changes the terms of a device's subscription, whose key stays. Committed when this returns `.modified`.
    ///
    /// - Parameters:
    ///   - revision: the one whose terms were read before. Another one changes nothing.
    ///   - rearms: it is active again, and notified of later updates only. A held push without a trigger is dropped
    ///     unless the subscription still follows its item. A held push of a trigger stays in any case.
    package func modify(
        _ key: UniversalID, of registration: RegistrationID, from revision: Int32, to terms: SubscriptionTerms,
        rearms: Bool, now: WallInstant? = nil
    ) async throws(StoreFault) -> ModificationReply {
        try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> ModificationReply in
                let appOf = Query(ItemSubscriptionSQL.app) { $0.int64("registration", registration.value) }
                guard let app = try await transaction.run(appOf).first(Int64.init) else {
                    return await transaction.abandon(returning: .unknown)
                }
                var arming = ItemArming(terms, of: registration, app: AppID(app), now: now)
                if let refusal = try await arming.begin(user: nil, counts: counts, in: transaction) {
                    return await transaction.abandon(returning: ModificationReply(refusal))
                }
                let lock = Query(ItemSubscriptionSQL.lock) { $0.subscription(key, of: registration, now) }
                let held = Query(ItemArmingSQL.held) {
                    $0.uuid("key", key)
                    $0.int64("registration", registration.value)
                }
                let answers = try await transaction.run(arming.itemLocks + [lock, held])
                let (found, heldTexts) = (answers[answers.count - 2], answers[answers.count - 1])
                guard let known = try found.first(ItemArming.Known.init) else {
                    return await transaction.abandon(returning: .unknown)
                }
                guard known.revision == revision else {
                    return await transaction.abandon(returning: .changedMeanwhile)
                }
                let status = rearms ? .active : known.status
                let change = arming.change(known.id, status: status, user: known.user)
                _ = try await transaction.run([change] + arming.disarm(known.id, keepsProgress: !rearms))
                var last: [Query] = []
                if status == .active {
                    if let refusal = try await arming.refusal(in: transaction) {
                        return await transaction.abandon(returning: ModificationReply(refusal))
                    }
                    last = [arming.dropHeld(known.id)] + arming.arm(known.id)
                }
                let texts = try heldTexts.first { row throws(PostgresError) in
                    try row.optionalTextArray()
                }
                if let texts { last.insert(arming.rewriteHeld(known.id, texts: texts, of: known.fields), at: 0) }
                if !last.isEmpty { _ = try await transaction.runAndCommit(last) }
                return .modified(ItemSubscription(known, status: status, terms: terms))
            })
    }

    /// Others change the terms seldom.
    private static let triesMax = 20

    /// Arms a subscription again whose trigger has fired. An active one stays as it is.
    package func reactivate(
        _ key: UniversalID, of registration: RegistrationID, now: WallInstant? = nil
    ) async throws(StoreFault) -> ModificationReply {
        for _ in 0..<Self.triesMax {
            guard let known = try await subscription(key, of: registration, now: now) else { return .unknown }
            guard known.status == .triggered else { return .modified(known) }
            let reply = try await modify(
                key, of: registration, from: known.revision, to: known.terms, rearms: true, now: now)
            guard reply == .changedMeanwhile else { return reply }
        }
        return .changedMeanwhile
    }

    /// Removes a subscription, and drops the push that it holds. The device may be forgotten with it.
    ///
    /// - Returns: whether the device had it.
    package func remove(
        _ key: UniversalID, of registration: RegistrationID, now: WallInstant? = nil
    ) async throws(StoreFault) -> Bool {
        let remove = Query(ItemSubscriptionSQL.remove) { $0.subscription(key, of: registration, now) }
        return try await self.remove(by: remove, of: [registration.value]) > 0
    }

    /// Removes a device's subscriptions of one status, or all, and drops the pushes that they hold. The device may be
    /// forgotten with its last one.
    ///
    /// - Returns: the number of subscriptions.
    package func removeAll(
        of registration: RegistrationID, status: SubscriptionStatus?, now: WallInstant? = nil
    ) async throws(StoreFault) -> Int {
        let remove = Query(ItemSubscriptionSQL.removeAll) {
            $0.int64("registration", registration.value)
            $0.int16("status", status?.rawValue)
            $0.instant("now", now)
        }
        return try await self.remove(by: remove, of: [registration.value])
    }
}

extension Parameters {
    /// One of a device's subscriptions, unless it has expired.
    mutating func subscription(_ key: UniversalID, of registration: RegistrationID, _ now: WallInstant?) {
        uuid("key", key)
        int64("registration", registration.value)
        instant("now", now)
    }
}

extension ModificationReply {
    fileprivate init(_ refusal: ItemArming.Refusal) {
        self =
            switch refusal {
            case .unknownDevice: .unknown
            case .tooManyItems: .tooMany
            case .tooManyExpressions: .tooManyExpressions
            }
    }
}
