import Basis
import Model
import Postgres
import QueueRules

/// A slice of a message that leaves at an hour of each device's own clock: when each push leaves, and which come too
/// late.
struct LocalSlice: Sendable {
    let sending: LocalSending
    private let app: Int64
    private let acceptedAt: WallInstant

    init(_ sending: LocalSending, app: Int64, acceptedAt: WallInstant) {
        self.sending = sending
        self.app = app
        self.acceptedAt = acceptedAt
    }

    /// Cuts the slice without the members for which the hour is past. These end here, in groups of at most
    /// `membersMax`, like parcels, because a reader of the history loads a group whole.
    func cut(
        _ found: FoundMembers, membersMax: Int, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> SliceCut {
        let query = Query(LocalHourSQL.instants) {
            $0.int64(app)
            $0.instant(sending.hour.inUTC)
            $0.int64Array(found.ids)
        }
        let zones = found.ids.isEmpty ? nil : try await transaction.run([query])[0]
        // Lookup only.
        var instants: [Int64: WallInstant] = [:]
        instants.reserveCapacity(found.ids.count)
        for row in 0..<(zones?.rowCount ?? 0) {
            guard let zones, let instant = sending.sends(at: try zones.instant(row, 0), acceptedAt: acceptedAt) else {
                continue
            }
            for member in try zones.int64Array(row, 1) { instants[member] = instant }
        }
        var left = found
        let terminalStatus = TerminalStatus(.suppressed, TerminalReason.localTimePassed)
        left.end(terminalStatus, groupsOf: membersMax) { instants[$0] == nil }
        return SliceCut(left, sentAt: left.ids.compactMap { instants[$0] }, parcelMembersMax: membersMax)
    }
}

extension Query {
    /// The query that stores a message's local hour, after the message itself.
    init(writing sending: LocalSending, of message: NewMessage) {
        self.init(LocalHourSQL.write) {
            $0.uuid(message.id.value)
            $0.instant(sending.hour.inUTC)
            $0.bool(sending.sendsPassed)
            $0.instant(sending.hour.last)
            $0.int64(message.lifetime.wholeMicroseconds)
        }
    }
}
