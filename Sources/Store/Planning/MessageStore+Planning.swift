import Basis
import Encodings
import Model
import Postgres
import QueueRules
import Synchronization

/// The result of a planner's slot.
package enum PlanReply: Equatable, Sendable {
    /// No message waits for a planner, or other planners are working on all of them.
    case nothing
    /// One slice for each message, in the order of their slots.
    case planned([PlannedSlice])
    /// The claimed message can't be planned as it is stored. It comes again later, so that the others go on; the fault
    /// names it.
    case putAside(StoreFault)
}

/// One slice of one message's audience, cut into parcels.
package struct PlannedSlice: Equatable, Sendable {
    package let message: MessageID
    package let app: AppID
    /// Routes with new parcels, ready or not. Rising.
    package let routes: [RouteID]
    /// Routes with parcels that may be leased now. By rising route.
    package let ready: [ReadyRoute]
    /// Some parcels are rate-limited.
    package let waitsForRate: Bool
    /// Members of the new parcels.
    package let members: Int
    /// The audience is known from here on.
    package let isPlanned: Bool
    /// Nothing is left to send: the message is over.
    package let isFinished: Bool
}

extension MessageStore {
    /// Transactional messages that one transaction plans. More would keep the first ones waiting for the last.
    package static let plannedTogetherMax = 64

    /// Cuts the next slice of the next messages, in one transaction.
    ///
    /// Members are frozen here. One read covers an id range over all routes, so that a registration that changes its
    /// route meanwhile can't be in two parcels.
    ///
    /// Several messages are planned only if they are transactional and name a few installations, users or tokens, else
    /// the next slice of one. If one can't be planned as it is stored, or others have locked its row, fewer are planned
    /// at once, until it alone is put aside.
    package func plan(
        atMost limit: Int = plannedTogetherMax, idsMax: Int, parcelMembersMax: Int, knownFormats: [Int16],
        _ urgencies: PlannedUrgencies = PlannedUrgencies(), now: WallInstant? = nil
    ) async throws(StoreFault) -> PlanReply {
        precondition(limit > 0 && idsMax > 0 && parcelMembersMax > 0)
        var limit = limit
        var lockTimeout: Duration? = LockTimeout.brief
        while true {
            let atWork = ClaimedRows<MessageID>()
            do throws(GroupFault) {
                let slices = try await planNext(
                    limit, idsMax, parcelMembersMax, knownFormats, urgencies, lockTimeout, now: now, noting: atWork)
                guard let slices else {
                    limit = 1
                    continue
                }
                if slices.contains(where: { !$0.routes.isEmpty }) { notifier.notify(.parcels) }
                return slices.isEmpty ? .nothing : .planned(slices)
            } catch {
                guard error.isOverARow, let first = atWork.first else { throw error.fault }
                if let fewer = atWork.fewer {
                    limit = fewer
                } else if error.isLocked, !atWork.isUrgent {
                    (limit, lockTimeout) = (1, nil)
                } else {
                    try await putAside(first, for: error.putAsideFor, now: now)
                    return .putAside(error.fault.about("plan of message \(first.value.text)"))
                }
            }
        }
    }

    /// Returns nil if the first message must be planned by itself; neighbours take the others meanwhile.
    private func planNext(
        _ limit: Int, _ idsMax: Int, _ parcelMembersMax: Int, _ knownFormats: [Int16], _ urgencies: PlannedUrgencies,
        _ lockTimeout: Duration?, now: WallInstant?, noting atWork: ClaimedRows<MessageID>
    ) async throws(GroupFault) -> [PlannedSlice]? {
        let (pool, steps, rotation, sizes) = (pool, steps, rotation, sizes)
        return try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(TransactionOptions(lockTimeout: lockTimeout)) {
                    transaction throws(PostgresError) -> [PlannedSlice]? in
                    let claim = Query(PlanSQL.claim, rotation.claiming(limit, knownFormats, urgencies, now: now))
                    let rows = try await transaction.run([Query(PlannerSQL.throughKeys), claim])[1]
                    guard rows.rowCount > 0 else { return [] }
                    let isUrgent = try rows.int16(0, 4) == MessageUrgency.transactional.rawValue
                    atWork.note(MessageID(try rows.uuid(0, 0)), isUrgent: isUrgent)
                    if rows.rowCount == 1 { try rotation.pass(rows) }
                    var group: PlanGroup
                    do throws(PostgresError) { group = try PlanGroup(reading: rows, idsMax, parcelMembersMax) } catch {
                        try rotation.pass(rows)
                        throw error
                    }
                    guard let first = group.plans.first else {
                        await transaction.abandon()
                        return nil
                    }
                    atWork.note(MessageID(first.message), of: group.plans.count, isUrgent: isUrgent)
                    urgencies.note(first)
                    let cuts = try await group.cut(sizes, in: transaction)
                    guard !cuts.isEmpty else {
                        await transaction.abandon()
                        return nil
                    }
                    let answers = try await transaction.conclude(
                        group.writing(cuts, now: now), announcing: .sliceWritten, to: steps)
                    if rows.rowCount > 1, let last = group.plans.last {
                        rotation.pass(app: last.app, priority: last.priority)
                    }
                    return try group.slices(cuts, answers)
                }
            }
        }
    }

    private func putAside(
        _ message: MessageID, for length: Duration, now: WallInstant?
    ) async throws(StoreFault) {
        let query = Query(PlanSQL.putAside) {
            $0.uuid(message.value)
            $0.instant(now)
            $0.int64(length.wholeMicroseconds)
        }
        let pool = pool
        _ = try await translating { () throws(PostgresError) in try await pool.run(query) }
    }
}

/// The app whose message was planned last, for each urgency. The apps take turns, from the next one on; each process
/// has its own rotation.
///
/// A single plan advances the rotation when it is claimed. Concurrent planners then get the next app's plan, and a plan
/// that can't be carried out is put aside without keeping the slot. A group advances it when it is planned, because a
/// group that fails is tried again with fewer.
final class PlanRotation: Sendable {
    private struct Last {
        var transactional: Int64 = -1
        var bulk: Int64 = -1
    }

    private let last = Mutex(Last())

    /// The parameters of `PlanSQL.claim`.
    func claiming(
        _ limit: Int, _ knownFormats: [Int16], _ urgencies: PlannedUrgencies, now: WallInstant?
    ) -> Parameters {
        let last = last.withLock { $0 }
        var parameters = Parameters()
        parameters.int16Array(knownFormats)
        parameters.instant(now)
        parameters.int64(last.transactional)
        parameters.int64(last.bulk)
        parameters.bool(!urgencies.transactionalAlone)
        parameters.int64(Int64(limit))
        return parameters
    }

    /// - Parameter claimed: rows as `ClaimedPlan` reads them. The slot was the first one's.
    func pass(_ claimed: ResultSet) throws(PostgresError) {
        pass(app: try claimed.int64(0, 2), priority: try claimed.int16(0, 4))
    }

    func pass(app: Int64, priority: Int16) {
        last.withLock { last in
            if priority == MessageUrgency.transactional.rawValue { last.transactional = app } else { last.bulk = app }
        }
    }
}
