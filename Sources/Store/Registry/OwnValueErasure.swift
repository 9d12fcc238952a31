import Basis
import Encodings
import Model
import Postgres

/// Takes the own values of members out of an app's open messages. It runs in the transaction that deletes the members,
/// under `PlannerSQL.throughKeys`.
struct OwnValueErasure {
    let app: AppID
    /// Rising, at least one.
    let members: [Int64]

    /// Chunks that are found at once. Only the ids of their members are read: half a kilobyte each.
    private static let foundMax = 500
    /// Chunks that are rewritten at once: a megabyte.
    private static let rewrittenMax = 16

    private struct Place {
        let message: UniversalID
        let firstMember: Int64
    }

    /// Two erasures lock chunks in the same order.
    func run(in transaction: PostgresTransaction) async throws(PostgresError) {
        guard let first = members.first, let last = members.last else { return }
        var after = Place(message: UniversalID(high: 0, low: 0), firstMember: .min)
        var isLast = false
        while !isLast {
            let query = Query(OwnValueSQL.find) {
                $0.int64("app", app.value)
                $0.uuid("after_message", after.message)
                $0.int64("after_member", after.firstMember)
                $0.int64("first", first)
                $0.int64("last", last)
                $0.int64("limit", Int64(Self.foundMax))
            }
            let found = try await transaction.run(query).map {
                row throws(PostgresError) -> (place: Place, members: [UInt8]) in
                let place = Place(message: try row.uuid(), firstMember: try row.int64())
                return (place: place, members: try row.bytes())
            }
            try await rewrite(found.filter { hasAny($0.members) }.map(\.place), in: transaction)
            isLast = found.count < Self.foundMax
            if let last = found.last { after = last.place }
        }
    }

    /// Whether a chunk has one of the members. One that can't be read counts as having them.
    private func hasAny(_ encoded: [UInt8]) -> Bool {
        guard let ids = try? MemberList.decode(encoded) else { return true }
        let known = Set(ids)  // lookup only
        return members.contains { known.contains($0) }
    }

    private func rewrite(_ places: [Place], in transaction: PostgresTransaction) async throws(PostgresError) {
        for start in stride(from: 0, to: places.count, by: Self.rewrittenMax) {
            let some = places[start..<min(start + Self.rewrittenMax, places.count)]
            let lock = Query(OwnValueSQL.lock) {
                $0.uuidArray("messages", some.map(\.message))
                $0.int64Array("first_members", some.map(\.firstMember))
            }
            let erased = try await transaction.run(lock).map { row throws(PostgresError) in
                try Erased(&row, without: members)
            }.compactMap(\.self)
            guard !erased.isEmpty else { continue }
            _ = try await transaction.run(
                Query(OwnValueSQL.rewrite) {
                    $0.uuidArray("messages", erased.map(\.place.message))
                    $0.int64Array("first_members", erased.map(\.place.firstMember))
                    $0.bytesArray("value_bytes", erased.map(\.valueBytes))
                })
        }
    }

    /// A chunk that is to be rewritten.
    private struct Erased {
        let place: Place
        let valueBytes: [UInt8]

        /// Reads a row of `OwnValueSQL.lock`. nil: the chunk has no value of the members.
        ///
        /// A chunk that can't be read loses all its values: nobody could send them, and one of them may be a member's.
        init?(_ row: inout Row, without members: [Int64]) throws(PostgresError) {
            place = Place(message: try row.uuid(), firstMember: try row.int64())
            let (ids, values) = (try row.bytes(), try row.bytes())
            guard let chunk = try? OwnValueChunk(encodedMembers: ids, encodedValues: values) else {
                valueBytes = []
                return
            }
            guard let rewritten = chunk.erasing(members) else { return nil }
            valueBytes = rewritten.encodedValues
        }
    }
}
