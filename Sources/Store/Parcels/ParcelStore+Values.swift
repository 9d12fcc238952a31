import Content
import Encodings
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

    /// Returns the limit for a parcel with so many members. Own values have their limit besides: a parcel was cut by it,
    /// and would come again and again with less.
    package static func bytes(of members: Int, _ fields: [DeviceField]) -> Int {
        max(bytesMin, members * bytesPerMember) + (fields.contains(.own) ? OwnValueLimits.bytesPerParcelMax : 0)
    }
}

extension ParcelStore {
    /// Reads the members' values, at least those of the first one. Registrations deleted meanwhile and inline targets
    /// have none.
    ///
    /// - Parameters:
    ///   - members: by rising id, each once.
    ///   - message: the message whose members' own values are read, if they are among the fields.
    ///   - bytesMax: how many bytes are kept; nil: the limit of one parcel. No further member is read once it is
    ///     reached.
    ///
    /// This is a read of its own after the lease, so that only messages with placeholders pay for it. It returns the
    /// devices' current values, and the own values that the message has had from the start.
    package func values(
        of members: [RegistrationID], _ fields: [DeviceField], in message: MessageID? = nil, bytesMax: Int? = nil
    ) async throws(StoreFault) -> MemberValues {
        precondition(message != nil || !fields.contains(.own), "own values belong to a message")
        let stored = fields.filter { $0 != .own }
        var values = MemberValues(fieldCount: fields.count)
        let bytesMax = bytesMax ?? ValueLimits.bytes(of: members.count, fields)
        while values.readCount < members.count, values.bytes.count < bytesMax {
            let start = values.readCount
            let slice = members[start..<min(start + ValueLimits.slice, members.count)].map(\.value)
            var own: MemberValues?
            if let message, stored.count < fields.count { own = try await ownValues(of: slice, in: message) }
            let rows = try await stored.isEmpty ? nil : rows(of: slice, stored)
            do throws(PostgresError) { try values.add(slice, fields, from: rows, own, bytesMax) } catch {
                throw StoreFault(error)
            }
        }
        return values
    }

    private func rows(of members: [Int64], _ fields: [DeviceField]) async throws(StoreFault) -> MemberWalk {
        let query = ValueSQL.query(MemberKeys(members), fields, valueCharactersMax: ValueLimits.valueCharactersMax)
        return try await translated(await MemberWalk(pool.read(query)))
    }
}

extension MemberValues {
    /// Adds members until the limit is reached. One without a row has no values of its device.
    /// - Parameters:
    ///   - rows: nil: no field is one of the device.
    ///   - own: the members' own values, in the order of `ids`; nil: no field asks for them.
    fileprivate mutating func add(
        _ ids: [Int64], _ fields: [DeviceField], from rows: MemberWalk?, _ own: MemberValues?, _ bytesMax: Int
    ) throws(PostgresError) {
        var rows = rows
        for (place, id) in ids.enumerated() where bytes.count < bytesMax {
            let isThere = try rows?.find(id) ?? false
            for field in fields {
                if field == .own {
                    if let own { bytes += own.bytes[own.range(of: place, field: 0)] }
                } else if isThere, rows?.row.isNull == false {
                    try rows?.row.append(to: &bytes)
                } else {
                    rows?.row.skip()
                }
                endValue()
            }
            endMember()
        }
    }
}
