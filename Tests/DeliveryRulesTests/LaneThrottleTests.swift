import DeliveryRules
import PushModel
import Testing

/// A lane's throttle, with a clock in hand.
private struct ThrottleBench {
    var throttle = LaneThrottle()
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// So many answers that were read together. Those that say nothing of the lane were noticed as they came.
    @discardableResult
    mutating func hear(_ words: Int, of all: Int, pause: Duration = .seconds(10)) -> Duration? {
        for _ in 0..<(all - words) { throttle.taken() }
        return throttle.heard(words, of: all, pause: pause, now, entropy: 0)
    }

    mutating func pass(_ time: Duration) { now = now + time }

    mutating func room(_ inFlight: Int = 0) -> Int { throttle.room(inFlight: inFlight, now) }
}

@Suite("A lane whose provider asks for less")
struct LaneThrottleTests {
    @Test("goes on where few of its answers do", arguments: [(15, 15), (32, 64), (31, 63), (500, 1_000), (0, 1_000)])
    func few(words: Int, all: Int) {
        var bench = ThrottleBench()
        #expect(bench.hear(words, of: all) == nil)
        #expect(bench.room(5_000) == .max)
    }

    @Test("rests where most of the latest do, as long as the longest pause that is asked for")
    func rests() {
        var bench = ThrottleBench()
        bench.hear(0, of: 1_000)
        #expect(bench.hear(30, of: 30, pause: .seconds(7)) == nil, "the half of what was good before stands against it")
        #expect(bench.hear(20, of: 20, pause: .seconds(60)) == .seconds(60))
        bench.pass(.seconds(60) - .nanoseconds(1))
        #expect(bench.room() == 0)
        #expect(bench.throttle.restsUntil == bench.now + .nanoseconds(1))
        bench.pass(.nanoseconds(1))
        #expect(bench.room() == 1)
    }

    @Test("counts nothing that was said long before")
    func forgets() {
        var bench = ThrottleBench()
        bench.hear(15, of: 15)
        bench.pass(LaneThrottle.memory + .nanoseconds(1))
        #expect(bench.hear(1, of: 1) == nil)
        #expect(bench.hear(15, of: 15) != nil)
    }

    @Test("rests longer for what was under way when it began")
    func extended() {
        var bench = ThrottleBench()
        bench.hear(16, of: 16, pause: .seconds(10))
        bench.pass(.seconds(4))
        #expect(bench.hear(1, of: 3, pause: .seconds(10)) == nil)
        bench.hear(0, of: 3)
        #expect(bench.throttle.restsUntil == bench.now + .seconds(10))
    }

    @Test("tries one request then, and one more beside it for each that is taken, until the provider is well")
    func probes() {
        var bench = ThrottleBench()
        bench.hear(16, of: 16)
        bench.pass(.seconds(10))
        #expect((bench.room(0), bench.room(1)) == (1, 0))
        for taken in 1..<LaneThrottle.probingMax {
            bench.throttle.taken()
            #expect((bench.room(0), bench.room(taken)) == (taken + 1, 1))
        }
        bench.throttle.taken()
        #expect(bench.throttle.phase == .flowing)
    }

    @Test("rests again where what it tries is not taken, longer each time where nothing is asked for")
    func again() {
        var bench = ThrottleBench()
        var rests = [bench.hear(16, of: 16, pause: .zero)]
        for _ in 1...8 {
            while bench.room() == 0 { bench.pass(.seconds(1)) }
            rests.append(bench.hear(1, of: 1, pause: .zero))
        }
        #expect(rests == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test("begins with a short rest again once its provider was well")
    func recovered() {
        var bench = ThrottleBench()
        bench.hear(16, of: 16, pause: .zero)
        bench.pass(.seconds(1))
        #expect(bench.room() == 1)
        bench.hear(0, of: LaneThrottle.probingMax)
        #expect(bench.throttle.phase == .flowing)
        #expect(bench.hear(40, of: 40, pause: .zero) == .seconds(1))
    }

    @Test("goes on trying where some is taken and less than half is not")
    func mixed() {
        var bench = ThrottleBench()
        bench.hear(16, of: 16)
        bench.pass(.seconds(10))
        #expect(bench.room() == 1)
        #expect(bench.hear(0, of: 1) == nil)
        #expect(bench.hear(1, of: 2) == nil)
        #expect(bench.room() == 3)
        #expect(bench.hear(2, of: 2) != nil)
    }

    @Test("is kept from nobody for longer than a bound, whatever a provider asks for")
    func bounded() {
        var bench = ThrottleBench()
        #expect(bench.hear(16, of: 16, pause: .seconds(86_400 * 365)) == LaneThrottle.restMax)
        bench.pass(.seconds(1))
        bench.hear(1, of: 1, pause: .seconds(Int64.max / 2_000_000_000))
        bench.pass(LaneThrottle.restMax)
        #expect(bench.room() == 1)
    }
}
