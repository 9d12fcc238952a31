import Basis
import Delivery
import LaneRules
import Model
import QueueRules
import Reactor
import Store
import Testing

@Suite("A provider that cannot be reached")
struct LaneOutageTests {
    private static let lost = "warning: A lane can't send: its provider can't be reached"
    private static let failedDial = LaneHealth.Event.blocked(.unreachable, reason: "name not known")

    @Test("causes one warning per outage, however its reason changes")
    func onceAnOutage() throws {
        try Self.withLanes { lanes, log in
            var lane = Lane(lanes, 1)
            lane.note(Self.failedDial)
            lane.note(.blocked(.tlsRefused, reason: "the certificate has expired"))
            #expect(log.reported == [Self.lost])
            lane.note(.recovered)
            lane.note(Self.failedDial)
            #expect(log.reported == [Self.lost, Self.lost])
        }
    }

    @Test("causes a warning per lane, while a refused credential causes an error once")
    func eachLane() throws {
        try Self.withLanes { lanes, log in
            for credential in [1, 2] as [Int64] {
                var lane = Lane(lanes, credential)
                lane.note(Self.failedDial)
            }
            var refused = Lane(lanes, 3)
            refused.note(.credentialRefused(reason: "InvalidProviderToken"))
            refused.note(.blocked(.credentialRefused, reason: "InvalidProviderToken"))
            #expect(log.reported == [Self.lost, Self.lost])
            lanes.logRefusedCredential(refused.key, reason: "InvalidProviderToken")
            #expect(log.reported.last == "error: The provider refuses a credential: its pushes wait")
        }
    }

    @Test("appears in the list of outages with its reason until the outage is over")
    func reported() async {
        let (reports, written) = Self.reports()
        var received = written.makeAsyncIterator()
        var lanes = [Lane(nil, 2), Lane(nil, 1)]
        for place in lanes.indices { lanes[place].note(Self.failedDial) }
        reports.set(lanes.compactMap(\.wait))
        let reported = await received.next() ?? []
        #expect(reported.map(\.credential.value) == [1, 2])
        #expect(reported.map(\.reason) == Array(repeating: "name not known", count: 2))
        lanes[1].note(.recovered)
        reports.set(lanes.compactMap(\.wait))
        #expect(await received.next()?.map(\.credential.value) == [2])
        reports.set([])
        #expect(await received.next() == [])
    }

    @Test("keeps its outage when the reason changes, and shows the new reason")
    func otherReason() {
        var (lane, outages) = (Lane(nil, 1), LaneOutages())
        lane.note(Self.failedDial)
        outages.set([lane.wait].compactMap(\.self), now: lane.now)
        #expect(outages.take(now: lane.now)?.map(\.reason) == ["name not known"])
        lane.now = lane.now + .seconds(5)
        lane.note(.blocked(.tlsRefused, reason: "the certificate has expired"))
        outages.set([lane.wait].compactMap(\.self), now: lane.now)
        let second = outages.take(now: lane.now)?.first
        #expect(second?.reason == "the certificate has expired" && second?.age == .seconds(5))
    }

    @Test("differs from a provider that throttles, which is listed with the time of its next try")
    func open() throws {
        try Self.withLanes { lanes, log in
            var (lane, outages) = (Lane(lanes, 1), LaneOutages())
            lane.throttle(for: .seconds(30))
            outages.set([lane.wait].compactMap(\.self), now: lane.now)
            let outage = outages.take(now: lane.now)?.first
            #expect(outage?.cause == .throttled)
            #expect(outage?.openFor.map { $0 > .seconds(20) && $0 <= .seconds(30) } == true)
            lane.throttle(for: .seconds(90))
            #expect(log.reported == [Self.opens], "a longer opening is the same outage")
            lane.note(Self.failedDial)
            outages.set([lane.wait].compactMap(\.self), now: lane.now)
            #expect(outages.take(now: lane.now)?.map(\.cause) == [.unreachable])
        }
    }

    @Test("appears in a report every fifteen seconds, or at once if the last report failed")
    func repeated() {
        var (lane, outages) = (Lane(nil, 1), LaneOutages())
        #expect(outages.take(now: lane.now) == nil)
        lane.note(Self.failedDial)
        outages.set([lane.wait].compactMap(\.self), now: lane.now)
        #expect(outages.take(now: lane.now)?.count == 1 && outages.take(now: lane.now + .seconds(14)) == nil)
        #expect(outages.take(now: lane.now + .seconds(15))?.first?.age == .seconds(15))
        outages.reportFailed(now: lane.now + .seconds(15))
        #expect(outages.take(now: lane.now + .seconds(15))?.count == 1)
        outages.set([], now: lane.now + .seconds(16))
        #expect(outages.take(now: lane.now + .seconds(16)) == [])
        #expect(outages.take(now: lane.now + .seconds(60)) == nil, "the end is reported once")
    }

    private static let opens = "warning: Circuit breaker opened: provider is throttling"

    private static func withLanes(_ body: (OpenLanes, RecordedLog) throws -> Void) throws {
        let (loop, log) = (try ReactorLoop(name: "lane-outage-test"), RecordedLog())
        defer { loop.stop() }
        try body(OpenLanes(loops: [loop], credentialBlock: .seconds(60), log: log.logger), log)
    }

    /// Reports, and what they write.
    private static func reports() -> (OutageReports, AsyncStream<[LaneOutage]>) {
        let (written, writing) = AsyncStream.makeStream(of: [LaneOutage].self)
        let reports = OutageReports { outages in
            writing.yield(outages)
            return true
        }
        return (reports, written)
    }
}

/// A lane's health, whose reports are logged.
private struct Lane {
    let key: LaneKey
    let lanes: OpenLanes?
    var health = LaneHealth(signalsMin: 16)
    var now = Clocks.monotonicNow()

    init(_ lanes: OpenLanes?, _ credential: Int64) { (self.lanes, key) = (lanes, LaneKey(CredentialID(credential))) }

    var wait: LaneWait? { health.wait.map { LaneWait(key, $0) } }

    mutating func note(_ event: LaneHealth.Event) {
        _ = health.note(event, now)
        log()
    }

    /// Reports sixteen answers that ask for a pause.
    mutating func throttle(for pause: Duration) {
        let signal = PositionedOutcome(position: 0, outcome: .deferred(after: pause, .laneThrottled))
        let answers = LaneAnswers(accepted: 0, others: [PositionedOutcome](repeating: signal, count: 16))
        let message = MessageID(UniversalID(high: 1, low: 1))
        _ = health.record(answers, of: message, leasedAt: now, now, entropy: 0)
        log()
    }

    private mutating func log() {
        for action in health.takeReports() {
            if case .report(let wait, let before) = action { lanes?.log(key, wait, before: before) }
        }
    }
}
