import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// The way in which a settle treats rows that other transactions have locked.
package enum LockedRows: Equatable, Sendable {
    /// It waits for them as long as a statement may run. For a settle that no other work waits for.
    case wait
    /// It waits briefly. Then the settlements that need them fail with `.contended`.
    case waitBriefly
    /// The settlements that need them fail with `.contended` at once, so that no lock is held meanwhile.
    case pass
}

extension ParcelStore {
    /// More would lock their messages' rows for longer than a neighbour should wait.
    package static let settledTogetherMax = 100

    /// Writes the terminal states and remainders of parcels' members in one transaction, for each parcel all or
    /// nothing.
    ///
    /// Each settlement is a compare-and-set on (parcel, epoch, settles, leased): a loser's counts are dropped and the
    /// others are not affected. After `commitUnknown` the same settlement may be handed in again. If the transaction
    /// fails over some row, it is repeated in halves, so that only one settlement fails. If others have locked a row for
    /// long, the settlements that need it fail with `.contended`, and the others are settled without them.
    ///
    /// - Parameter settlements: each parcel once, at most `settledTogetherMax`.
    /// - Returns: a result for each, in their order.
    package func settle(
        _ settlements: [Settlement], locked: LockedRows = .waitBriefly, now: WallInstant? = nil
    ) async -> [Result<SettleReply, StoreFault>] {
        precondition(settlements.count <= Self.settledTogetherMax)
        guard !settlements.isEmpty else { return [] }
        do throws(GroupFault) {
            let replies = try await settleTogether(settlements, locked, now: now)
            let areDue = zip(settlements, replies).contains { settlement, reply in
                reply == .success(.settled) && settlement.remainders.contains(where: \.isDue)
            }
            if areDue { notifier.notify(.parcels) }
            return replies
        } catch {
            // Otherwise it is unknown whether it was written, or what is locked: each may be handed in again.
            guard error.isOverARow, settlements.count > 1, !error.isLocked || locked != .pass else {
                return settlements.map { _ in .failure(error.fault) }
            }
            if error.isLocked { return await settle(settlements, locked: .pass, now: now) }
            let half = settlements.count / 2
            let first = await settle(Array(settlements[..<half]), locked: locked, now: now)
            // If the database is unreachable, the other half would wait for it just as long.
            for case .failure(let fault) in first where fault.isOutage || fault == .cancelled {
                return first + settlements[half...].map { _ in .failure(fault) }
            }
            return first + (await settle(Array(settlements[half...]), locked: locked, now: now))
        }
    }

    private func settleTogether(
        _ settlements: [Settlement], _ locked: LockedRows, now: WallInstant?
    ) async throws(GroupFault) -> [Result<SettleReply, StoreFault>] {
        // Message rows are locked in one order.
        let order = settlements.indices.sorted {
            let (left, right) = (settlements[$0], settlements[$1])
            return (left.message, left.parcel, $0) < (right.message, right.parcel, $1)
        }
        let options = TransactionOptions(lockTimeout: locked == .wait ? nil : LockTimeout.brief)
        return try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingTransaction(options) { transaction throws(PostgresError) in
                var free = order
                if locked == .pass {
                    free = try await Self.lock(order.map { settlements[$0] }, in: transaction).map { order[$0] }
                }
                let sorted = free.map { settlements[$0] }
                let status = Query(SettleSQL.status) { $0.int64Array("parcels", sorted.map(\.parcel.value)) }
                let queries = Self.queries(for: sorted, places: free, now: now) + [status]
                let answers = try await transaction.runAndCommit(queries)
                var replies = [Result<SettleReply, StoreFault>](
                    repeating: .failure(.contended), count: settlements.count)
                for (place, reply) in try Self.replies(answers, to: free.count).enumerated() {
                    replies[free[place]] = .success(reply)
                }
                return replies
            }
        }
    }

    /// Locks the rows of the settlements, and returns the places of those that no other transaction has locked.
    private static func lock(
        _ settlements: [Settlement], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Int] {
        let lock = Query(SettleSQL.lock) {
            $0.uuidArray("messages", settlements.map(\.message.value))
            $0.int64Array("parcels", settlements.map(\.parcel.value))
        }
        return try await transaction.runThroughKeys(lock).places(upTo: settlements.count).sorted()
    }

    /// - Returns: one reply for each place.
    private static func replies(_ answers: [ResultSet], to count: Int) throws(PostgresError) -> [SettleReply] {
        var replies = [SettleReply](repeating: .fenced(status: nil), count: count)
        let remaining = try answers[2].map { row throws(PostgresError) in
            (
                place: try row.place(upTo: count),
                status: ParcelStatus(epoch: try row.int32(), settles: try row.int32(), isLeased: try row.bool())
            )
        }
        for (place, status) in remaining { replies[place] = .fenced(status: status) }
        for place in try answers[1].places(upTo: count) { replies[place] = .settled }
        return replies
    }

    /// Returns the queries that settle; the second one's answer has a row for each settlement that was written.
    ///
    /// - Parameter places: for each settlement, its place in the order in which they were handed in; nil: the same.
    static func queries(for settlements: [Settlement], places: [Int]? = nil, now: WallInstant?) -> [Query] {
        precondition(settlements.allSatisfy { $0.pendingAfter >= 0 }, "a settle leaves no negative number of members")
        let areEnding = settlements.allSatisfy { settlement in
            settlement.pendingAfter == 0 && settlement.remainders.allSatisfy(\.members.isEmpty)
                && settlement.takenBack.isEmpty
        }
        let settle = Query(areEnding ? SettleSQL.ending : SettleSQL.settle) {
            $0.settlements(settlements, places: places ?? Array(settlements.indices), now: now)
            if !areEnding { $0.remainders(of: settlements) }
            $0.reasons(of: settlements)
            $0.history(of: settlements)
            if !areEnding { $0.takenBack(of: settlements) }
        }
        return [Query(PlannerSQL.throughKeys), settle]
    }
}

extension TerminalCount {
    /// Returns the counts that get a row of their own, each terminal status once. They are ordered by state and reason,
    /// so that rows are locked in one order. A plain `accepted` adds nothing to the parcel's own count.
    static func nonZero(_ terminalCounts: [TerminalCount]) -> [TerminalCount] {
        let kept = terminalCounts.filter { $0.count > 0 && $0.terminalStatus != TerminalStatus(.accepted) }
        let sorted = kept.sorted {
            $0.terminalStatus.state == $1.terminalStatus.state
                ? $0.terminalStatus.reason.utf8.lexicographicallyPrecedes($1.terminalStatus.reason.utf8)
                : $0.terminalStatus.state.rawValue < $1.terminalStatus.state.rawValue
        }
        var merged: [TerminalCount] = []
        for count in sorted {
            if let last = merged.indices.last, merged[last].terminalStatus == count.terminalStatus {
                merged[last].count += count.count
            } else {
                merged.append(count)
            }
        }
        return merged
    }
}
