import Content
import Model
import Postgres

/// What members of a leased parcel say of themselves, in the order of the parcel: one text for each field of a message's
/// template. In flat arrays, so that a parcel costs a handful of allocations.
package struct MemberValues: Equatable, Sendable {
    /// What is known of `members`, from the first one on. Those behind were not read: there is no room for them.
    package private(set) var readCount = 0
    package private(set) var bytes: [UInt8] = []
    private var ends: [Int32] = []
    private let fieldCount: Int

    package init(fieldCount: Int) {
        precondition(fieldCount > 0)
        self.fieldCount = fieldCount
    }

    /// Where the value lies in `bytes`. Empty: the device has none there.
    package func range(of member: Int, field: Int) -> Range<Int> {
        let place = member * fieldCount + field
        return (place == 0 ? 0 : Int(ends[place - 1]))..<Int(ends[place])
    }

    /// One member's, in the order of the fields.
    package mutating func add(_ values: [[UInt8]]) {
        precondition(values.count == fieldCount)
        for value in values {
            bytes += value
            ends.append(Int32(bytes.count))
        }
        readCount += 1
    }

    /// A member of whom nothing is known.
    fileprivate mutating func addNothing() {
        for _ in 0..<fieldCount { ends.append(Int32(bytes.count)) }
        readCount += 1
    }

    fileprivate mutating func add(_ row: Int, of rows: ResultSet) throws(PostgresError) {
        for field in 1...fieldCount {
            if !rows.isNull(row, field) { try rows.append(row, field, to: &bytes) }
            ends.append(Int32(bytes.count))
        }
        readCount += 1
    }
}

/// How much of devices' values is kept for a parcel while its pushes are out.
package enum ValueLimits {
    /// Behind the largest payload that a provider takes.
    package static let valueCharactersMax = 6_000
    /// For each member, on average, beside what one alone may have: a hundred thousand members out hold so many bytes
    /// in all. What has no room goes back, and comes again in a parcel of its own.
    package static let bytesPerMember = 128
    package static let bytesMin = 65_536
    /// Read at once.
    static let slice = 500

    /// Of a parcel with so many members.
    package static func bytes(of members: Int) -> Int { max(bytesMin, members * bytesPerMember) }
}

extension ParcelStore {
    /// What the members say of themselves; no less than the first one's. Registrations that have gone meanwhile, and
    /// targets that are none, have nothing to say.
    ///
    /// - Parameters:
    ///   - members: by rising id, each once.
    ///   - bytesMax: how much is kept of them; nil: as of one parcel's. No more is begun behind it.
    ///
    /// A read of its own behind the lease, and not a part of it: only those pay for it whose message has holes. What it
    /// finds is what the devices say by now.
    package func values(
        of members: [RegistrationID], _ fields: [DeviceField], bytesMax: Int? = nil
    ) async throws(StoreFault) -> MemberValues {
        var values = MemberValues(fieldCount: fields.count)
        let bytesMax = bytesMax ?? ValueLimits.bytes(of: members.count)
        while values.readCount < members.count, values.bytes.count < bytesMax {
            let start = values.readCount
            let slice = members[start..<min(start + ValueLimits.slice, members.count)].map(\.value)
            let query = ValueSQL.query(MemberKeys(slice), fields, valueCharactersMax: ValueLimits.valueCharactersMax)
            let rows = try await translating { () throws(PostgresError) in try await pool.read(query) }
            do throws(PostgresError) {
                var next = 0
                for id in slice where values.bytes.count < bytesMax {
                    guard next < rows.rowCount, try rows.int64(next, 0) == id else {
                        values.addNothing()
                        continue
                    }
                    try values.add(next, of: rows)
                    next += 1
                }
            } catch { throw StoreFault(error) }
        }
        return values
    }
}
