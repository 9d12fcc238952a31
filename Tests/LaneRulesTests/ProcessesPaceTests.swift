import Basis
import LaneRules
import Testing

/// Gateways with one lane each, all of one project, and the rows in which they tell one another that they send.
private struct Gateways {
    struct Gateway {
        var pace: SharedPace
        let share: SharedPace.Share
        /// The seconds in which the gateway has something to send.
        let sends: [Range<Int>]
        /// The largest number of requests a second; nil: as many as it may send.
        let wants: Int?
        var heartbeatsAt: [Duration] = []
        var answer: (at: Duration, processes: Int?)?
        /// The number of requests sent in each tenth of a second.
        var sent: [Int]
    }

    var gateways: [Gateway] = []
    /// When each gateway was last heard, by its place.
    var heardAt: [Duration?] = []
    let seconds: Int
    /// The round trip to the database.
    var roundTrip: Duration = .milliseconds(5)
    /// The seconds in which no gateway reaches the database.
    var outage = 0..<0

    init(seconds: Int) { self.seconds = seconds }

    mutating func add(perMinute: Int, sends: [Range<Int>]? = nil, wants: Int? = nil) {
        var pace = SharedPace(perMinute: perMinute, amongProcesses: true)
        let share = pace.join()
        gateways.append(
            Gateway(
                pace: pace, share: share, sends: sends ?? [0..<seconds], wants: wants,
                sent: Array(repeating: 0, count: seconds * 10)))
        heardAt.append(nil)
    }

    mutating func run() {
        for step in 0..<(seconds * 100) {
            let time = Duration.milliseconds(Int64(step * 10))
            for place in gateways.indices { ask(place, time, step / 10) }
        }
    }

    private mutating func ask(_ place: Int, _ time: Duration, _ tenth: Int) {
        // Each gateway has its own clock.
        let now = MonotonicInstant(nanoseconds: Int64(place + 1) * 1_000_000_000_000) + time
        var gateway = gateways[place]
        if let answer = gateway.answer, answer.at <= time {
            gateway.answer = nil
            gateway.pace.heartbeatEnded(answer.processes, now)
        }
        if gateway.sends.contains(where: { $0.contains(tenth / 10) }) {
            let second = tenth / 10 * 10
            let wanted = gateway.wants.map { $0 - gateway.sent[second...tenth].reduce(0, +) } ?? .max
            let count = min(wanted, gateway.pace.allowance(gateway.share, now))
            if gateway.pace.beginsHeartbeat(now) {
                gateway.heartbeatsAt.append(time)
                gateway.answer = (time + roundTrip, hear(place, time))
            }
            gateway.pace.took(gateway.share, count)
            gateway.sent[tenth] += count
            if count < wanted { _ = gateway.pace.nextAt(gateway.share, now) }
        }
        gateways[place] = gateway
    }

    private mutating func hear(_ place: Int, _ time: Duration) -> Int? {
        guard !outage.contains(Int(time.components.seconds)) else { return nil }
        heardAt[place] = time
        return heardAt.count { $0.map { time - $0 < SharedPace.countedFor } ?? false }
    }

    func sent(_ place: Int, _ seconds: Range<Int>) -> Int {
        gateways[place].sent[seconds.lowerBound * 10..<seconds.upperBound * 10].reduce(0, +)
    }
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

    @Test("ramp up together no faster than one, also if a late one begins a ramp of its own")
    func ramp() {
        var world = Gateways(seconds: 100)
        for start in [0, 0, 20] { world.add(perMinute: 60_000, sends: [start..<100]) }
        world.run()
        #expect((100...400).contains(world.sent(0..<1)))
        for second in 1..<99 where second != 20 {
            #expect(world.sent(second..<second + 1) <= 120 + second * 15 + 30, "second \(second)")
        }
        #expect((30...60).contains(world.sent(2, 21..<22)), "a tenth of a third")
        #expect((310...340).contains(world.sent(2, 90..<91)))
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
        #expect(world.gateways[0].heartbeatsAt.count == 70)
    }

    @Test("exceed the quota by less than a fifth of a second's requests when another one joins")
    func join() {
        var world = Gateways(seconds: 130)
        for start in [0, 0, 100] { world.add(perMinute: 60_000, sends: [start..<130]) }
        world.run()
        #expect(world.sent(98..<100) >= 1_950)
        #expect((100...200).contains(world.sent(2, 100..<101)))
        #expect(world.sent(100..<101) <= 1_000 + 200)
        for second in 101..<129 { #expect(world.sent(second..<second + 1) <= 1_000 + 10, "second \(second)") }
    }

    @Test("exceed the quota by at most a second's share when a forgotten process returns")
    func comeback() {
        var world = Gateways(seconds: 130)
        world.add(perMinute: 60_000)
        world.add(perMinute: 60_000, sends: [0..<100, 110..<130])
        world.run()
        #expect(world.sent(0, 109..<110) >= 950)
        #expect(world.sent(1, 111..<112) >= 450)
        #expect(world.sent(109..<112) <= 3_000 + 500 + 100 + 20)
        for second in 111..<129 { #expect(world.sent(second..<second + 1) <= 1_000 + 10, "second \(second)") }
    }

    @Test("keep the quota of a minute, but for a second's share of each that joined in it", arguments: UInt64(1)...20)
    func comeAndGo(seed: UInt64) {
        var state = seed
        func draw(_ range: ClosedRange<Int>) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return range.lowerBound + Int(state >> 33) % range.count
        }
        var world = Gateways(seconds: 300)
        var starts: [Int] = []
        for _ in 1...4 {
            var (sends, second) = ([Range<Int>](), draw(0...30))
            while second < 300 {
                let end = min(300, second + draw(1...60))
                sends.append(second..<end)
                starts.append(second)
                second = end + draw(1...20)
            }
            world.add(perMinute: 60_000, sends: sends)
        }
        world.run()
        for start in 0...240 {
            let joined = starts.count { $0 > start - 2 && $0 < start + 60 }
            let sent = world.sent(start..<start + 60)
            #expect(sent <= 60_000 + 1_000 + joined * 500, "seconds \(start) to \(start + 60), \(joined) joined")
        }
    }

    @Test("regain the whole quota three seconds after one ends")
    func ends() {
        var world = Gateways(seconds: 130)
        world.add(perMinute: 60_000)
        world.add(perMinute: 60_000, sends: [0..<110])
        world.run()
        #expect(world.sent(0, 108..<110) <= 1_010)
        #expect(world.sent(0, 114..<115) >= 950)
    }

    @Test("keep their pace without the database, while one that joins stays at its ramp's start")
    func outage() {
        var world = Gateways(seconds: 130)
        for start in [0, 0, 92] { world.add(perMinute: 60_000, sends: [start..<130]) }
        world.outage = 90..<115
        world.run()
        for place in 0...1 { #expect(abs(world.sent(place, 91..<114) - 23 * 500) <= 100) }
        #expect(world.sent(2, 93..<114) <= 21 * 100 + 10)
        #expect(world.sent(117..<118) <= 1_010)
    }

    @Test("send the first push without waiting for an answer, and tell nothing while idle")
    func first() {
        var world = Gateways(seconds: 30)
        world.add(perMinute: 600, sends: [0..<1], wants: 1)
        world.roundTrip = .seconds(20)
        world.run()
        #expect(world.sent(0..<1) == 1)
        #expect(world.gateways[0].heartbeatsAt.count == 1)
    }

    @Test("use all of a small quota")
    func small() {
        var world = Gateways(seconds: 200)
        for _ in 0..<2 { world.add(perMinute: 60) }
        world.run()
        #expect((55...63).contains(world.sent(130..<190)))
    }
}
