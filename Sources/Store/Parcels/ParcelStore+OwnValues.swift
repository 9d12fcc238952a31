import Encodings
import Model
import Postgres
import QueueRules

// Members' own values, in chunks beside the parcels (decision 0076). A parcel reads the chunks that its members are in,
// so a remainder, a cross-environment parcel or a single push needs none of its own.
extension ParcelStore {
    /// The chunks of one query: a megabyte. It is more than one, so that each query gets further.
    private static let chunksMax = 16

    /// Reads the members' own values in a message: one field each. A member without a value has an empty one.
    /// - Parameter members: by rising id.
    func ownValues(of members: [Int64], in message: MessageID) async throws(StoreFault) -> MemberValues {
        var values = MemberValues(fieldCount: 1)
        var unread = members[...]
        while !unread.isEmpty {
            let chunks = try await chunks(of: Array(unread), in: message)
            // A full answer may lack the chunks of members behind its last one.
            let through = chunks.count < Self.chunksMax ? Int64.max : chunks[chunks.count - 1].last
            var place = 0
            while let member = unread.first, member <= through {
                while place < chunks.count, chunks[place].last < member { place += 1 }
                if place < chunks.count { values.bytes += chunks[place].value(of: member) }
                values.endValue()
                values.endMember()
                unread.removeFirst()
            }
        }
        return values
    }

    private func chunks(of members: [Int64], in message: MessageID) async throws(StoreFault) -> [OwnValueChunk] {
        let query = Query(OwnValueSQL.read) {
            $0.uuid("message", message.value)
            $0.int64Array("members", members)
            $0.int64("limit", Int64(Self.chunksMax))
        }
        let rows = try await translated(
            await pool.read(query).map { row throws(PostgresError) in
                (members: try row.bytes(), values: try row.bytes())
            })
        var chunks: [OwnValueChunk] = []
        for row in rows {
            do throws(OwnValueFault) {
                chunks.append(try OwnValueChunk(encodedMembers: row.members, encodedValues: row.values))
            } catch {
                throw .damaged("own_values of message \(message.value.text): \(error)")
            }
        }
        return chunks
    }
}
