import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// Limits on the parcels that one lease gathers into a quantum.
package enum GatherLimits {
    /// Parcels that one lease looks at.
    package static let parcelsMax = 256
    /// Members in all, as many as a planner's parcel has.
    package static let membersMax = 5_000
}

// Members deferred by quiet hours wait in one parcel for each wake-up hour, each cut from a quantum. One such parcel is
// a small part of a quantum, and a lease for each would need more time than the rate leaves.
extension ClaimedParcel {
    /// The number of members that its quantum still has room for. It is 0 unless the parcel was leased whole and
    /// nothing of it was settled.
    private var room: Int {
        get throws(PostgresError) {
            guard isUntouched, let rate = try ratePerSecond, try !isExpired else { return 0 }
            let quantum = MessagePace.quantum(of: GatherLimits.membersMax, perSecond: rate)
            return max(0, quantum - ids.count)
        }
    }

    /// Adds the parcels that wait next and differ only in their members, whole parcels as long as there is room. Their
    /// rows are deleted: nobody has leased them, and nothing was reported of them.
    ///
    /// - Returns: the time until the next quantum, as `RateSQL.next` answers; nil: no parcel was found, and nothing has
    ///   changed.
    mutating func gather(
        for order: LeaseOrder, now: WallInstant?, noting atWork: ClaimedRows<ParcelID>,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ResultSet? {
        let room = try room
        guard room > 0 else { return nil }
        let (own, wasMarked, message) = (id, try !isUnmarked, try message)
        let found = try await transaction.run(
            Query(RateSQL.gather) {
                $0.int64(own.value)
                $0.uuid(message)
                $0.int64(order.route.value)
                $0.bool(wasMarked)
                $0.instant(now)
                $0.int64(Int64(GatherLimits.parcelsMax))
                $0.int64(Int64(room))
            })
        guard found.rowCount > 0 else { return nil }
        for place in 0..<found.rowCount {
            // If this parcel can't be read, the fault is about it.
            atWork.note(ParcelID(try found.int64(place, 0)), isUrgent: false)
            let count = Int(try found.int32(place, 2))
            guard let members = try? MemberList.decode(found.bytes(place, 1)), members.count == count else {
                throw Self.damaged
            }
            ids += members
        }
        atWork.note(own, isUrgent: false)
        ids.sort()
        guard zip(ids, ids.dropFirst()).allSatisfy({ $0 < $1 }) else { throw Self.damaged }
        let gathered = ids.count - memberCount
        (memberCount, indices) = (ids.count, (0..<Int32(ids.count)).map { $0 })
        let (members, count) = (MemberList.encode(ids), Int32(ids.count))
        let answers = try await transaction.run([
            Query(RateSQL.grow) {
                $0.int64(own.value)
                $0.bytes(members)
                $0.int32(count)
            },
            Query(RateSQL.charge) {
                $0.uuid(message)
                $0.int64(Int64(gathered))
                $0.instant(now)
            },
            order.next(now: now),
        ])
        return answers[2]
    }
}
