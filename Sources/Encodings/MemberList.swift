/// The sorted ids of a parcel's members as bytes, in the smallest of three forms. At most 8 bytes per id.
///
/// The first byte names the form:
/// - Below 0x80, fixed: eight bytes per id, highest first. Ids are not negative, so the first bit is free.
/// - 0x81, deltas: the first id and each step to the next in groups of seven bits, lowest first. The high bit means
///   "more follows". Dense ids take a byte each.
/// - 0x82, bits: the first id as such a number, then a bit for each id from it to the last.
package enum MemberList {
    private static let deltasForm: UInt8 = 0x81
    private static let bitsForm: UInt8 = 0x82

    /// A bound against corrupt bytes: none of our parcels has more members.
    package static let membersMax = 1 << 24

    /// Encodes ids that rise strictly and are not negative.
    package static func encode(_ ids: [Int64]) -> [UInt8] {
        precondition(ids.count <= membersMax)
        var previous: Int64 = -1
        for id in ids {
            precondition(id > previous, "member ids are in rising order")
            previous = id
        }
        let deltas = encodeDeltas(ids)
        if let bits = encodeBits(ids, ifShorterThan: min(deltas.count, 8 * ids.count)) { return bits }
        return deltas.count <= 8 * ids.count ? deltas : encodeFixed(ids)
    }

    package static func decode(_ bytes: [UInt8]) throws(MemberListFault) -> [Int64] {
        switch bytes.first {
        case nil: []
        case deltasForm: try decodeDeltas(bytes)
        case bitsForm: try decodeBits(bytes)
        case .some(let form) where form < 0x80: try decodeFixed(bytes)
        case .some: throw .unknownForm
        }
    }

    private static func encodeDeltas(_ ids: [Int64]) -> [UInt8] {
        var bytes = [deltasForm]
        bytes.reserveCapacity(ids.count * 2 + 10)
        var previous: Int64 = 0
        for id in ids {
            append(UInt64(id - previous), to: &bytes)
            previous = id
        }
        return bytes
    }

    private static func decodeDeltas(_ bytes: [UInt8]) throws(MemberListFault) -> [Int64] {
        var ids: [Int64] = []
        ids.reserveCapacity(min(bytes.count, membersMax))
        var index = 1
        var previous: Int64 = 0
        while index < bytes.count {
            guard ids.count < membersMax else { throw .tooMany }
            let step = try read(bytes, at: &index)
            let (id, isOver) = previous.addingReportingOverflow(step)
            guard !isOver, step > 0 || ids.isEmpty else { throw .notRising }
            ids.append(id)
            previous = id
        }
        return ids
    }

    private static func encodeFixed(_ ids: [Int64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 * ids.count)
        for id in ids {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: id >> Int64(shift)))
            }
        }
        return bytes
    }

    private static func decodeFixed(_ bytes: [UInt8]) throws(MemberListFault) -> [Int64] {
        guard bytes.count.isMultiple(of: 8) else { throw .endsEarly }
        var ids: [Int64] = []
        var previous: Int64 = -1
        for start in stride(from: 0, to: bytes.count, by: 8) {
            guard ids.count < membersMax else { throw .tooMany }
            var id: Int64 = 0
            for byte in bytes[start..<start + 8] { id = id << 8 | Int64(byte) }
            guard id > previous else { throw .notRising }
            ids.append(id)
            previous = id
        }
        return ids
    }

    private static func encodeBits(_ ids: [Int64], ifShorterThan bound: Int) -> [UInt8]? {
        guard let first = ids.first, let last = ids.last, (last - first) / 8 < bound else { return nil }
        var bytes = [bitsForm]
        append(UInt64(first), to: &bytes)
        var bitmap = MemberBitmap(count: Int(last - first) + 1)
        for id in ids { bitmap[Int(id - first)] = true }
        bytes.append(contentsOf: bitmap.bytes)
        return bytes.count < bound ? bytes : nil
    }

    private static func decodeBits(_ bytes: [UInt8]) throws(MemberListFault) -> [Int64] {
        var index = 1
        let first = try read(bytes, at: &index)
        guard first <= Int64.max - Int64(bytes.count) * 8 else { throw .notRising }
        let bits = Array(bytes[index...])
        guard let bitmap = MemberBitmap(bytes: bits, count: bits.count * 8) else { throw .endsEarly }
        guard bitmap.setCount <= membersMax else { throw .tooMany }
        var ids: [Int64] = []
        ids.reserveCapacity(bitmap.setCount)
        bitmap.forEachSet { ids.append(first + Int64($0)) }
        return ids
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var remaining = number
        while remaining >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: remaining) | 0x80)
            remaining >>= 7
        }
        bytes.append(UInt8(remaining))
    }

    private static func read(_ bytes: [UInt8], at index: inout Int) throws(MemberListFault) -> Int64 {
        var number: UInt64 = 0
        // Nine groups of seven bits make 63: an Int64 without its sign.
        for shift in stride(from: 0, through: 56, by: 7) {
            guard index < bytes.count else { throw .endsEarly }
            let byte = bytes[index]
            index += 1
            number |= UInt64(byte & 0x7f) << UInt64(shift)
            if byte < 0x80 { return Int64(number) }
        }
        throw .numberTooLong
    }
}

/// The reason why bytes are not a list of members. They come from the database, which a stranger may have changed.
package enum MemberListFault: Error, Equatable, Sendable {
    case unknownForm
    case endsEarly
    case numberTooLong
    case notRising
    case tooMany
}
