import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// Applies pause, resume, cancel and rates to a message's parcels: puts them on hold, releases them, or settles those
/// that will never be sent.
///
/// Every step is a transaction of its own over a bounded number of parcels, and follows from rows alone. Any process
/// does it, several concurrently, and none has to remember anything.
package struct StopStore: Sendable {
    /// The parcels that one transaction puts on hold or releases.
    package static let movedMax: Int64 = 1_000
    /// The parcels that one transaction ends: their members are read.
    package static let endedMax: Int64 = 20
    private static let messagesMax: Int64 = 256

    private let pool: PostgresPool
    private let notifier: WorkNotifier
    private let steps: (any StepListener)?
    private let movedMax: Int64
    private let endedMax: Int64

    /// - Parameters:
    ///   - steps: nil in production.
    ///   - movedMax: the parcels that one transaction puts on hold or releases.
    ///   - endedMax: the parcels that one transaction ends.
    package init(
        pool: PostgresPool, notifier: WorkNotifier, steps: (any StepListener)? = nil, movedMax: Int64 = Self.movedMax,
        endedMax: Int64 = Self.endedMax
    ) {
        precondition(movedMax > 0 && endedMax > 0)
        self.pool = pool
        self.notifier = notifier
        self.steps = steps
        self.movedMax = movedMax
        self.endedMax = endedMax
    }

    private struct Found: Sendable {
        let message: UniversalID
        let isStopped: Bool
        let isOver: Bool
        /// Whether some parcels need not wait for the rate any longer.
        let isRateLifted: Bool
    }

    /// Does everything that there is to do; returns the number of parcels.
    ///
    /// - Throws: `damaged`, after everything else is done. A parcel that can't be read waits for its repair and delays
    ///   no other message.
    @discardableResult
    package func carryOut(now: WallInstant? = nil) async throws(StoreFault) -> Int {
        var count = 0
        var last = UniversalID(high: 0, low: 0)
        var found: [Found] = []
        var damage: StoreFault?
        repeat {
            found = try await page(after: last, now: now)
            // Putting on hold comes first: parcels that are still ready delay others.
            for message in found where message.isStopped { count += try await putOnHold(message.message) }
            for message in found where message.isOver {
                do throws(StoreFault) { count += try await end(message.message, now: now) } catch {
                    guard case .damaged(let place) = error else { throw error }
                    damage = damage ?? .damaged("message \(message.message.text): \(place)")
                }
            }
            for message in found where !message.isStopped {
                count += try await release(message.message, now: now)
                if message.isRateLifted { count += try await liftRates(message.message, now: now) }
            }
            last = found.last?.message ?? last
        } while found.count == Int(Self.messagesMax)
        if count > 0 || last != UniversalID(high: 0, low: 0) { try await forget(now: now) }
        _ = try await affected(Query(RateSQL.forget) { _ in })
        if let damage { throw damage }
        return count
    }

    private func page(after last: UniversalID, now: WallInstant?) async throws(StoreFault) -> [Found] {
        let query = Query(StopSQL.found) {
            $0.uuid(last)
            $0.instant(now)
            $0.int64(Self.messagesMax)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            return try (0..<rows.rowCount).map { row throws(PostgresError) in
                Found(
                    message: try rows.uuid(row, 0), isStopped: try rows.bool(row, 1), isOver: try rows.bool(row, 2),
                    isRateLifted: try rows.bool(row, 3))
            }
        }
    }

    private func putOnHold(_ message: UniversalID) async throws(StoreFault) -> Int {
        try await whileFull(movedMax) { () throws(StoreFault) in
            try await affected(.holding(message, atMost: movedMax))
        }
    }

    private func release(_ message: UniversalID, now: WallInstant?) async throws(StoreFault) -> Int {
        try await whileFull(movedMax) { () throws(StoreFault) in
            let count = try await affected(.moving(message, by: StopSQL.release, atMost: movedMax, now: now))
            if count > 0 { notifier.notify(.parcels) }
            return count
        }
    }

    private func liftRates(_ message: UniversalID, now: WallInstant?) async throws(StoreFault) -> Int {
        try await whileFull(movedMax) { () throws(StoreFault) in
            let count = try await affected(.moving(message, by: RateSQL.release, atMost: movedMax, now: now))
            if count > 0 { notifier.notify(.parcels) }
            return count
        }
    }

    private func end(_ message: UniversalID, now: WallInstant?) async throws(StoreFault) -> Int {
        try await whileFull(endedMax) { () throws(StoreFault) in try await endSome(message, now: now) }
    }

    /// Repeats a step until its slice is not full. A parcel that another process has locked is left to that process.
    private func whileFull(
        _ slice: Int64, _ step: () async throws(StoreFault) -> Int
    ) async throws(StoreFault) -> Int {
        var count = 0
        while !Task.isCancelled {
            let done = try await step()
            count += done
            if done < Int(slice) { break }
        }
        return count
    }

    private func affected(_ query: Query) async throws(StoreFault) -> Int {
        let (pool, steps) = (pool, steps)
        let count = try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.count(of: query, announcing: .stopWritten, to: steps) { $0.affectedRows }
            }
        }
        if count > 0 { steps?.reached(.stopCommitted) }
        return count
    }

    /// Settles parcels that are leased in the same transaction. If the process dies here, they stay on hold.
    private func endSome(_ message: UniversalID, now: WallInstant?) async throws(StoreFault) -> Int {
        let claim = Query(StopSQL.claim) {
            $0.uuid(message)
            $0.instant(now)
            $0.int64(endedMax)
            $0.uuid(message)
        }
        let (pool, steps) = (pool, steps)
        let count = try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction { transaction throws(PostgresError) -> Int in
                    let rows = try await transaction.run(claim)
                    var settlements: [Settlement] = []
                    for row in 0..<rows.rowCount {
                        settlements.append(
                            try UnsentParcel(reading: rows, row).settlement(isCancelled: try rows.bool(row, 10)))
                    }
                    guard !settlements.isEmpty else { return 0 }
                    let settles = ParcelStore.queries(for: settlements, now: now)
                    return try await transaction.conclude(settles, announcing: .stopWritten, to: steps)[1].rowCount
                }
            }
        }
        if count > 0 { steps?.reached(.stopCommitted) }
        return count
    }

    private func forget(now: WallInstant?) async throws(StoreFault) {
        _ = try await affected(Query(StopSQL.forget) { _ in })
    }
}

extension Query {
    static func holding(_ message: UniversalID, atMost limit: Int64 = StopStore.movedMax) -> Query {
        Query(StopSQL.putOnHold) {
            $0.uuid(message)
            $0.int64(limit)
        }
    }

    /// Moves parcels between ready, on hold and rate-limited, as the statement says.
    static func moving(
        _ message: UniversalID, by statement: Statement, atMost limit: Int64 = StopStore.movedMax, now: WallInstant?
    ) -> Query {
        Query(statement) {
            $0.uuid("message", message)
            $0.int64("limit", limit)
            $0.instant("now", now)
        }
    }
}

extension UnsentParcel {
    fileprivate init(reading rows: ResultSet, _ row: Int) throws(PostgresError) {
        let count = Int(try rows.int32(row, 7))
        guard let members = try? MemberList.decode(rows.bytes(row, 8)), members.count == count else {
            throw .unexpectedShape(statement: "stop_claim", column: 8)
        }
        let settled = try rows.bytesOrNil(row, 9) ?? []
        guard settled.isEmpty || MemberBitmap(bytes: settled, count: count) != nil else {
            throw .unexpectedShape(statement: "stop_claim", column: 9)
        }
        let held = try rows.bytesOrNil(row, 12) ?? []
        guard held.isEmpty || MemberBitmap(bytes: held, count: count) != nil else {
            throw .unexpectedShape(statement: "stop_claim", column: 12)
        }
        let lapses = try rows.int16(row, 5)
        let isAnswerLost = try rows.bool(row, 6)
        // Without the badge mark, no lease was free to send.
        let isMarked = try rows.bool(row, 11)
        self.init(
            id: ParcelID(try rows.int64(row, 0)), message: MessageID(try rows.uuid(row, 1)),
            epoch: try rows.int32(row, 2), settles: try rows.int32(row, 3), attempt: try rows.int16(row, 4),
            mayHaveBeenShown: isMarked && (isAnswerLost || lapses > 0),
            members: members.map(RegistrationID.init), settledBits: settled, deferredBits: held)
    }
}
