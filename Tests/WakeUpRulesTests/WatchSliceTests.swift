import Basis
import Model
import Testing
import WakeUpRules

@Suite("A round of a watched path")
struct WatchSliceTests {
    @Test("skips a subscription whose new mode needs data that was not read, and comes again")
    func unread() {
        let both = [Self.subscription(1, .noData), Self.subscription(2, .value)]
        var slice = Self.slice(both, readsValue: false)
        #expect(slice.toNotify(both) { _ in false } == [both[0]])
        #expect(!slice.end.reportedToAll)
    }

    @Test("waits ever longer for one that can't be reached, and comes at once for the others")
    func pace() {
        let both = [Self.subscription(1, .noData), Self.subscription(2, .noData)]
        var waking = Self.slice(both, tries: 9)
        #expect(waking.toNotify(both) { $0.id == 2 } == [both[0]])
        waking.noteWoken()
        #expect(waking.end.next == .seconds(5))
        #expect(waking.end.soonest == .seconds(3), "the app's own pace")

        var waiting = Self.slice([Self.subscription(1, .noData, sentSeq: 5), both[1]], tries: 9)
        #expect(waiting.toNotify([both[1]]) { $0.id == 2 } == [])
        #expect(waiting.end.next == .seconds(5) && waiting.end.soonest == .milliseconds(250))
        #expect(waiting.end.tries == 10)

        var alone = Self.slice([both[1]], tries: 9)
        #expect(alone.toNotify([both[1]]) { $0.id == 2 } == [])
        #expect(alone.end.next == .seconds(5) && alone.end.soonest == .seconds(5))
    }

    @Test("reads many subscriptions once a minute at most while nothing changes", arguments: [true, false])
    func many(hasOthers: Bool) {
        let stuck = (Int64(1)...2_000).map { Self.subscription($0, .noData, sentSeq: hasOthers && $0 > 1 ? 5 : 4) }
        var waits: [Duration] = []
        for tries in Int16(0)..<10 {
            var slice = Self.slice(stuck, tries: tries, limit: 20_000)
            let behind = stuck.filter(slice.isBehind)
            #expect(slice.toNotify(behind) { _ in true } == [])
            waits.append(slice.end.next)
            #expect(slice.end.soonest == min(slice.end.next, hasOthers ? .milliseconds(250) : .seconds(5)))
        }
        #expect(waits.prefix(3) == [.milliseconds(250), .milliseconds(500), .seconds(1)])
        #expect(waits.suffix(2) == [.seconds(60), .seconds(60)])
    }

    @Test("waits for those that any slice of the round skipped, without a pace of the app too")
    func rounds() {
        let (stuck, notified) = (Self.subscription(1, .noData), Self.subscription(2, .noData, sentSeq: 5))
        var first = Self.slice([stuck], gather: .zero, limit: 1)
        #expect(first.toNotify([stuck]) { _ in true } == [])
        #expect(first.end.next == .zero && first.end.after == 1 && first.end.skipped, "the round goes on")
        let claim = WatchClaim(
            tries: first.end.tries, roundSeq: first.end.roundSeq, after: first.end.after,
            skippedEarlier: first.end.skipped)
        let last = Self.slice([notified], claim: claim, gather: .zero, limit: 2)
        #expect(!last.end.reportedToAll && last.end.roundSeq == 5)
        #expect(last.end.next == .milliseconds(250))
        #expect(last.end.tries == 1 && last.end.after == 0 && !last.end.skipped)
    }

    private static func slice(
        _ read: [SubscriptionStatus], tries: Int16 = 0, claim: WatchClaim? = nil, readsValue: Bool = true,
        gather: Duration = .seconds(3), limit: Int = 100
    ) -> WatchSlice {
        WatchSlice(
            claim ?? WatchClaim(tries: tries, roundSeq: nil, after: 0),
            WatchStatus(
                seq: 5, moves: 0, isEnabled: true, isTooHeavy: false, gather: gather, readsValue: readsValue,
                readsChildren: true),
            reading: read, limit: limit)
    }

    private static func subscription(_ id: Int64, _ mode: WakeUpMode, sentSeq: Int64 = 4) -> SubscriptionStatus {
        SubscriptionStatus(
            id: id, registration: id, route: 1, mode: mode, provider: .fcm, isExpired: false, isRetired: false,
            sentSeq: sentSeq, message: nil)
    }
}
