import Model
import QueueRules

/// Members of several parcels whose values are read together: each once, by rising id.
package struct MergedMembers: Sendable {
    package let all: [RegistrationID]
    /// For each parcel, the places of its members in `all`, in the parcel's order.
    package let places: [[Int]]

    package init(_ parcels: [[RegistrationID]]) {
        var all: [RegistrationID] = []
        for member in parcels.joined().sorted(by: { $0.value < $1.value }) where all.last != member {
            all.append(member)
        }
        var known: [RegistrationID: Int] = [:]  // lookup only
        for (place, member) in all.enumerated() { known[member] = place }
        self.all = all
        places = parcels.map { members in members.compactMap { known[$0] } }
    }
}

extension MemberValues {
    /// Returns the values of some members, by their places, as if only these had been read. It ends at the first that
    /// was not read.
    package func part(_ places: [Int], fieldCount: Int) -> MemberValues {
        var part = MemberValues(fieldCount: fieldCount)
        for place in places {
            guard place < readCount else { break }
            part.add((0..<fieldCount).map { Array(bytes[range(of: place, field: $0)]) })
        }
        return part
    }
}
