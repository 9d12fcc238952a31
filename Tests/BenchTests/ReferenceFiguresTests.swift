import Testing
import carillon_bench

@Suite("A reference measurement")
struct ReferenceFiguresTests {
    private func isBelievable(_ time: Int, processor: Int, sink: Int, once: Int = 1_000) -> Bool {
        ReferenceSender.Figures(
            requests: 1_000, time: .milliseconds(time), processor: .milliseconds(processor), sink: .milliseconds(sink)
        ).isBelievable(beside: .milliseconds(once))
    }

    @Test("counts as believable only with times that the machine could have taken")
    func believable() {
        #expect(isBelievable(900, processor: 500, sink: 400))
        #expect(!isBelievable(250, processor: 100, sink: 100), "the time is a quarter of the reference")
        #expect(!isBelievable(-5, processor: 100, sink: 100))
        #expect(!isBelievable(900, processor: 0, sink: 100))
        #expect(!isBelievable(900, processor: 500, sink: -1))
        #expect(!isBelievable(900, processor: 500, sink: 900_000), "the time would need a thousand cores")
    }

    @Test("takes the median of its rounds, or the mean of the middle two")
    func median() {
        #expect([3.0, 1, 2].median == 2)
        #expect([4.0, 1, 2, 3].median == 2.5)
        #expect([5.0].median == 5 && [Double]().median == 0)
    }
}
