import Delivery
import Store
import Testing

@Suite("Parcels of a line whose pushes are being made")
struct PushLineTests {
    @Test("have one maker at a time, who takes them in the order of their leases until none is left")
    func order() {
        var line = PushLine<Int>()
        #expect(line.add(1) == true, "nobody is at work")
        #expect((2...64).allSatisfy { !line.add($0) })
        #expect((1...40).allSatisfy { line.take() == $0 })
        // The next lease comes while the first one is being made.
        #expect((65...128).allSatisfy { !line.add($0) })
        #expect((41...128).allSatisfy { line.take() == $0 })
        #expect(line.add(129) == false, "the maker has not heard yet that nothing is left")
        #expect(line.take() == 129 && line.take() == nil)
        #expect(line.add(130) == true, "the maker has gone")
        #expect(line.take() == 130)
    }
}

@Suite("Values that were read for several parcels")
struct SharedValuesTests {
    @Test("are each parcel's own afterwards, as if they had been read for it alone")
    func parts() {
        let said = [["ann", "1"], ["", "2"], ["ben", ""], ["eve", "4"]].map { $0.map { Array($0.utf8) } }
        var all = MemberValues(fieldCount: 2)
        for member in said { all.add(member) }
        func alone(_ members: Range<Int>) -> MemberValues {
            var values = MemberValues(fieldCount: 2)
            for member in members { values.add(said[member]) }
            return values
        }
        for members in [0..<1, 1..<3, 3..<4, 2..<2] {
            #expect(all.part(members, fieldCount: 2) == alone(members))
        }
        // There was no room for the last ones: these go back.
        #expect(all.part(3..<6, fieldCount: 2).readCount == 1)
        #expect(all.part(5..<6, fieldCount: 2).readCount == 0)
    }
}
