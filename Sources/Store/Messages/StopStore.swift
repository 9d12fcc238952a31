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

    /// - Parameter steps: nil in production.
    package init(
        pool: PostgresPool, notifier: WorkNotifier, steps: (any StepListener)? = nil, movedMax: Int64 = Self.movedMax,
        endedMax: Int64 = Self.endedMax
    ) {
        precondition(movedMax > 0 && endedMax > 0)
        (self.pool, self.notifier, self.steps) = (pool, notifier, steps)
        (self.movedMax, self.endedMax) = (movedMax, endedMax)
    }

    private struct Found: Sendable {
        let message: UniversalID
        let isStopped: Bool
        let isOver: Bool
        /// Whether some parcels need not wait for the rate any longer.
        let isRateLifted: Bool

        init(_ row: inout Row) throws(PostgresError) {
            (message, isStopped) = (try row.uuid(), try row.bool())
            (isOver, isRateLifted) = (try row.bool(), try row.bool())
        }
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
            for message in found where message.isStopped {
                let hold = Query.holding(message.message, atMost: movedMax)
                count += try await whileFull(movedMax) { () throws(StoreFault) in try await affected(hold) }
            }
            for message in found where message.isOver {
                do throws(StoreFault) {
                    count += try await whileFull(endedMax) { () throws(StoreFault) in
                        try await endSome(message.message, now: now)
                    }
                } catch {
                    guard case .damaged(let place) = error else { throw error }
                    damage = damage ?? .damaged("message \(message.message.text): \(place)")
                }
            }
            for message in found where !message.isStopped {
                count += try await makeReady(message.message, by: StopSQL.release, now: now)
                if message.isRateLifted { count += try await makeReady(message.message, by: RateSQL.release, now: now) }
            }
            last = found.last?.message ?? last
        } while found.count == Int(Self.messagesMax)
        if count > 0 || last != UniversalID(high: 0, low: 0) { _ = try await affected(Query(StopSQL.forget)) }
        _ = try await affected(Query(RateSQL.forget))
        if let damage { throw damage }
        return count
    }

    private func page(after last: UniversalID, now: WallInstant?) async throws(StoreFault) -> [Found] {
        let query = Query(StopSQL.found) {
            $0.uuid("after", last)
            $0.instant("now", now)
            $0.int64("limit", Self.messagesMax)
        }
        return try await translated(await pool.read(query).map(Found.init))
    }

    /// Makes parcels ready that are on hold or rate-limited.
    private func makeReady(
        _ message: UniversalID, by statement: Statement, now: WallInstant?
    ) async throws(StoreFault) -> Int {
        try await whileFull(movedMax) { () throws(StoreFault) in
            let count = try await affected(.moving(message, by: statement, atMost: movedMax, now: now))
            if count > 0 { notifier.notify(.parcels) }
            return count
        }
    }

    /// Repeats a step until its slice is not full. A parcel that another process has locked is left to that process.
    private func whileFull(_ slice: Int64, _ step: () async throws(StoreFault) -> Int) async throws(StoreFault) -> Int {
        var count = 0
        while !Task.isCancelled {
            let done = try await step()
            count += done
            if done < Int(slice) { break }
        }
        return count
    }

    private func affected(_ query: Query) async throws(StoreFault) -> Int {
        let count = try await translated(await pool.retryingRun(query).affectedRows)
        if count > 0 { steps?.reached(.stopCommitted) }
        return count
    }

    /// Settles parcels that are leased in the same transaction. If the process dies here, they stay on hold.
    private func endSome(_ message: UniversalID, now: WallInstant?) async throws(StoreFault) -> Int {
        let claim = Query(StopSQL.claim) {
            $0.uuid("message", message)
            $0.instant("now", now)
            $0.int64("limit", endedMax)
            $0.uuid("owner", message)
        }
        let count = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> Int in
                let settlements = try await transaction.run(claim).map(Settlement.init)
                guard !settlements.isEmpty else { return 0 }
                let settles = ParcelStore.queries(for: settlements, now: now)
                return try await transaction.runAndCommit(settles)[1].rowCount
            })
        if count > 0 { steps?.reached(.stopCommitted) }
        return count
    }
}

extension Query {
    static func holding(_ message: UniversalID, atMost limit: Int64 = StopStore.movedMax) -> Query {
        Query(StopSQL.putOnHold) {
            $0.uuid("message", message)
            $0.int64("limit", limit)
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

extension Settlement {
    /// Reads a parcel that `StopSQL.claim` leased, and ends its members.
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        let (id, message) = (ParcelID(try row.int64()), MessageID(try row.uuid()))
        let route = RouteID(try row.int64())
        let (epoch, settles, attempt) = (try row.int32(), try row.int32(), try row.int16())
        let (lapses, isAnswerLost, isMarked) = (try row.int16(), try row.bool(), try row.bool())
        let count = Int(try row.int32())
        let members = try row.members(column: 10, of: StopSQL.claim)
        guard members.count == count else { throw .unexpectedShape(statement: StopSQL.claim.name, column: 10) }
        let settled = try row.bits(count, column: 11)
        let deferred = try row.bits(count, column: 12)
        let increments = try row.int16() == BadgeChange.increment.column
        let parcel = UnsentParcel(
            id: id, message: message, route: route, epoch: epoch, settles: settles, attempt: attempt,
            // Without the badge mark, no lease was free to send.
            mayHaveBeenShown: isMarked && (isAnswerLost || lapses > 0), countsBadges: isMarked && increments,
            badgeSet: try row.int64OrNil(), members: members.map(RegistrationID.init),
            settledBits: settled, deferredBits: deferred)
        self = parcel.settlement(isCancelled: try row.bool())
    }
}

extension Row {
    /// Reads one bit for each member; empty: none is set.
    fileprivate mutating func bits(_ count: Int, column: Int) throws(PostgresError) -> [UInt8] {
        let bits = try optional { row throws(PostgresError) in try row.bytes() } ?? []
        guard bits.isEmpty || MemberBitmap(bytes: bits, count: count) != nil else {
            throw .unexpectedShape(statement: StopSQL.claim.name, column: column)
        }
        return bits
    }
}
