import Basis
import LaneRules
import Testing

@Suite("A lane whose provider counts requests")
struct RequestPaceTests {
    private let start = MonotonicInstant(nanoseconds: 0)

    /// Takes the whole allowance after each `step`. Returns the number of requests in each second.
    private func run(
        _ pace: inout RequestPace, from start: MonotonicInstant, seconds: Int, step: Duration = .milliseconds(10)
    ) -> [Int] {
        var counts = Array(repeating: 0, count: seconds)
        var now = start
        while now < start + .seconds(Int64(seconds)) {
            let count = pace.allowance(now)
            pace.took(count)
            counts[Int((now - start).components.seconds)] += count
            now = now + step
        }
        return counts
    }

    @Test("sends no more in a minute than the provider allows")
    func minute() {
        var pace = RequestPace(perMinute: 6_000)
        _ = run(&pace, from: start, seconds: 120)
        let full = run(&pace, from: start + .seconds(120), seconds: 60)
        #expect(full.reduce(0, +) <= 6_000 + 100)
        #expect(full.reduce(0, +) >= 5_900)
    }

    @Test("pays for a request that carries more pushes than are allowed before the next one leaves")
    func debt() {
        var pace = RequestPace(perMinute: 6_000)
        #expect(pace.allowance(start) == 10)
        pace.took(60)
        #expect(pace.allowance(start) < 0)
        let next = pace.nextAt(start)
        // Fifty pushes of debt and the next push itself, at the ramp's start: ten a second, and hardly more.
        #expect(next > start + .seconds(4) && next < start + .seconds(6))
        #expect(pace.allowance(next) >= 1)
    }

    @Test("grows from a tenth of its rate to all of it in a minute")
    func ramp() {
        var pace = RequestPace(perMinute: 60_000)
        let counts = run(&pace, from: start, seconds: 70)
        #expect((100...350).contains(counts[0]))
        #expect((450...650).contains(counts[30]))
        #expect((950...1_010).contains(counts[65]))
        for second in 1..<60 { #expect(counts[second] <= counts[second + 1] + 15) }
    }

    @Test("restarts its ramp after a pause, and saves nothing up meanwhile")
    func remaining() {
        var pace = RequestPace(perMinute: 60_000)
        _ = run(&pace, from: start, seconds: 90)
        let counts = run(&pace, from: start + .seconds(90 + 61), seconds: 2)
        #expect(counts[0] <= 350)
    }

    @Test("regains requests that the provider did not count")
    func givenBack() {
        var pace = RequestPace(perMinute: 60)
        #expect(pace.allowance(start) == 1)
        pace.took(1)
        #expect(pace.allowance(start) == 0)
        pace.giveBack(1)
        #expect(pace.allowance(start) == 1)
    }

    @Test("predicts correctly when the next request may leave")
    func nextAt() {
        var pace = RequestPace(perMinute: 600)
        pace.took(pace.allowance(start))
        let next = pace.nextAt(start)
        #expect(next > start)
        #expect(pace.allowance(next + .milliseconds(1)) >= 1)
    }
}
