import QueueRules

/// The device tokens of a parcel's members, for answers that name tokens.
package struct MemberTokens: Sendable {
    private let members: [LeasedMember]
    private let bytes: [UInt8]

    package init(of parcel: LeasedParcel) { (members, bytes) = (parcel.members, parcel.tokens) }

    /// No tokens, for providers whose answers name none.
    package init() { (members, bytes) = ([], []) }

    package func token(at position: Int32) -> ArraySlice<UInt8> {
        let (start, count) = (Int(members[Int(position)].tokenStart), Int(members[Int(position)].tokenCount))
        return bytes[start..<start + count]
    }

    /// Returns those of the members, by their positions, whose tokens an answer names. Tokens of no member are ignored.
    package func members(_ positions: ArraySlice<Int32>, named tokens: [[UInt8]]) -> [Int32] {
        let named = Set(tokens.map { $0[...] })  // lookup only
        return positions.filter { named.contains(token(at: $0)) }
    }
}
