import Testing
import carillon_bench

@Suite("A percentile of measured times")
struct PercentilesTests {
    @Test("takes the nearest rank: a measured value, however few there are")
    func nearestRanks() {
        let hundred = Percentiles((1...100).reversed().map { .milliseconds($0) })
        #expect(hundred.all.map(\.value) == [50, 90, 99, 100])
        #expect(Percentiles([.milliseconds(7)]).all.map(\.value) == [7, 7, 7, 7])
        #expect(Percentiles([.milliseconds(1), .milliseconds(9)]).all.map(\.value) == [1, 9, 9, 9])
        #expect(hundred.value(at: 0) == .milliseconds(1))
    }
}
