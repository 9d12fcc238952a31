/// The values of a leased parcel's members, in the order of the parcel: one text for each field of a message's
/// template. The arrays are flat, so that a parcel costs a handful of allocations.
package struct MemberValues: Equatable, Sendable {
    /// The number of members that were read, from the first one on. For those after them there was no room.
    package private(set) var readCount = 0
    /// The texts, one after the other. A reader appends one, and then calls `endValue`.
    package var bytes: [UInt8] = []
    private var ends: [Int32] = []
    package let fieldCount: Int

    package init(fieldCount: Int) {
        precondition(fieldCount > 0)
        self.fieldCount = fieldCount
    }

    /// Returns where the value lies in `bytes`; empty: the device has none.
    package func range(of member: Int, field: Int) -> Range<Int> {
        let place = member * fieldCount + field
        return (place == 0 ? 0 : Int(ends[place - 1]))..<Int(ends[place])
    }

    package mutating func add(_ values: [[UInt8]]) {
        precondition(values.count == fieldCount)
        for value in values {
            bytes += value
            endValue()
        }
        endMember()
    }

    /// Ends the value of the next field. It may be empty.
    package mutating func endValue() { ends.append(Int32(bytes.count)) }

    /// Ends a member, whose fields all have a value.
    package mutating func endMember() {
        readCount += 1
        precondition(ends.count == readCount * fieldCount, "a member has a value for each field")
    }
}
