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
        guard isUntouched, let rate = row.ratePerSecond, !row.isExpired else { return 0 }
        return max(0, MessagePace.quantum(of: GatherLimits.membersMax, perSecond: rate) - ids.count)
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
        guard room > 0 else { return nil }
        let gather = Query(RateSQL.gather) {
            $0.int64("parcel", id.value)
            $0.uuid("message", row.message.value)
            $0.int64("route", order.route.value)
            $0.bool("is_marked", !row.isUnmarked)
            $0.int64("parcels_max", Int64(GatherLimits.parcelsMax))
            $0.int64("members_max", Int64(room))
            $0.instant("now", now)
        }
        let found = try await transaction.run(gather).map { row throws(PostgresError) in
            (id: ParcelID(try row.int64()), members: try row.bytes(), count: Int(try row.int32()))
        }
        guard !found.isEmpty else { return nil }
        for parcel in found {
            // If this parcel can't be read, the fault is about it.
            atWork.note(parcel.id, isUrgent: false)
            guard let members = try? MemberList.decode(parcel.members), members.count == parcel.count else {
                throw Self.damaged
            }
            ids += members
        }
        atWork.note(id, isUrgent: false)
        ids.sort()
        guard zip(ids, ids.dropFirst()).allSatisfy({ $0 < $1 }) else { throw Self.damaged }
        let gathered = ids.count - memberCount
        (memberCount, indices) = (ids.count, (0..<Int32(ids.count)).map { $0 })
        let grow = Query(RateSQL.grow) {
            $0.int64("parcel", id.value)
            $0.bytes("members", MemberList.encode(ids))
            $0.int32("count", Int32(ids.count))
        }
        return try await transaction.run([
            grow, .charging(row.message, for: gathered, now: now), order.next(now: now),
        ])[2]
    }
}

extension Query {
    static func charging(_ message: MessageID, for pushes: Int, now: WallInstant?) -> Query {
        Query(RateSQL.charge) {
            $0.uuid("message", message.value)
            $0.int64("pushes", Int64(pushes))
            $0.instant("now", now)
        }
    }
}
