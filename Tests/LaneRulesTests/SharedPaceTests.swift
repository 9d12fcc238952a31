import Basis
import LaneRules
import Testing

@Suite("Lanes of one project")
struct SharedPaceTests {
    private let start = MonotonicInstant(nanoseconds: 0)

    /// A lane that takes its whole allowance at each time when it may ask again.
    private struct Sender {
        let share: SharedPace.Share
        var from: MonotonicInstant
        var until: MonotonicInstant
        var asksAt: MonotonicInstant
        var sent: [MonotonicInstant] = []

        func count(_ from: Duration, _ until: Duration) -> Int {
            sent.count {
                $0 >= MonotonicInstant(nanoseconds: 0) + from && $0 < MonotonicInstant(nanoseconds: 0) + until
            }
        }
    }

    private func sender(_ pace: inout SharedPace, from: Duration = .zero, until: Duration = .seconds(10_000)) -> Sender
    {
        Sender(share: pace.join(), from: start + from, until: start + until, asksAt: start + from)
    }

    /// The limit allows each sender to ask every five milliseconds.
    private static let asksMax = 500_000

    /// Lets each sender ask at its time, a little late, and each a little later than the one before it.
    private func run(_ pace: inout SharedPace, _ senders: inout [Sender], seconds: Int64) {
        let end = start + .seconds(seconds)
        var asked = 0
        while asked < Self.asksMax, let next = senders.indices.min(by: { senders[$0].asksAt < senders[$1].asksAt }),
            senders[next].asksAt < end
        {
            asked += 1
            let now = senders[next].asksAt
            guard now < senders[next].until else {
                pace.idle(senders[next].share)
                senders[next].asksAt = end
                continue
            }
            let count = pace.allowance(senders[next].share, now)
            pace.took(senders[next].share, count)
            senders[next].sent += Array(repeating: now, count: count)
            let again = pace.nextAt(senders[next].share, now)
            senders[next].asksAt = max(again, now + .microseconds(1)) + .microseconds(Int64(next) * 50)
        }
        #expect(asked < Self.asksMax, "the senders ask too often")
    }

    @Test("send no more in a minute together than one lane may", arguments: [60, 600, 60_000])
    func minute(perMinute: Int) {
        var pace = SharedPace(perMinute: perMinute)
        var senders = (0..<3).map { _ in sender(&pace) }
        run(&pace, &senders, seconds: 180)
        let last = senders.reduce(0) { $0 + $1.count(.seconds(120), .seconds(180)) }
        #expect(last <= perMinute + perMinute / 60 + 1)
        #expect(last >= perMinute * 9 / 10)
    }

    @Test("receive equal parts, whatever their number and order", arguments: [60, 600, 60_000], [2, 5])
    func parts(perMinute: Int, lanes: Int) {
        var pace = SharedPace(perMinute: perMinute)
        var senders = (0..<lanes).map { _ in sender(&pace) }
        run(&pace, &senders, seconds: 300)
        let counts = senders.map { $0.count(.seconds(60), .seconds(300)) }
        let most = counts.max() ?? 0
        let least = counts.min() ?? 0
        #expect(most - least <= max(2, most / 50), "\(counts)")
    }

    @Test("share one ramp, so that a later lane starts none and has its part at once")
    func ramp() {
        var pace = SharedPace(perMinute: 60_000)
        var senders = [sender(&pace), sender(&pace, from: .seconds(100))]
        run(&pace, &senders, seconds: 110)
        #expect(senders[0].count(.zero, .seconds(10)) <= 10 * 1_000 / 4 + 1_000)
        #expect((950...1_050).contains(senders[0].count(.seconds(90), .seconds(91))))
        let together = senders.map { $0.count(.seconds(100), .seconds(102)) }
        #expect(together.reduce(0, +) <= 3_000)
        #expect(abs(together[0] - together[1]) <= 100, "\(together)")
    }

    @Test("leave their part to the others while they have nothing to send")
    func idle() {
        var pace = SharedPace(perMinute: 60_000)
        var senders = [sender(&pace), sender(&pace, until: .seconds(100))]
        run(&pace, &senders, seconds: 110)
        #expect((450...550).contains(senders[0].count(.seconds(90), .seconds(91))))
        #expect((950...1_050).contains(senders[0].count(.seconds(102), .seconds(103))))
    }

    @Test("owe nothing for pushes sent while the others had nothing to send")
    func noDebt() {
        var pace = SharedPace(perMinute: 60_000)
        var senders = [sender(&pace, until: .seconds(100)), sender(&pace, from: .seconds(101))]
        run(&pace, &senders, seconds: 110)
        // The first sender has something to send again.
        senders[0].until = start + .seconds(1_000)
        senders[0].asksAt = start + .seconds(110)
        run(&pace, &senders, seconds: 120)
        let counts = senders.map { $0.count(.seconds(115), .seconds(120)) }
        #expect(abs(counts[0] - counts[1]) <= 100, "\(counts)")
    }

    @Test("wait for no lane that stopped asking or is gone", arguments: [true, false])
    func silentNeighbour(isGone: Bool) {
        var pace = SharedPace(perMinute: 60)
        var senders = [sender(&pace), sender(&pace)]
        run(&pace, &senders, seconds: 100)
        let silent = senders.removeFirst()
        if isGone { pace.leave(silent.share) }
        run(&pace, &senders, seconds: 160)
        #expect(senders[0].count(.seconds(100), .seconds(160)) >= 57)
    }

    @Test("regain requests that the provider did not count, whichever lane waits")
    func givenBack() {
        var pace = SharedPace(perMinute: 60)
        let (first, second) = (pace.join(), pace.join())
        #expect(pace.allowance(first, start) == 1)
        pace.took(first, 1)
        #expect(pace.allowance(second, start) == 0)
        #expect(pace.nextAt(second, start) > start)
        pace.giveBack(first, 1)
        #expect(pace.allowance(first, start) + pace.allowance(second, start) == 1)
    }

    @Test("learn when to ask next, and may send then")
    func nextAt() {
        var pace = SharedPace(perMinute: 600)
        let (first, second) = (pace.join(), pace.join())
        pace.took(first, pace.allowance(first, start))
        _ = pace.allowance(second, start)
        #expect(pace.nextAt(second, start) > start)
        var now = start
        for share in [second, first, second] {
            now = pace.nextAt(share, now) + .milliseconds(1)
            // One request is left for this lane, whatever the other lane takes.
            for other in [first, second] where other != share { pace.took(other, pace.allowance(other, now)) }
            #expect(pace.allowance(share, now) == 1)
            pace.took(share, 1)
        }
    }

    @Test("know how many requests may leave, without taking any")
    func room() {
        var pace = SharedPace(perMinute: 60_000)
        #expect(pace.room(start) == 100)
        let share = pace.join()
        pace.took(share, pace.allowance(share, start))
        let before = pace
        #expect(pace.room(start) == 0)
        #expect(pace.room(start + .seconds(1)) >= 100)
        #expect(pace == before)
    }
}
