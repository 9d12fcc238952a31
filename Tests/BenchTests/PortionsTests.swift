import Testing
import carillon_bench

@Suite("The portions of a measurement")
struct PortionsTests {
    @Test("cover every number once, in order", arguments: [(5, 5), (7, 3), (1_000, 100), (10_000_000, 7), (40_000, 1)])
    func whole(count: Int, parts: Int) {
        let ranges = Portions(count, in: parts).ranges
        #expect(ranges.count == parts && ranges.first?.lowerBound == 1 && ranges.last?.upperBound == count + 1)
        #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    }

    @Test("differ in length by one at most")
    func even() {
        #expect(Portions(7, in: 3).ranges.map(\.count).sorted() == [2, 2, 3])
        #expect(Portions(1_000, in: 5).ranges.map(\.count) == [200, 200, 200, 200, 200])
    }
}
