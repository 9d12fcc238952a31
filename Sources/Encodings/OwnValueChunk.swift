/// Limits on members' own values.
package enum OwnValueLimits {
    /// One value. It fills a whole payload of 4,096 bytes, the largest that the providers take of most push types.
    package static let bytesMax = 4_096
    /// The values of one parcel. They are in memory while its pushes are in flight.
    package static let bytesPerParcelMax = 1 << 20
    /// The values of one row. A lease of a single member reads a whole row.
    package static let bytesPerChunkMax = 1 << 16
    /// The members of one row, however short their values are.
    package static let membersPerChunkMax = 512
}

/// The own values of some members of a message, as one row stores them.
///
/// A value fills a placeholder of the message for one member. An empty one counts as none.
package struct OwnValueChunk: Equatable, Sendable {
    /// Rising, at least one.
    package let members: [Int64]
    /// The values, one after the other.
    private var bytes: [UInt8] = []
    /// Where each member's value ends in `bytes`.
    private var ends: [Int] = []

    /// - Parameter values: one for each member, in their order.
    package init(_ members: [Int64], _ values: some Sequence<[UInt8]>) {
        precondition(!members.isEmpty, "a chunk has a member")
        self.members = members
        for value in values { add(value[...]) }
        precondition(ends.count == members.count, "each member has a value")
    }

    private mutating func add(_ value: ArraySlice<UInt8>) {
        precondition(value.count <= OwnValueLimits.bytesMax, "a value is within its limit")
        bytes += value
        ends.append(bytes.count)
    }

    package var first: Int64 { members[0] }
    package var last: Int64 { members[members.count - 1] }

    /// Returns the member's value; empty: it has none here.
    package func value(of member: Int64) -> ArraySlice<UInt8> {
        guard let index = index(of: member) else { return [] }
        return value(at: index)
    }

    private func value(at index: Int) -> ArraySlice<UInt8> { bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }

    private func index(of member: Int64) -> Int? {
        var (low, high) = (0, members.count)
        while low < high {
            let middle = (low + high) / 2
            if members[middle] < member { low = middle + 1 } else { high = middle }
        }
        return low < members.count && members[low] == member ? low : nil
    }

    /// Returns the same chunk with an empty value for some members; nil: it has no value of them.
    package func erasing(_ erased: [Int64]) -> OwnValueChunk? {
        let places = erased.compactMap { index(of: $0) }.filter { !value(at: $0).isEmpty }
        guard !places.isEmpty else { return nil }
        return OwnValueChunk(members, members.indices.map { places.contains($0) ? [] : Array(value(at: $0)) })
    }

    /// Divides a message's values into chunks.
    /// - Parameters:
    ///   - members: all members of the message, by rising id.
    ///   - values: one for each member, in their order.
    package static func chunks(of members: [Int64], _ values: [[UInt8]]) -> [OwnValueChunk] {
        precondition(members.count == values.count, "each member has a value")
        var chunks: [OwnValueChunk] = []
        var (start, bytes) = (0, 0)
        func end(at end: Int) {
            if start < end { chunks.append(OwnValueChunk(Array(members[start..<end]), values[start..<end])) }
            (start, bytes) = (end, 0)
        }
        for (index, value) in values.enumerated() {
            let isFull =
                index - start == OwnValueLimits.membersPerChunkMax
                || bytes + value.count > OwnValueLimits.bytesPerChunkMax
            if isFull { end(at: index) }
            bytes += value.count
        }
        end(at: members.count)
        return chunks
    }
}

// The stored form. Values are two bytes with a length, highest first, and as many bytes, for one member after the other.
extension OwnValueChunk {
    package var encodedMembers: [UInt8] { MemberList.encode(members) }

    package var encodedValues: [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count + 2 * members.count)
        for index in members.indices {
            let value = value(at: index)
            encoded.append(UInt8(truncatingIfNeeded: value.count >> 8))
            encoded.append(UInt8(truncatingIfNeeded: value.count))
            encoded += value
        }
        return encoded
    }

    package init(encodedMembers: [UInt8], encodedValues: [UInt8]) throws(OwnValueFault) {
        do throws(MemberListFault) { members = try MemberList.decode(encodedMembers) } catch { throw .members(error) }
        guard !members.isEmpty else { throw .noMembers }
        bytes.reserveCapacity(encodedValues.count)
        ends.reserveCapacity(members.count)
        var encoded = encodedValues[...]
        for _ in members {
            guard let high = encoded.popFirst(), let low = encoded.popFirst() else { throw .endsEarly }
            let count = Int(high) << 8 | Int(low)
            guard count <= OwnValueLimits.bytesMax else { throw .valueTooLong }
            guard count <= encoded.count else { throw .endsEarly }
            add(encoded.prefix(count))
            encoded = encoded.dropFirst(count)
        }
        guard encoded.isEmpty else { throw .endsLate }
    }
}

/// The reason why bytes are no chunk of own values. They come from the database, which a stranger may have changed.
package enum OwnValueFault: Error, Equatable, Sendable {
    case members(MemberListFault)
    case noMembers
    case valueTooLong
    case endsEarly
    case endsLate
}
