import Basis
import Model
import Postgres
import QueueRules
import Reactor

extension ParcelStore {
    /// Leases the route's next parcels, in their order.
    ///
    /// One transaction claims them, increments the badges of their first leases under the badge mark (P3), and reads
    /// the members' rows. Each parcel has the epoch, members and badges that a lease of its own would give it. Of
    /// rate-limited parcels it leases a quantum: as much as the rate allows over all processes by now.
    ///
    /// Several are leased only if the scope may bring several, and if they are small and of transactional messages
    /// (`LeaseGroup`), else one at most. The result is empty if none is due, or if others are leasing all of them.
    ///
    /// If a parcel can't be leased as it is stored, or others have locked its rows, fewer are leased at once, until it
    /// fails alone. It is then put aside, so that the others go on, and the fault that is thrown names it.
    ///
    /// - Parameter unreadable: called for each of several parcels whose members turn out to be unreadable after the
    ///   lease. Such a parcel is not handed out, and its lease expires. If none is left to hand out, a fault is thrown.
    package func lease(
        _ order: LeaseOrder, _ size: LeaseGroup = .standard, now: WallInstant? = nil,
        unreadable: @Sendable (StoreFault) -> Void = { _ in }
    ) async throws(StoreFault) -> Lease {
        var size = size
        if !order.scope.mayBringSeveral { size.parcelsMax = 1 }
        var lockTimeout: Duration? = order.scope.mayBringSeveral ? LockTimeout.brief : nil
        var lease = Lease()
        for _ in 1...Self.stoppedMax {
            let atWork = ClaimedRows<ParcelID>()
            let leased: LeasedGroup
            do throws(GroupFault) {
                leased = try await leaseNext(order, size, lockTimeout, now: now, noting: atWork)
            } catch {
                guard error.isOverARow, let first = atWork.first else { throw error.fault }
                if let fewer = atWork.fewer {
                    size.parcelsMax = fewer
                    if error.isLocked { lockTimeout = LockTimeout.afterBrief }
                } else if error.isLocked, !atWork.isUrgent {
                    (size.parcelsMax, lockTimeout) = (1, nil)
                } else {
                    try await putAside(first, for: error.putAsideFor, now: now)
                    throw error.fault.about("parcel \(first.value)")
                }
                continue
            }
            if leased.isForRate { lease.again = .zero }
            if leased.isKept { continue }
            lease.parcels = leased.parcels
            lease.again = leased.wait ?? lease.again
            guard let fault = leased.unreadable.first else { return lease }
            for other in leased.unreadable.dropFirst() { unreadable(other) }
            guard !leased.parcels.isEmpty else { throw fault }
            unreadable(fault)
            return lease
        }
        return lease
    }

    /// The most tries of one lease, after stopped messages that it moved out of its way and after faulty parcels; the
    /// next lease goes on with more.
    static let stoppedMax = 16

    private func leaseNext(
        _ order: LeaseOrder, _ size: LeaseGroup, _ lockTimeout: Duration?, now: WallInstant?,
        noting atWork: ClaimedRows<ParcelID>
    ) async throws(GroupFault) -> LeasedGroup {
        let subscribers = SubscriberCheck(reader: rules, now: now ?? Clocks.wallNow())
        return try await translatingGroup { () throws(PostgresError) in
            // 40P01: another lease or a registration locked the same badges in another order after all.
            try await pool.retryingTransaction(TransactionOptions(lockTimeout: lockTimeout)) {
                transaction throws(PostgresError) -> LeasedGroup in
                let answers = try await transaction.run(order.claim(size, now: now))
                var wait = answers.count > 2 ? try answers[2].wait : nil
                guard answers[1].rowCount > 0 else { return LeasedGroup(wait: wait) }
                var group = try ClaimedGroup(reading: answers[1], order, now: now, noting: atWork)
                guard !group.parcels.isEmpty else {
                    _ = try await transaction.runAndCommit(group.keepings)
                    return LeasedGroup(isForRate: group.isForRate, isKept: true)
                }
                if order.scope == .rateLimited,
                    let next = try await group.fillQuantum(order, now: now, noting: atWork, in: transaction)
                {
                    wait = try next.wait
                }
                var check = AudienceCheck(subscribers: subscribers)
                try await group.judge(&check, in: transaction)
                let charges = group.charges(order.scope, now: now)
                let areCharged = try await group.check(&check, behind: charges, in: transaction)
                let (writes, readings) = (group.writes, group.readings)
                let others = (areCharged ? [] : charges) + group.keepings
                let rows = try await transaction.runAndCommit(writes + readings + others)
                var leased = try group.leased(with: Array(rows[writes.count...].prefix(readings.count)))
                leased.wait = wait
                return leased
            }
        }
    }

    private func putAside(_ parcel: ParcelID, for length: Duration, now: WallInstant?) async throws(StoreFault) {
        let query = Query(ParcelSQL.putAside) {
            $0.int64("parcel", parcel.value)
            $0.int64("length_us", length.wholeMicroseconds)
            $0.instant("now", now)
        }
        _ = try await translated(await pool.run(query))
    }
}

extension ResultSet {
    /// The time until the next quantum.
    fileprivate var wait: Duration? {
        get throws(PostgresError) {
            try one { row throws(PostgresError) in try row.int64OrNil() }.map { .microseconds(max(0, $0)) }
        }
    }
}
