import Delivery
import Model
import QueueRules
import Testing

@Suite("Values that are read for several parcels at once")
struct SharedValuesTests {
    private func text(_ member: RegistrationID) -> [[UInt8]] {
        [Array("name \(member.value)".utf8), Array("\(member.value)".utf8)]
    }

    private func values(of members: some Sequence<RegistrationID>) -> MemberValues {
        var values = MemberValues(fieldCount: 2)
        for member in members { values.add(text(member)) }
        return values
    }

    private func ids(_ numbers: [Int64]) -> [RegistrationID] { numbers.map { RegistrationID($0) } }

    @Test(
        "need one read per member, by ascending id, and are split by parcel afterwards",
        arguments: [
            [[900], [5]], [[7], [900], [300]], [[5], [5]], [[1, 4, 9], [2, 4], [9], [1, 9]], [[], [3]],
        ] as [[[Int64]]])
    func parts(parcels: [[Int64]]) {
        let members = parcels.map(ids)
        let together = MergedMembers(members)
        #expect(together.all.map(\.value) == Set(parcels.joined()).sorted())
        let read = values(of: together.all)
        for (parcel, places) in zip(members, together.places) {
            #expect(read.part(places, fieldCount: 2) == values(of: parcel))
        }
    }

    @Test("end for each parcel at the first member that did not fit")
    func room() {
        let members = [[1, 3], [2], [1, 4], [5]].map { ids($0) }
        let together = MergedMembers(members)
        // The first three of the five members fit.
        let read = values(of: together.all.prefix(3))
        let counts = together.places.map { read.part($0, fieldCount: 2).readCount }
        #expect(counts == [2, 1, 1, 0])
        #expect(read.part(together.places[2], fieldCount: 2) == values(of: ids([1])))
    }
}
