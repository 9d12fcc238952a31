import DeliveryRules
import Encodings
import Postgres
import PushModel

extension Settlement {
    /// It ends its parcel, and leaves nothing behind: what may be settled together with others.
    package var isWhole: Bool { pendingAfter == 0 && remainders.allSatisfy(\.members.isEmpty) }
}

extension ParcelStore {
    /// More would hold their messages' rows for longer than a neighbour should wait.
    package static let settledTogetherMax = 100

    /// Settles parcels that end with it, each as `settle` would: one's fence doesn't touch the others. In one transaction;
    /// where that fails over some row, one by one, so that it fails for that one alone.
    ///
    /// - Parameter settlements: `isWhole`, at most `settledTogetherMax`.
    /// - Returns: one for each, in their order.
    package func settleGroup(
        _ settlements: [Settlement], now: WallInstant? = nil
    ) async -> [Result<SettleReply, StoreFault>] {
        precondition(settlements.count <= Self.settledTogetherMax && settlements.allSatisfy(\.isWhole))
        guard settlements.count > 1 else { return await oneByOne(settlements, now: now) }
        do throws(StoreFault) {
            return try await settleTogether(settlements, now: now).map { .success($0) }
        } catch {
            switch error {
            case .conflict, .invalid, .damaged: return await oneByOne(settlements, now: now)
            // Who knows whether it was written: each may be handed in again.
            case .unavailable, .contended, .commitUnknown, .unknownApp, .cancelled:
                return settlements.map { _ in .failure(error) }
            }
        }
    }

    private func oneByOne(_ settlements: [Settlement], now: WallInstant?) async -> [Result<SettleReply, StoreFault>] {
        var replies: [Result<SettleReply, StoreFault>] = []
        for settlement in settlements {
            do throws(StoreFault) {
                replies.append(.success(try await settle(settlement, now: now)))
            } catch { replies.append(.failure(error)) }
        }
        return replies
    }

    private func settleTogether(
        _ settlements: [Settlement], now: WallInstant?
    ) async throws(StoreFault) -> [SettleReply] {
        // Messages' rows are locked in one order.
        let order = settlements.indices.sorted {
            let (left, right) = (settlements[$0], settlements[$1])
            return (left.message, left.parcel, $0) < (right.message, right.parcel, $1)
        }
        let sorted = order.map { settlements[$0] }
        let queries = [
            Query(PlannerSQL.throughKeys), Self.query(for: sorted, now: now),
            Query(SettleGroupSQL.standing) { $0.int64Array(sorted.map(\.parcel.value)) },
        ]
        let (pool, steps) = (pool, steps)
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction { transaction throws(PostgresError) in
                    try await transaction.conclude(queries, announcing: .settleWritten, to: steps)
                }
            }
            var replies = [SettleReply](repeating: .fenced(standing: nil), count: settlements.count)
            for row in 0..<answers[2].rowCount {
                let standing = ParcelStanding(
                    epoch: try answers[2].int32(row, 1), settles: try answers[2].int32(row, 2),
                    isLeased: try answers[2].bool(row, 3))
                replies[try Self.place(row, in: answers[2], of: order)] = .fenced(standing: standing)
            }
            for row in 0..<answers[1].rowCount { replies[try Self.place(row, in: answers[1], of: order)] = .settled }
            return replies
        }
    }

    private static func place(_ row: Int, in answer: ResultSet, of order: [Int]) throws(PostgresError) -> Int {
        let place = Int(try answer.int64(row, 0))
        guard (1...order.count).contains(place) else {
            throw .unexpectedShape(statement: SettleGroupSQL.whole.name, column: 0)
        }
        return order[place - 1]
    }

    private static func query(for settlements: [Settlement], now: WallInstant?) -> Query {
        var parameters = Parameters()
        parameters.int64Array(settlements.map(\.parcel.value))
        parameters.int32Array(settlements.map(\.epoch))
        parameters.int32Array(settlements.map(\.settles))
        for state in TerminalState.allCases {
            parameters.int32Array(
                settlements.map { settlement in
                    Int32(settlement.endings.reduce(0) { $0 + ($1.ending.state == state ? $1.count : 0) })
                })
        }
        parameters.int64Array(settlements.map { Int64($0.sample.answered) })
        parameters.int64Array(settlements.map { Int64($0.sample.suspected) })
        parameters.instant(now)
        let told = settlements.enumerated().flatMap { place, settlement in
            EndingCount.told(settlement.endings).map { (place: Int64(place + 1), ending: $0) }
        }
        parameters.int64Array(told.map(\.place))
        parameters.int16Array(told.map(\.ending.ending.state.rawValue))
        parameters.textArray(told.map(\.ending.ending.reason))
        parameters.int64Array(told.map { Int64($0.ending.count) })
        let history = settlements.enumerated().flatMap { place, settlement in
            settlement.history.filter { !$0.members.isEmpty }.enumerated().map { number, entry in
                (place: Int64(place + 1), number: Int64(number + 1), entry: entry)
            }
        }
        parameters.int64Array(history.map(\.place))
        parameters.int64Array(history.map(\.number))
        parameters.history(history.map(\.entry))
        return Query(SettleGroupSQL.whole, parameters)
    }
}
