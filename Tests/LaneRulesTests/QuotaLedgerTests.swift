import Basis
import LaneRules
import Model
import Testing

private let noon = WallInstant(secondsSince1970: 1_793_448_000)

extension QuotaLedger {
    /// Requests a part in percent instead of millionths.
    fileprivate mutating func ask(
        _ process: UInt64, wants: Int32 = 100, holds: Int32 = 0, number: Int64? = nil, at time: Duration = .zero
    ) -> QuotaGrant? {
        let now = noon + time
        let ask = QuotaRequest(
            number: number ?? now.microseconds, wants: QuotaPart(millionths: wants * 10_000),
            holds: QuotaPart(millionths: holds * 10_000))
        return answer(ask, of: ProcessID(UniversalID(high: 0, low: process)), now: now)
    }
}

extension QuotaGrant {
    fileprivate var percent: Int32 { part.millionths / 10_000 }
}

/// A SplitMix64 random number generator.
private struct Draws {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

@Suite("The ledger of a project's quota")
struct QuotaLedgerTests {
    @Test("grants everything to a single process, whatever it wants", arguments: [1, 40, 100] as [Int32])
    func alone(wants: Int32) {
        var ledger = QuotaLedger()
        #expect(ledger.ask(1, wants: wants)?.part == .whole)
    }

    @Test("grants nothing to a second process until the first reports that it uses less")
    func second() {
        var ledger = QuotaLedger()
        _ = ledger.ask(1)
        let early = ledger.ask(2, at: .milliseconds(100))
        #expect(early?.part == QuotaPart.none && early?.isShort == true)
        let reported = ledger.ask(1, holds: 100, at: .milliseconds(200))
        #expect(reported?.percent == 50 && reported?.isShort == false)
        #expect(
            ledger.ask(2, at: .milliseconds(300))?.part == QuotaPart.none,
            "the first process may still use the whole quota")
        _ = ledger.ask(1, holds: 50, at: .milliseconds(400))
        let due = ledger.ask(2, at: .milliseconds(500))
        #expect(due?.percent == 50 && due?.isShort == false)
    }

    @Test("grants unwanted parts of the quota to the processes that want more")
    func uneven() {
        var ledger = QuotaLedger()
        _ = ledger.ask(1, wants: 5)
        _ = ledger.ask(2, wants: 100)
        _ = ledger.ask(1, wants: 5, holds: 100, at: .milliseconds(1))
        _ = ledger.ask(1, wants: 5, holds: 5, at: .milliseconds(2))
        #expect(ledger.ask(2, wants: 100, at: .milliseconds(3))?.percent == 95)
        // A third process shares with the second one only.
        _ = ledger.ask(3, wants: 100, at: .milliseconds(4))
        #expect(ledger.ask(2, wants: 100, holds: 95, at: .milliseconds(5))?.percent == 47)
    }

    @Test("keeps the part of a silent process for a while, and no longer")
    func silent() {
        var ledger = QuotaLedger()
        _ = ledger.ask(1)
        #expect(ledger.ask(2, at: QuotaLedger.retention - .milliseconds(1))?.part == QuotaPart.none)
        #expect(ledger.ask(2, at: QuotaLedger.retention)?.part == .whole)
        #expect(QuotaAllotment.lasts < QuotaLedger.retention)
    }

    @Test("ignores a request that a later one overtook")
    func overtaken() {
        var ledger = QuotaLedger()
        _ = ledger.ask(1, number: 7)
        let before = ledger
        #expect(ledger.ask(1, wants: 1, number: 6, at: .seconds(1)) == nil)
        #expect(ledger == before)
    }

    @Test("keeps no part for ended processes after the clock was set back")
    func clockSetBack() {
        var ledger = QuotaLedger()
        _ = ledger.ask(1, at: .seconds(3_600))
        _ = ledger.ask(2, at: .zero)
        #expect(ledger.ask(2, at: QuotaLedger.retention)?.part == .whole)
    }

    @Test("keeps one ramp for all, which restarts after a time without requests")
    func ramp() {
        var ledger = QuotaLedger()
        #expect(ledger.ask(1)?.begins == true)
        let joined = ledger.ask(2, at: .seconds(40))
        #expect(joined?.begins == false && joined?.rampAge == .seconds(40))
        #expect(ledger.ask(3, at: .seconds(99))?.rampAge == .seconds(99))
        let anew = ledger.ask(1, at: .seconds(99 + 60))
        #expect(anew?.begins == true && anew?.rampAge == .zero)
    }

    @Test("grants at most the whole quota in total, whatever is lost on the way", arguments: UInt64(1)...20)
    func never(seed: UInt64) {
        var random = Draws(state: seed)
        var ledger = QuotaLedger()
        var time = Duration.zero
        // The part that each process may use, and until when.
        var held = [(part: QuotaPart, until: Duration)](repeating: (.none, .zero), count: 4)
        for _ in 0..<2_000 {
            time += .milliseconds(Int64(random.next() % 400))
            let process = Int(random.next() % 4)
            let holds = time < held[process].until ? held[process].part : .none
            let ask = QuotaRequest(
                number: (noon + time).microseconds, wants: QuotaPart(millionths: Int32(random.next() % 1_000_001)),
                holds: holds)
            let lot = random.next() % 10
            if lot == 0 { continue }
            let grant = ledger.answer(
                ask, of: ProcessID(UniversalID(high: 0, low: UInt64(process))), now: noon + time)
            if lot > 2, let grant { held[process] = (grant.part, time + QuotaAllotment.lasts) }
            let used = held.filter { time < $0.until }.reduce(0) { $0 + $1.part.millionths }
            #expect(used <= QuotaPart.whole.millionths)
        }
    }
}
