import Basis
import Model
import Postgres
import QueueRules

extension ParcelStore {
    /// Leases the route's next parcel; returns nil if none is due, or if others are leasing all of them at this moment.
    ///
    /// One transaction claims the parcel, increments the badges of its first lease under the badge mark (P3), and reads
    /// the members' rows. A parcel that can't be leased as it is stored is put aside, so that the others go on; the
    /// fault names it.
    package func lease(_ order: LeaseOrder, now: WallInstant? = nil) async throws(StoreFault) -> LeasedParcel? {
        precondition(order.scope != .rateLimited, "rate-limited parcels are leased with the messages to skip")
        return try await lease(order, passing: [], now: now).parcel
    }

    /// Leases a quantum of the route's rate-limited parcels, as `lease` leases a parcel: as much as the rate allows
    /// over all processes by now.
    ///
    /// - Parameter passing: messages to skip.
    package func leaseRateLimited(
        _ order: LeaseOrder, passing: [MessageID] = [], now: WallInstant? = nil
    ) async throws(StoreFault) -> Lease {
        precondition(order.scope == .rateLimited)
        return try await lease(order, passing: passing, now: now)
    }

    /// - Parameter lockTimeout: the longest wait for a row that others have locked. Then the parcel is put aside for a
    ///   moment. nil: the limit of any statement.
    func lease(
        _ order: LeaseOrder, passing: [MessageID] = [], now: WallInstant?, lockTimeout: Duration? = nil
    ) async throws(StoreFault) -> Lease {
        let atWork = ClaimedRow<ParcelID>()
        var found: Duration?
        do throws(StoreFault) {
            for _ in 1...Self.stoppedMax {
                let (claim, again) = try await leaseNext(
                    order, passing, now: now, noting: atWork, TransactionOptions(lockTimeout: lockTimeout))
                switch claim {
                case .nothing: return Lease(again: again ?? found)
                case .leased(let parcel): return Lease(parcel, again: again ?? found)
                case .kept(let isForRate): if isForRate { found = .zero }
                }
            }
            return Lease(again: found)
        } catch {
            let isLocked = error == .contended && lockTimeout != nil
            guard let parcel = isLocked ? atWork.row : atWork.blamed(for: error) else { throw error }
            let query = Query(ParcelSQL.putAside) {
                $0.int64(parcel.value)
                $0.instant(now)
                $0.int64((isLocked ? lockedPutAsideFor : putAsideFor).wholeMicroseconds)
            }
            _ = try await translating { () throws(PostgresError) in try await pool.run(query) }
            throw error.about("parcel \(parcel.value)")
        }
    }

    /// The most stopped messages that one lease moves out of its way; the next lease goes on with more.
    static let stoppedMax = 16

    /// Values of the column `state` of `parcels`.
    static let onHoldState: Int16 = 3
    static let rateLimitedState: Int16 = 4

    private enum Claim: Sendable {
        case nothing
        case leased(LeasedParcel)
        /// Its message is stopped or has a rate: the message's parcels are put on hold, or become rate-limited.
        case kept(isForRate: Bool)
    }

    private func leaseNext(
        _ order: LeaseOrder, _ passing: [MessageID], now: WallInstant?, noting atWork: ClaimedRow<ParcelID>,
        _ options: TransactionOptions
    ) async throws(StoreFault) -> (Claim, again: Duration?) {
        let (pool, steps) = (pool, steps)
        return try await translating { () throws(PostgresError) in
            // 40P01: another lease or a registration locked the same badges in another order after all.
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(options) { transaction throws(PostgresError) -> (Claim, again: Duration?) in
                    let answers = try await transaction.run(order.queries(passing, now: now))
                    let answer = answers[1]
                    var wait = answers.count > 2 ? try answers[2].wait : nil
                    atWork.note(answer.rowCount == 1 ? ParcelID(try answer.int64(0, 0)) : nil)
                    guard answer.rowCount == 1 else { return (.nothing, wait) }
                    let state = try answer.int16(0, 25)
                    if let keeping = order.keeping(try answer.uuid(0, 1), state, now: now) {
                        _ = try await transaction.runAndCommit([keeping])
                        return (.kept(isForRate: order.isForRate(state)), wait)
                    }
                    var claimed = try ClaimedParcel(reading: answer, order)
                    if state == Self.rateLimitedState {
                        let share = try claimed.split(Int(answer.int32(0, 31)), for: order, now: now)
                        claimed.id = ParcelID(try await transaction.run([share])[0].int64(0, 0))
                    } else if order.scope == .rateLimited,
                        let next = try await claimed.gather(
                            for: order, next: order.next(passing, now: now), now: now, noting: atWork, in: transaction)
                    {
                        wait = try next.wait
                    }
                    claimed.excluded = try await AudienceCheck.excluded(from: [claimed], in: transaction)[0]
                    var writes: [Query] = []
                    if let limited = try claimed.limited {
                        let judged = try await LimitedParcel.judge([limited], in: transaction)
                        claimed.judged = judged[0]
                        writes = LimitedParcel.writes([limited], judged, raising: try claimed.badge)
                    }
                    let readings = try claimed.readings
                    let rows = try await transaction.conclude(
                        writes + readings + claimed.charges(order.scope, now: now), announcing: .leaseWritten,
                        to: steps)
                    let read = Array(rows[writes.count...].prefix(readings.count))
                    return (.leased(try claimed.leased(with: read)), wait)
                }
            }
        }
    }
}

extension ResultSet {
    /// The time until the next quantum.
    fileprivate var wait: Duration? {
        get throws(PostgresError) { try int64OrNil(0, 0).map { .microseconds(max(0, $0)) } }
    }
}
