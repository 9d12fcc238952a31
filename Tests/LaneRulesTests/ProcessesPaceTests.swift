import Basis
import LaneRules
import Model
import Testing

private let noon = WallInstant(secondsSince1970: 1_793_448_000)

/// Gateways with one lane each, all of one project, which share one quota ledger.
private struct Gateways {
    struct Gateway {
        var pace: SharedPace
        let share: SharedPace.Share
        /// The seconds in which the gateway has something to send.
        let sends: Range<Int>
        /// The largest number of requests a second; nil: as many as it may send.
        let wants: Int?
        var asks: [Duration] = []
        var answers: [(at: Duration, ask: QuotaRequest, grant: QuotaGrant?)] = []
        /// The number of requests sent in each second.
        var sent: [Int]
    }

    var ledger = QuotaLedger()
    var gateways: [Gateway] = []
    let seconds: Int
    /// The round trip to the database.
    var roundTrip: Duration = .milliseconds(5)
    /// The seconds in which no gateway reaches the database.
    var outage = 0..<0

    init(seconds: Int) { self.seconds = seconds }

    mutating func add(perMinute: Int, sends: Range<Int>? = nil, wants: Int? = nil) {
        var pace = SharedPace(perMinute: perMinute, amongProcesses: true)
        let share = pace.join()
        gateways.append(
            Gateway(
                pace: pace, share: share, sends: sends ?? 0..<seconds, wants: wants,
                sent: Array(repeating: 0, count: seconds)))
    }

    mutating func run() {
        for step in 0..<(seconds * 100) {
            let time = Duration.milliseconds(Int64(step * 10))
            for place in gateways.indices { ask(place, time, second: step / 100) }
        }
    }

    private mutating func ask(_ place: Int, _ time: Duration, second: Int) {
        // Each gateway has its own clock.
        let now = MonotonicInstant(nanoseconds: Int64(place + 1) * 1_000_000_000_000) + time
        var gateway = gateways[place]
        while let next = gateway.answers.first, next.at <= time {
            gateway.answers.removeFirst()
            gateway.pace.receive(next.grant, of: next.ask, now)
        }
        if gateway.sends.contains(second) {
            let wanted = gateway.wants.map { $0 - gateway.sent[second] } ?? .max
            let count = min(wanted, gateway.pace.allowance(gateway.share, now))
            if let ask = gateway.pace.ask(now) {
                gateway.asks.append(time)
                let isReceived = !outage.contains(second)
                let grant =
                    isReceived
                    ? ledger.answer(ask, of: ProcessID(UniversalID(high: 0, low: UInt64(place))), now: noon + time)
                    : nil
                gateway.answers.append((time + roundTrip, ask, grant))
            }
            gateway.pace.took(gateway.share, count)
            gateway.sent[second] += count
            if count < wanted { _ = gateway.pace.nextAt(gateway.share, now) }
        }
        gateways[place] = gateway
    }

    func sent(_ place: Int, _ seconds: Range<Int>) -> Int { gateways[place].sent[seconds].reduce(0, +) }
    func sent(_ seconds: Range<Int>) -> Int { gateways.indices.reduce(0) { $0 + sent($1, seconds) } }
}

@Suite("Processes that share one project's quota")
struct ProcessesPaceTests {
    @Test("send as much in a minute together as one may, and no more", arguments: [1, 2, 5])
    func minute(count: Int) {
        var world = Gateways(seconds: 180)
        for _ in 0..<count { world.add(perMinute: 60_000) }
        world.run()
        for start in 0..<120 { #expect(world.sent(start..<start + 60) <= 60_000 + 1_000 + count * 10) }
        #expect(world.sent(120..<180) >= 59_000)
        for place in 0..<count { #expect(abs(world.sent(place, 120..<180) - 60_000 / count) <= 1_500) }
    }

    @Test("share one ramp, which a late process neither restarts nor makes steeper")
    func ramp() {
        var world = Gateways(seconds: 70)
        for start in [0, 0, 20] { world.add(perMinute: 60_000, sends: start..<70) }
        world.run()
        #expect((100...300).contains(world.sent(0..<1)))
        #expect((450...650).contains(world.sent(30..<31)))
        for second in 1..<69 { #expect(world.sent(second..<second + 1) <= 120 + second * 15 + 60) }
        #expect(world.sent(2, 30..<31) >= 140, "the late process has its part of the quota")
    }

    @Test("send at the full rate if there is only one of them")
    func alone() {
        var world = Gateways(seconds: 70)
        world.add(perMinute: 60_000)
        world.run()
        var single = RequestPace(perMinute: 60_000)
        var expected = 0
        for step in 0..<7_000 {
            let count = single.allowance(MonotonicInstant(nanoseconds: Int64(step) * 10_000_000))
            single.took(count)
            expected += count
        }
        #expect(world.sent(0..<70) >= expected - 20)
        #expect(world.gateways[0].asks.count <= 75)
    }

    @Test("leave the part of the quota that one does not need to the others")
    func uneven() {
        var world = Gateways(seconds: 120)
        world.add(perMinute: 60_000, wants: 20)
        world.add(perMinute: 60_000)
        world.run()
        #expect(world.sent(0, 100..<110) == 200)
        #expect(world.sent(1, 100..<110) >= 9_300)
        for asks in world.gateways.map(\.asks) { #expect(asks.count <= 135) }
    }

    @Test("regain the whole quota three seconds after one ends, and share it two after one starts")
    func changes() {
        var world = Gateways(seconds: 130)
        world.add(perMinute: 60_000)
        world.add(perMinute: 60_000, sends: 80..<110)
        world.run()
        #expect(world.sent(1, 82..<83) >= 450)
        #expect(world.sent(0, 83..<84) <= 550)
        #expect(world.sent(0, 114..<115) >= 950)
    }

    @Test("keep their parts for seconds without the database, then send a little, and recover")
    func outage() {
        var world = Gateways(seconds: 130)
        for _ in 0..<2 { world.add(perMinute: 60_000) }
        world.outage = 90..<110
        world.run()
        #expect(world.sent(90..<91) >= 950)
        #expect((100...300).contains(world.sent(95..<105)), "each process sends a hundredth")
        #expect(world.sent(112..<113) >= 950)
    }

    @Test("send the first push without waiting for a grant, and request nothing while idle")
    func first() {
        var world = Gateways(seconds: 30)
        world.add(perMinute: 600, sends: 0..<1, wants: 1)
        world.roundTrip = .seconds(20)
        world.run()
        #expect(world.sent(0..<1) == 1)
        #expect(world.gateways[0].asks.count == 1)
    }

    @Test("use all of a small quota")
    func small() {
        var world = Gateways(seconds: 200)
        for _ in 0..<2 { world.add(perMinute: 60) }
        world.run()
        #expect((55...63).contains(world.sent(130..<190)))
    }
}
