import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// How much of a message one share is put together from.
package enum GatherLimits {
    /// Parcels that one lease looks at.
    package static let parcelsMax = 256
    /// Members, as many as a planner's parcel has.
    package static let membersMax = 5_000
}

// What quiet hours held back waits in a parcel for each hour at which somebody wakes, each of them cut from a share: one
// alone would be a small part of a share, and a lease for each more than a rate has time for.
extension ClaimedParcel {
    /// How many more members its share has room for: where it is whole, and nothing has become of it yet.
    private var room: Int {
        get throws(PostgresError) {
            guard isUntouched, let rate = try ratePerSecond, try !isExpired else { return 0 }
            let quantum = MessagePace.quantum(of: GatherLimits.membersMax, perSecond: rate)
            return max(0, quantum - ids.count)
        }
    }

    /// Takes in what waits next and differs in nothing but its members, whole parcels as long as there is room. They
    /// are gone then: nobody has leased them, and nothing was told of them.
    ///
    /// - Returns: how long it is until the next share, as `RateSQL.next` says; nil: nothing was found, nothing has changed.
    mutating func gather(
        for order: LeaseOrder, next: Query, now: WallInstant?, noting atWork: ClaimedRow<ParcelID>,
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
            // Whichever can't be read is what the fault is about.
            atWork.note(ParcelID(try found.int64(place, 0)))
            let count = Int(try found.int32(place, 2))
            guard let members = try? MemberList.decode(found.bytes(place, 1)), members.count == count else {
                throw Self.damaged
            }
            ids += members
        }
        atWork.note(own)
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
            next,
        ])
        return answers[2]
    }
}
