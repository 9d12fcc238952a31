import Basis
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
    /// Members on the app's clock because the database does not know their time zone.
    package let unknownZoneMembers: Int
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
        let (pool, rotation, sizes) = (pool, rotation, sizes)
        return try await translatingGroup { () throws(PostgresError) in
            try await pool.retryingTransaction(TransactionOptions(lockTimeout: lockTimeout)) {
                transaction throws(PostgresError) -> [PlannedSlice]? in
                let claim = rotation.claim(limit, knownFormats, urgencies, now: now)
                let rows = try await transaction.runThroughKeys(claim)
                guard rows.rowCount > 0 else { return [] }
                var row = rows.row(0)
                let slot = try PlanSlot(&row)
                atWork.note(MessageID(slot.message), isUrgent: slot.isUrgent)
                if rows.rowCount == 1 { rotation.pass(slot.app, slot.priority) }
                var group: PlanGroup
                do throws(PostgresError) { group = try PlanGroup(reading: rows, idsMax, parcelMembersMax) } catch {
                    rotation.pass(slot.app, slot.priority)
                    throw error
                }
                var cuts: [SliceCut] = []
                if let first = group.plans.first {
                    atWork.note(MessageID(slot.message), of: group.plans.count, isUrgent: slot.isUrgent)
                    urgencies.note(first)
                    cuts = try await group.cut(sizes, in: transaction)
                }
                guard !cuts.isEmpty else { return await transaction.abandon(returning: nil) }
                let answers = try await transaction.runAndCommit(group.writing(cuts, now: now))
                if rows.rowCount > 1, let last = group.plans.last { rotation.pass(last.app, last.priority) }
                return try group.slices(cuts, answers)
            }
        }
    }

    private func putAside(_ message: MessageID, for length: Duration, now: WallInstant?) async throws(StoreFault) {
        let query = Query(PlanSQL.putAside) {
            $0.uuid("message", message.value)
            $0.instant("now", now)
            $0.int64("delay_us", length.wholeMicroseconds)
        }
        _ = try await translated(await pool.run(query))
    }
}

/// The app whose message was planned last, for each urgency. The apps take turns, from the next one on; each process
/// has its own rotation.
///
/// A single plan advances the rotation when it is claimed. Concurrent planners then get the next app's plan, and a plan
/// that can't be carried out is put aside without keeping the slot. A group advances it when it is planned, because a
/// group that fails is tried again with fewer.
final class PlanRotation: Sendable {
    private let last = Mutex<[Int16: Int64]>([:])  // lookup only

    func claim(_ limit: Int, _ knownFormats: [Int16], _ urgencies: PlannedUrgencies, now: WallInstant?) -> Query {
        let last = last.withLock { $0 }
        return Query(PlanSQL.claim) {
            $0.int16Array("formats", knownFormats)
            $0.instant("now", now)
            $0.int64("last_urgent", last[MessageUrgency.transactional.rawValue] ?? -1)
            $0.int64("last_bulk", last[MessageUrgency.bulk.rawValue] ?? -1)
            $0.bool("takes_bulk", !urgencies.transactionalAlone)
            $0.int64("limit", Int64(limit))
        }
    }

    func pass(_ app: Int64, _ priority: Int16) { last.withLock { $0[priority] = app } }
}
