import Content
import Model
import Postgres
import QueueRules

/// Limits on the device values that are kept for a parcel while its pushes are in flight.
package enum ValueLimits {
    /// Longer than the largest payload that a provider takes.
    package static let valueCharactersMax = 6_000
    /// The average for each member, apart from what one alone may have: it bounds the bytes of a hundred thousand
    /// members in flight. Members without room are handed back, and come again in a parcel of their own.
    package static let bytesPerMember = 128
    package static let bytesMin = 65_536
    /// Members that are read at once.
    static let slice = 500

    /// Returns the limit for a parcel with so many members.
    package static func bytes(of members: Int) -> Int { max(bytesMin, members * bytesPerMember) }
}

extension ParcelStore {
    /// Reads the members' values, at least those of the first one. Registrations deleted meanwhile and inline targets
    /// have none.
    ///
    /// - Parameters:
    ///   - members: by rising id, each once.
    ///   - bytesMax: how many bytes are kept; nil: the limit of one parcel. No further member is read once it is
    ///     reached.
    ///
    /// This is a read of its own after the lease, so that only messages with placeholders pay for it. It returns the
    /// devices' current values.
    package func values(
        of members: [RegistrationID], _ fields: [DeviceField], bytesMax: Int? = nil
    ) async throws(StoreFault) -> MemberValues {
        var values = MemberValues(fieldCount: fields.count)
        let bytesMax = bytesMax ?? ValueLimits.bytes(of: members.count)
        while values.readCount < members.count, values.bytes.count < bytesMax {
            let start = values.readCount
            let slice = members[start..<min(start + ValueLimits.slice, members.count)].map(\.value)
            let query = ValueSQL.query(MemberKeys(slice), fields, valueCharactersMax: ValueLimits.valueCharactersMax)
            let rows = try await translating { () throws(PostgresError) in try await MemberWalk(pool.read(query)) }
            do throws(PostgresError) { try values.add(slice, from: rows, bytesMax) } catch { throw StoreFault(error) }
        }
        return values
    }
}

extension MemberValues {
    /// Adds members until the limit is reached. One without a row has no values.
    fileprivate mutating func add(_ ids: [Int64], from rows: MemberWalk, _ bytesMax: Int) throws(PostgresError) {
        var rows = rows
        for id in ids where bytes.count < bytesMax {
            let isThere = try rows.find(id)
            for _ in 0..<fieldCount {
                if isThere, !rows.row.isNull { try rows.row.append(to: &bytes) } else { rows.row.skip() }
                endValue()
            }
            endMember()
        }
    }
}
