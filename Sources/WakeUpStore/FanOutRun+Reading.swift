import Basis
import Model
import Postgres
import Store
import WakeUpRules

extension FanOutRun {
    /// A subscription, with the index of its watch among the claimed ones.
    struct FoundSubscription: Sendable {
        let index: Int
        let status: SubscriptionStatus
    }

    /// A row of `subscriptions`.
    private struct Subscription {
        /// The index of its watch among the claimed ones.
        let index: Int
        let id: Int64
        let registration: Int64
        let mode: WakeUpMode
        let isExpired: Bool

        init(_ row: inout Row, watches: Int) throws(PostgresError) {
            index = try row.place(upTo: watches)
            (id, registration, mode, isExpired) = (try row.int64(), try row.int64(), try row.stored(), try row.bool())
        }
    }

    /// A row of `subscription_progress` behind its key.
    private struct Progress {
        let seq: Int64
        let message: UniversalID?

        init(_ row: inout Row) throws(PostgresError) {
            seq = try row.int64()
            message = try row.optional { row throws(PostgresError) in try row.uuid() }
        }
    }

    /// A row of `registrations` behind its key.
    private struct Device {
        let route: Int64
        let provider: Provider
        let isRetired: Bool

        init(_ row: inout Row) throws(PostgresError) {
            (route, provider, isRetired) = (try row.int64(), try row.stored(), try row.bool())
        }
    }

    /// The next subscriptions of each watch. One that is removed meanwhile counts as expired: it gets nothing.
    func subscriptions(in transaction: PostgresTransaction) async throws(PostgresError) -> [FoundSubscription] {
        let query = Query(FanOutSQL.subscriptions) {
            $0.int64Array("watches", watches.map(\.id))
            $0.int64Array("after", watches.map(\.claim.after))
            $0.int64("limit", Int64(limit))
            $0.instant("now", now)
        }
        let count = watches.count
        let found = try await transaction.run(query).map { row throws(PostgresError) in
            try Subscription(&row, watches: count)
        }
        if found.isEmpty { return [] }
        let answers = try await transaction.run([
            FanOutSQL.lastReported.query(MemberKeys(found.map(\.id).rising)),
            FanOutSQL.devices.query(MemberKeys(found.map(\.registration).rising)),
        ])
        let progress = try answers[0].byKey(Progress.init)
        let devices = try answers[1].byKey(Device.init)
        return found.map { subscription in
            let (last, device) = (progress[subscription.id], devices[subscription.registration])
            let isGone = last == nil || device == nil
            return FoundSubscription(
                index: subscription.index,
                status: SubscriptionStatus(
                    id: subscription.id, registration: subscription.registration, route: device?.route ?? 0,
                    mode: subscription.mode, provider: device?.provider ?? Provider.allCases[0],
                    isExpired: subscription.isExpired || isGone, isRetired: device?.isRetired ?? true,
                    sentSeq: last?.seq ?? 0, message: last?.message))
        }
    }
}

extension ResultSet {
    /// The rows by their first column.
    fileprivate func byKey<Value>(
        _ read: (inout Row) throws(PostgresError) -> Value
    ) throws(PostgresError) -> [Int64: Value] {
        var values: [Int64: Value] = [:]  // lookup only
        values.reserveCapacity(rowCount)
        for index in 0..<rowCount {
            var row = self.row(index)
            let key = try row.int64()
            values[key] = try read(&row)
        }
        return values
    }
}
