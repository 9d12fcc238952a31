import Basis
import Encodings
import Model
import Postgres
import QueueRules

extension ParcelStore {
    /// More would lock their messages' rows for longer than a neighbour should wait.
    package static let settledTogetherMax = 100

    /// Settles parcels that end with it, each as `settle` would, in their order; a fenced one doesn't affect the
    /// others. One transaction settles all of them. If it fails over some row, they are settled one by one, so that
    /// only one fails. If others have locked a row for long, the settlements that need it fail with `.contended`. The
    /// others are settled without them.
    ///
    /// - Parameters:
    ///   - settlements: each `isGroupable`, at most `settledTogetherMax`.
    ///   - passingLocked: locked rows are not waited for, so that no lock is held meanwhile.
    /// - Returns: a result for each, in their order.
    package func settleGroup(
        _ settlements: [Settlement], passingLocked: Bool = false, now: WallInstant? = nil
    ) async -> [Result<SettleReply, StoreFault>] {
        precondition(settlements.count <= Self.settledTogetherMax && settlements.allSatisfy(\.isGroupable))
        if !passingLocked {
            guard settlements.count > 1 else { return await oneByOne(settlements, now: now) }
            do throws(GroupFault) {
                return try await settleTogether(settlements, now: now)
            } catch {
                guard error.isOverARow else { return settlements.map { _ in .failure(error.fault) } }
                guard error.fault == .contended else { return await oneByOne(settlements, now: now) }
            }
        }
        do throws(GroupFault) {
            return try await settleTogether(settlements, passingLocked: true, now: now)
        } catch {
            // It is unknown whether it was written, or what is locked: each may be handed in again.
            guard error.isOverARow, error.fault != .contended else {
                return settlements.map { _ in .failure(error.fault) }
            }
            return await oneByOne(settlements, now: now)
        }
    }

    private func oneByOne(_ settlements: [Settlement], now: WallInstant?) async -> [Result<SettleReply, StoreFault>] {
        var replies: [Result<SettleReply, StoreFault>] = []
        for settlement in settlements {
            do throws(StoreFault) {
                replies.append(
                    .success(try await settle(settlement, now: now, TransactionOptions(lockTimeout: LockTimeout.brief)))
                )
            } catch {
                replies.append(.failure(error))
                // If the database is unreachable, each of them would wait for it just as long.
                guard error != .unavailable, error != .cancelled else { break }
            }
        }
        while replies.count < settlements.count, let last = replies.last { replies.append(last) }
        return replies
    }

    /// - Parameter passingLocked: settlements with a locked row fail with `.contended`, instead of all of them.
    private func settleTogether(
        _ settlements: [Settlement], passingLocked: Bool = false, now: WallInstant?
    ) async throws(GroupFault) -> [Result<SettleReply, StoreFault>] {
        // Message rows are locked in one order.
        let order = settlements.indices.sorted {
            let (left, right) = (settlements[$0], settlements[$1])
            return (left.message, left.parcel, $0) < (right.message, right.parcel, $1)
        }
        let (pool, steps) = (pool, steps)
        return try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(TransactionOptions(lockTimeout: LockTimeout.brief)) {
                    transaction throws(PostgresError) in
                    var free = order
                    if passingLocked {
                        free = try await Self.lock(order.map { settlements[$0] }, in: transaction).map { order[$0] }
                    }
                    let sorted = free.map { settlements[$0] }
                    let queries = [
                        Query(PlannerSQL.throughKeys), Self.query(for: sorted, places: free, now: now),
                        Query(SettleGroupSQL.status) { $0.int64Array(sorted.map(\.parcel.value)) },
                    ]
                    let answers = try await transaction.conclude(queries, announcing: .settleWritten, to: steps)
                    var replies = [Result<SettleReply, StoreFault>](
                        repeating: .failure(.contended), count: settlements.count)
                    for (place, reply) in try Self.replies(answers, to: free.count).enumerated() {
                        replies[free[place]] = .success(reply)
                    }
                    return replies
                }
            }
        }
    }

    /// Locks the rows of the settlements, and returns the places of those that no other transaction has locked.
    private static func lock(
        _ settlements: [Settlement], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Int] {
        let rows = try await transaction.run([
            Query(PlannerSQL.throughKeys),
            Query(SettleGroupSQL.lock) {
                $0.uuidArray(settlements.map(\.message.value))
                $0.int64Array(settlements.map(\.parcel.value))
            },
        ])[1]
        var places: [Int] = []
        for row in 0..<rows.rowCount { places.append(try place(row, in: rows, of: settlements.count)) }
        return places.sorted()
    }

    /// - Returns: one reply for each place.
    private static func replies(_ answers: [ResultSet], to count: Int) throws(PostgresError) -> [SettleReply] {
        var replies = [SettleReply](repeating: .fenced(status: nil), count: count)
        for row in 0..<answers[2].rowCount {
            let status = ParcelStatus(
                epoch: try answers[2].int32(row, 1), settles: try answers[2].int32(row, 2),
                isLeased: try answers[2].bool(row, 3))
            replies[try place(row, in: answers[2], of: count)] = .fenced(status: status)
        }
        for row in 0..<answers[1].rowCount { replies[try place(row, in: answers[1], of: count)] = .settled }
        return replies
    }

    private static func place(_ row: Int, in answer: ResultSet, of count: Int) throws(PostgresError) -> Int {
        let place = Int(try answer.int64(row, 0))
        guard (1...count).contains(place) else {
            throw .unexpectedShape(statement: SettleGroupSQL.whole.name, column: 0)
        }
        return place - 1
    }

    /// - Parameter places: for each settlement, its place in the order in which they were handed in.
    private static func query(for settlements: [Settlement], places: [Int], now: WallInstant?) -> Query {
        var parameters = Parameters()
        parameters.int64Array(settlements.map(\.parcel.value))
        parameters.int32Array(settlements.map(\.epoch))
        parameters.int32Array(settlements.map(\.settles))
        for state in TerminalState.allCases {
            parameters.int32Array(
                settlements.map { settlement in
                    Int32(
                        settlement.terminalCounts.reduce(0) { $0 + ($1.terminalStatus.state == state ? $1.count : 0) })
                })
        }
        parameters.int64Array(settlements.map { Int64($0.sample.answered) })
        parameters.int64Array(settlements.map { Int64($0.sample.suspected) })
        parameters.instant(now)
        let nonZero = settlements.enumerated().flatMap { place, settlement in
            TerminalCount.nonZero(settlement.terminalCounts).map { (place: Int64(place + 1), terminalStatus: $0) }
        }
        parameters.int64Array(nonZero.map(\.place))
        parameters.int16Array(nonZero.map(\.terminalStatus.terminalStatus.state.rawValue))
        parameters.textArray(nonZero.map(\.terminalStatus.terminalStatus.reason))
        parameters.int64Array(nonZero.map { Int64($0.terminalStatus.count) })
        let history = settlements.enumerated().flatMap { place, settlement in
            settlement.history.filter { !$0.members.isEmpty }.enumerated().map { number, entry in
                (place: Int64(place + 1), number: Int64(number + 1), entry: entry)
            }
        }
        parameters.int64Array(history.map(\.place))
        parameters.int64Array(history.map(\.number))
        parameters.history(history.map(\.entry))
        let left = settlements.enumerated().flatMap { place, settlement in
            settlement.remainders.filter { !$0.members.isEmpty }.map { (place: Int64(place + 1), remainder: $0) }
        }
        guard !left.isEmpty else { return Query(SettleGroupSQL.whole, parameters) }
        parameters.int32Array(settlements.map { Int32($0.remainders.reduce(0) { $0 + $1.members.count }) })
        parameters.int64Array(places.map(Int64.init))
        parameters.int64Array(left.map(\.place))
        parameters.remainders(left.map(\.remainder))
        parameters.textArray(left.map(\.remainder.cause.rawValue))
        parameters.boolArray(left.map(\.remainder.isCounted))
        parameters.instantArray(left.map(\.remainder.dueAt))
        return Query(SettleGroupSQL.leavingSome, parameters)
    }
}
