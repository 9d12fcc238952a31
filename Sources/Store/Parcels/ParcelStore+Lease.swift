import Basis
import Model
import Postgres
import QueueRules

extension ParcelStore {
    /// Leases the route's next parcel; nil where none is due, or others are leasing each at this moment.
    ///
    /// One transaction: the claim, the badges of its first lease under the mark (P3), and the members' rows as they
    /// stand. A parcel that can't be leased as it is stored is put aside, and the fault names it: the others go on.
    package func lease(_ order: LeaseOrder, now: WallInstant? = nil) async throws(StoreFault) -> LeasedParcel? {
        precondition(order.scope != .rateLimited, "what waits for a rate is leased with what is passed by")
        return try await lease(order, passing: [], now: now).parcel
    }

    /// Leases a share of what waits on the route for its message's rate, as `lease` leases a parcel: over all processes, as
    /// much as the rate allows by now.
    ///
    /// - Parameter passing: messages that are not asked for.
    package func leaseRateLimited(
        _ order: LeaseOrder, passing: [MessageID] = [], now: WallInstant? = nil
    ) async throws(StoreFault) -> Lease {
        precondition(order.scope == .rateLimited)
        return try await lease(order, passing: passing, now: now)
    }

    /// - Parameter patience: how long a row that others have locked is waited for, before the parcel is put aside for a
    ///   moment; nil: as long as any statement.
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

    /// Stopped messages that one lease takes out of its way; who has more comes again.
    static let stoppedMax = 16

    /// The column `state` of `parcels`.
    static let onHoldState: Int16 = 3
    static let rateLimitedState: Int16 = 4

    private enum Claim: Sendable {
        case nothing
        case leased(LeasedParcel)
        /// Its message is stopped, or has a rate: kept now, and the others of that message with it.
        case kept(isForRate: Bool)
    }

    private func leaseNext(
        _ order: LeaseOrder, _ passing: [MessageID], now: WallInstant?, noting atWork: ClaimedRow<ParcelID>,
        _ options: TransactionOptions
    ) async throws(StoreFault) -> (Claim, again: Duration?) {
        let (pool, steps) = (pool, steps)
        return try await translating { () throws(PostgresError) in
            // 40P01: another lease, or a registration, took the same badges in another order after all.
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
    /// How long it is until the next share.
    fileprivate var wait: Duration? {
        get throws(PostgresError) { try int64OrNil(0, 0).map { .microseconds(max(0, $0)) } }
    }
}
