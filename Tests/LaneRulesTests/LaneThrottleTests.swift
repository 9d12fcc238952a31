import Basis
import LaneRules
import Model
import Testing

/// A lane's throttle with a test clock.
private struct ThrottleBench {
    static let message = MessageID(UniversalID(high: 1, low: 1))
    static let other = MessageID(UniversalID(high: 1, low: 2))

    var throttle = LaneThrottle(signalsMin: 16)
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// Records answers to pushes that were leased now, or `age` ago.
    @discardableResult
    mutating func record(
        _ signals: Int, of all: Int, pause: Duration = .seconds(10), message: MessageID = message,
        leased age: Duration = .zero
    ) -> Duration? {
        let outcome = Outcome.deferred(after: pause, .laneThrottled)
        let others = (0..<signals).map { PositionedOutcome(position: Int32($0), outcome: outcome) }
        let leasedAt = MonotonicInstant(nanoseconds: now.nanoseconds - age.wholeNanoseconds)
        defer { throttle.returned(all, leasedAt: leasedAt) }
        return throttle.record(
            LaneAnswers(accepted: all - signals, others: others), of: message, leasedAt: leasedAt, now, entropy: 0)
    }

    mutating func pass(_ time: Duration) {
        now = now + time
        throttle.pass(now)
    }

    func room(isUrgent: Bool = false) -> Int { throttle.room(isUrgent: isUrgent) }
}

@Suite("A lane whose provider throttles it")
struct LaneThrottleTests {
    @Test(
        "keeps its circuit breaker closed while few answers are throttle signals",
        arguments: [(15, 15), (32, 64), (31, 63), (500, 1_000), (0, 1_000)])
    func few(signals: Int, all: Int) {
        var bench = ThrottleBench()
        #expect(bench.record(signals, of: all) == nil)
        #expect(bench.room() == .max && bench.throttle.wakeAt == nil)
    }

    @Test("opens its circuit breaker if most recent answers throttle, for the longest pause given")
    func openings() {
        var bench = ThrottleBench()
        bench.record(0, of: 1_000)
        bench.record(2, of: 60)
        #expect(
            bench.record(20, of: 20, pause: .seconds(7)) == nil, "half of the accepted pushes count against the signals"
        )
        #expect(bench.record(40, of: 40, pause: .seconds(60)) == .seconds(60))
        bench.pass(.seconds(60) - .nanoseconds(1))
        #expect(bench.room() == 0)
        bench.pass(.nanoseconds(1))
        #expect(bench.room() == 1)
    }

    @Test("counts only answers that say something about the lane")
    func counted() {
        let outcomes: [Outcome] = [
            .deferred(after: .seconds(3), .laneThrottled), .deferred(after: .seconds(20), .providerUnavailable),
            .deferred(after: nil, .laneThrottled), .deferred(after: .seconds(90), .deviceThrottled),
            .rejected(Rejection(fault: .tokenUnregistered, reason: "Unregistered")),
            .deferred(after: .seconds(99), .providerBusy), .deferred(after: nil, .credentialRefused),
            .unsent(.withdrawn), .unknown(.connectionLost),
        ]
        let answers = LaneAnswers(accepted: 4, others: outcomes.map { PositionedOutcome(position: 0, outcome: $0) })
        #expect((answers.taken, answers.signals, answers.pause) == (5, 3, .seconds(20)))
    }

    @Test("forgets throttle signals after a while")
    func forgets() {
        var bench = ThrottleBench()
        bench.record(15, of: 15)
        #expect(!bench.throttle.isCalm)
        bench.pass(LaneThrottle.memory + .nanoseconds(1))
        #expect(bench.throttle.isCalm)
        #expect(bench.record(1, of: 1) == nil)
        #expect(bench.record(15, of: 15) != nil)
    }

    @Test("keeps its circuit breaker closed if only one message is throttled and others are accepted")
    func poisoned() {
        var bench = ThrottleBench()
        bench.record(0, of: 5, message: ThrottleBench.other)
        #expect(bench.record(60, of: 60) == nil)
        bench.record(0, of: 1)
        bench.pass(.milliseconds(600))
        #expect(bench.record(30, of: 30) == nil)
        bench.pass(.milliseconds(600))
        #expect(bench.record(30, of: 30) != nil, "the other message was accepted too long ago")
        var both = ThrottleBench()
        both.record(0, of: 5, message: ThrottleBench.other)
        both.record(100, of: 100)
        #expect(both.record(1, of: 1, message: ThrottleBench.other) != nil)
    }

    @Test("opens its circuit breaker after a limited number of signals since the last accepted push")
    func wentDown() {
        var bench = ThrottleBench()
        bench.record(0, of: 5, message: ThrottleBench.other)
        for _ in 1...8 { #expect(bench.record(16, of: 16) == nil) }
        var well = bench
        #expect(bench.record(1, of: 1) != nil)
        well.record(0, of: 1, message: ThrottleBench.other)
        #expect(well.record(128, of: 128) == nil, "an accepted push resets the count")
        #expect(well.record(1, of: 1) != nil)
    }

    @Test("keeps its circuit breaker open longer after late signals of pushes in flight")
    func extended() {
        var bench = ThrottleBench()
        bench.record(16, of: 16, pause: .seconds(10))
        bench.pass(.seconds(4))
        #expect(bench.record(1, of: 3, pause: .seconds(10), leased: .seconds(4) + .nanoseconds(1)) == nil)
        bench.pass(.seconds(10) - .nanoseconds(1))
        #expect(bench.room() == 0)
    }

    @Test("probes its open circuit breaker with a transactional push a second until one is accepted")
    func urgent() {
        var bench = ThrottleBench()
        bench.record(16, of: 16, pause: .seconds(60))
        #expect((bench.room(), bench.room(isUrgent: true)) == (0, 1))
        bench.throttle.admitted(1, bench.now)
        #expect(bench.room(isUrgent: true) == 0)
        #expect(bench.throttle.wakeAt == bench.now + LaneThrottle.tryEvery)
        bench.record(1, of: 1, pause: .seconds(60))
        bench.pass(LaneThrottle.tryEvery)
        #expect(bench.room(isUrgent: true) == 1)
        bench.throttle.admitted(1, bench.now)
        bench.record(0, of: 1, leased: .seconds(2))
        #expect(bench.room() == 0, "the push was leased before the breaker opened")
        bench.record(0, of: 1)
        #expect(bench.room() == 8)
    }

    @Test("probes with one push, then eight times as many each round, until its breaker closes")
    func probes() {
        var bench = ThrottleBench()
        bench.record(16, of: 16)
        bench.pass(.seconds(10))
        var rooms: [Int] = []
        while bench.throttle.phase != .closed {
            let room = bench.room()
            rooms.append(room)
            bench.throttle.admitted(room, bench.now)
            #expect(bench.room() == 0 && bench.room(isUrgent: true) == 0)
            bench.record(0, of: room)
        }
        #expect(rooms == [1, 8, 64, 512])
        #expect(bench.record(15, of: 15) == nil)
    }

    @Test("reopens its circuit breaker after a failed probe, longer each time if no pause is given")
    func again() {
        var bench = ThrottleBench()
        var openings = [bench.record(16, of: 16, pause: .zero)]
        for _ in 1...8 {
            while bench.room() == 0 { bench.pass(.seconds(1)) }
            #expect(
                bench.record(400, of: 400, leased: .seconds(61)) == nil,
                "the pushes were leased before the breaker opened")
            openings.append(bench.record(1, of: 1, pause: .zero))
        }
        #expect(openings == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test("starts with a short pause again once its breaker closed, or after a time without signals")
    func recovered() {
        var bench = ThrottleBench()
        bench.record(16, of: 16, pause: .zero)
        bench.pass(.seconds(1))
        bench.record(0, of: LaneThrottle.halfOpenMax)
        #expect(bench.throttle.phase == .closed)
        #expect(bench.record(40, of: 40, pause: .zero) == .seconds(1))
        bench.pass(.seconds(1))
        #expect(bench.throttle.wakeAt == bench.now + LaneThrottle.memory)
        bench.pass(LaneThrottle.memory)
        #expect(bench.throttle.phase == .closed)
        #expect(bench.record(1, of: 1, pause: .zero) == nil)
        #expect(bench.record(40, of: 40, pause: .zero) == .seconds(1))
    }

    @Test("keeps its circuit breaker half-open while fewer than half of the probes are throttled")
    func mixed() {
        var bench = ThrottleBench()
        bench.record(16, of: 16)
        bench.pass(.seconds(10))
        #expect(bench.record(0, of: 1) == nil)
        #expect(bench.record(1, of: 1) == nil)
        #expect(bench.room() == 8)
        #expect(bench.record(2, of: 2) != nil)
    }

    @Test("keeps its circuit breaker open no longer than a limit, whatever the provider asks for")
    func bounded() {
        var bench = ThrottleBench()
        #expect(bench.record(16, of: 16, pause: .seconds(86_400 * 365)) == LaneThrottle.openMax)
        bench.pass(.seconds(1))
        bench.record(1, of: 1, pause: .seconds(Int64.max / 2_000_000_000))
        bench.pass(LaneThrottle.openMax)
        #expect(bench.room() == 1)
    }
}
