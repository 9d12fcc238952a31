import Basis
import Model
import Postgres
import QueueRules

/// A slice of a message that leaves at an hour of each device's own clock: when each push leaves, and which come too
/// late.
struct LocalSlice: Sendable {
    let sending: LocalSending
    let app: Int64
    /// When the message was accepted, last changed, or started: a clock that showed the hour before is too late.
    let acceptedAt: WallInstant

    /// Cuts the slice without the members for which the hour is past. These end here, in groups of at most
    /// `membersMax`, like parcels, because a reader of the history loads a group whole.
    func cut(
        _ found: FoundMembers, membersMax: Int, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> SliceCut {
        var instants: [Int64: WallInstant] = [:]  // lookup only
        instants.reserveCapacity(found.ids.count)
        var unknown = 0
        for zone in try await zones(of: found.ids, in: transaction) {
            if zone.isUnknown { unknown += zone.members.count }
            guard let instant = sending.sends(at: zone.instant, acceptedAt: acceptedAt) else { continue }
            for member in zone.members { instants[member] = instant }
        }
        var left = found
        let terminalStatus = TerminalStatus(.suppressed, TerminalReason.localTimePassed)
        left.end(terminalStatus, groupsOf: membersMax) { instants[$0] == nil }
        var cut = SliceCut(left, sentAt: left.ids.compactMap { instants[$0] }, parcelMembersMax: membersMax)
        cut.unknownZoneMembers = unknown
        return cut
    }

    /// The number of members for which the hour is past.
    func passed(_ members: [Int64], in transaction: PostgresTransaction) async throws(PostgresError) -> Int {
        let onTime = LocalSending(hour: sending.hour)
        return try await zones(of: members, in: transaction).reduce(0) { passed, zone in
            onTime.sends(at: zone.instant, acceptedAt: acceptedAt) == nil ? passed + zone.members.count : passed
        }
    }

    /// When the first of the members gets the message; nil: none does.
    func first(of members: [Int64], in transaction: PostgresTransaction) async throws(PostgresError) -> WallInstant? {
        try await zones(of: members, in: transaction).compactMap {
            sending.sends(at: $0.instant, acceptedAt: acceptedAt)
        }.min()
    }

    private func zones(
        of members: [Int64], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [ZoneRow] {
        guard !members.isEmpty else { return [] }
        let query = Query(LocalHourSQL.instants) {
            $0.int64("app", app)
            $0.instant("hour", sending.hour.inUTC)
            $0.int64Array("members", members)
        }
        return try await transaction.run(query).map(ZoneRow.init)
    }
}

/// A row of `LocalHourSQL.instants`.
private struct ZoneRow: Sendable {
    let instant: WallInstant
    let members: [Int64]
    /// The database does not know the members' time zone.
    let isUnknown: Bool

    init(_ row: inout Row) throws(PostgresError) {
        (instant, members, isUnknown) = (try row.instant(), try row.int64Array(), try row.bool())
    }
}

extension Query {
    /// The query that stores a message's local hour, after the message itself.
    init(writing sending: LocalSending, of message: NewMessage) {
        self.init(LocalHourSQL.write) {
            $0.uuid("message", message.id.value)
            $0.instant("hour", sending.hour.inUTC)
            $0.bool("late_at_once", sending.sendsPassed)
            $0.instant("last", sending.hour.last)
            $0.int64("lifetime_us", message.lifetime.wholeMicroseconds)
        }
    }
}
