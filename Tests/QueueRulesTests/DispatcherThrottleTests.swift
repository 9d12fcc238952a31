import Basis
import LaneRules
import Model
import QueueRules
import Testing

@Suite("A dispatcher whose lane the provider throttles")
struct DispatcherThrottleTests {
    private static let two = LeaseName(parcel: ParcelID(2), epoch: 1)
    private static let signal = Outcome.deferred(after: .seconds(30), .providerUnavailable)

    private static func parcel(_ id: Int64, members: Int, _ urgency: MessageUrgency = .bulk) -> LeasedParcel {
        ParcelRunSamples.parcel([MemberStatus](repeating: .present, count: members), id: id, urgency: urgency)
    }

    private static func bench() -> DispatcherBench {
        var settings = DispatcherBench.settings
        (settings.laneMembersMax, settings.membersMax, settings.laneSignalsMin) = (100, 120, 16)
        return DispatcherBench(settings: settings)
    }

    private static func signals(_ count: Int, of name: LeaseName = DispatcherBench.name) -> DispatchEvent {
        let others = (0..<count).map { PositionedOutcome(position: Int32($0), outcome: signal) }
        return .answered([AnsweredLease(name, accepted: [], others: others)])
    }

    private static func taken(_ positions: [Int32], of name: LeaseName) -> DispatchEvent {
        .answered([AnsweredLease(name, accepted: positions, others: [])])
    }

    /// Makes a bench with two parcels in flight. Sixteen pushes of the first are answered with throttle signals.
    private static func open() -> (bench: DispatcherBench, actions: [DispatchAction]) {
        var bench = bench()
        bench.lease(parcel(1, members: 40))
        bench.report(.leased([ReadParcel(parcel(2, members: 40), .repeatable)], asked: bench.request(7)))
        bench.report(.leased([], asked: bench.request(7)))
        bench.now = bench.now + .milliseconds(100)
        let actions = bench.report(signals(16))
        sweep(&bench, actions)
        return (bench, actions)
    }

    /// Answers the sweep for expired parcels with none.
    private static func sweep(_ bench: inout DispatcherBench, _ actions: [DispatchAction]) {
        for request in actions.leaseRequests where request.scope == .expired {
            bench.report(.leased([], asked: request))
        }
    }

    /// Returns and settles every push that has no answer yet.
    private static func handBack(_ bench: inout DispatcherBench) {
        for (name, first) in [(DispatcherBench.name, 16), (two, 0)] {
            let others = (first..<40).map { PositionedOutcome(position: Int32($0), outcome: .unsent(.withdrawn)) }
            bench.report(.answered([AnsweredLease(name, accepted: [], others: others)]))
            bench.report(.settled([SettledLease(name, .settled)]))
        }
    }

    @Test("withdraws pushes without a stream, and reports the open circuit breaker once")
    func withdraws() {
        let (bench, actions) = Self.open()
        #expect(Set(actions.withdrawn) == [DispatcherBench.name, Self.two])
        #expect(actions.reportedBreakers == [bench.now + .seconds(30)])
        var later = bench
        let more = later.report(Self.signals(40))
        #expect(more.withdrawn.isEmpty && more.reportedBreakers.isEmpty)
    }

    @Test("leases nothing for the lane while its circuit breaker is open, then probes with one push")
    func opens() throws {
        var (bench, _) = Self.open()
        Self.handBack(&bench)
        #expect(bench.dispatcher.membersInFlight == 0)
        bench.now = bench.now + .seconds(5)
        let found = bench.find([DispatcherBench.route(7)])
        #expect(found.leaseRequests.map(\.scope) == [.expired])
        Self.sweep(&bench, found)
        #expect(bench.pass(.seconds(24)).leaseRequests.allSatisfy { $0.scope == .expired })
        #expect(bench.dispatcher.nextWake() <= bench.now + .seconds(1))
        let asked = try #require(bench.pass(.seconds(1)).leaseRequests.first)
        #expect(asked.scope == .ordinary)
        let actions = bench.report(.leased([ReadParcel(Self.parcel(3, members: 40), .repeatable)], asked: asked))
        #expect(actions.submitted == [0])
        #expect(actions.leaseRequests.isEmpty, "no lease is requested before the probe is answered")
        let three = LeaseName(parcel: ParcelID(3), epoch: 1)
        let accepted = bench.report(Self.taken([0], of: three))
        let settle = try #require(accepted.settles.first)
        #expect(settle.pending.settlement.remainders.map { ($0.members.count) } == [39])
        #expect(settle.pending.settlement.remainders.map(\.attempt) == [0])
        bench.report(.settled([SettledLease(three, .settled)]))
        let next = try #require(accepted.leaseRequests.first)
        let eight = bench.report(.leased([ReadParcel(Self.parcel(4, members: 40), .repeatable)], asked: next))
        #expect(eight.submitted == Array(0..<8))
    }

    @Test("sends nothing of a lease that was requested before the circuit breaker opened")
    func askedBefore() {
        var bench = Self.bench()
        bench.lease(Self.parcel(1, members: 40))
        let asked = bench.request(7)
        bench.now = bench.now + .milliseconds(100)
        bench.report(Self.signals(16))
        let actions = bench.report(
            .leased([ReadParcel(Self.parcel(2, members: 40, .transactional), .repeatable)], asked: asked))
        #expect(actions.submitted.isEmpty)
        #expect(actions.settles.map(\.name) == [Self.two])
    }

    @Test("probes with one transactional push a second, and sends more once one is accepted")
    func urgent() throws {
        var (bench, _) = Self.open()
        Self.handBack(&bench)
        bench.now = bench.now + .seconds(5)
        let asked = try #require(bench.find([DispatcherBench.route(7, hasUrgent: true)]).leaseRequests.first)
        #expect(asked.scope == .urgent)
        let three = LeaseName(parcel: ParcelID(3), epoch: 1)
        let tried = bench.report(
            .leased([ReadParcel(Self.parcel(3, members: 3, .transactional), .repeatable)], asked: asked))
        #expect(tried.submitted == [0])
        #expect(tried.leaseRequests.filter { $0.scope == .urgent }.isEmpty)
        Self.sweep(&bench, tried)
        bench.report(Self.signals(1, of: three))
        #expect(
            bench.report(.settled([SettledLease(three, .settled)])).leaseRequests.filter { $0.scope == .urgent }.isEmpty
        )
        let again = try #require(bench.pass(.seconds(1)).leaseRequests.first { $0.scope == .urgent })
        let four = LeaseName(parcel: ParcelID(4), epoch: 1)
        bench.report(.leased([ReadParcel(Self.parcel(4, members: 1, .transactional), .repeatable)], asked: again))
        let ordinary = try #require(bench.report(Self.taken([0], of: four)).leaseRequests.first)
        bench.report(.settled([SettledLease(four, .settled)]))
        #expect(ordinary.scope == .ordinary)
        let actions = bench.report(.leased([ReadParcel(Self.parcel(5, members: 40), .repeatable)], asked: ordinary))
        #expect(actions.submitted == Array(0..<8))
    }

    @Test("keeps the circuit breaker open after a rejection by its own process")
    func refusedHere() throws {
        var (bench, _) = Self.open()
        Self.handBack(&bench)
        bench.now = bench.now + .seconds(5)
        let asked = try #require(bench.find([DispatcherBench.route(7, hasUrgent: true)]).leaseRequests.first)
        #expect(asked.scope == .urgent && asked.parcelsMax == 1)
        bench.report(.leased([ReadParcel(Self.parcel(3, members: 1, .transactional), .repeatable)], asked: asked))
        let refusal = PositionedOutcome(position: 0, outcome: ParcelRunSamples.rejection(.message, "payload_too_large"))
        let name = LeaseName(parcel: ParcelID(3), epoch: 1)
        let actions = bench.report(.answered([AnsweredLease(name, accepted: [], others: [refusal])]))
        #expect(actions.leaseRequests.allSatisfy { $0.scope == .expired }, "the circuit breaker stays open")
    }

    @Test("remembers an open circuit breaker without due work, and forgets the lane afterwards")
    func remembers() throws {
        var (bench, _) = Self.open()
        Self.handBack(&bench)
        for _ in 0..<2 {
            bench.now = bench.now + .seconds(5)
            bench.find([])
        }
        #expect(bench.dispatcher.knownLanes == 1)
        let found = bench.find([DispatcherBench.route(7)])
        #expect(found.leaseRequests.map(\.scope) == [.expired])
        Self.sweep(&bench, found)
        bench.now = bench.now + .seconds(60)
        for request in bench.report(.timer).leaseRequests { bench.report(.leased([], asked: request)) }
        for _ in 0..<3 {
            bench.now = bench.now + .seconds(5)
            bench.find([])
        }
        #expect(bench.dispatcher.knownLanes == 0)
    }

    @Test("reports that the circuit breaker opens, stays open longer and closes, but no probe")
    func reported() throws {
        var (bench, began) = Self.open()
        let start = bench.now
        #expect(began.reportedBreakers == [start + .seconds(30)])
        bench.now = start + .milliseconds(900)
        #expect(bench.report(Self.signals(2)).reportedBreakers.isEmpty, "the breaker stays open hardly longer")
        bench.now = start + .milliseconds(1_100)
        #expect(bench.report(Self.signals(2)).reportedBreakers == [start + .milliseconds(31_100)])
        Self.handBack(&bench)
        bench.now = start + .milliseconds(31_100)
        let tried = bench.report(.timer)
        #expect(tried.reportedBreakers.isEmpty && !tried.reportsClosed)
        // The first probe is throttled as well, which counts as a new opening of the circuit breaker.
        let three = LeaseName(parcel: ParcelID(3), epoch: 1)
        bench.lease(Self.parcel(3, members: 40))
        #expect(bench.report(Self.signals(1, of: three)).reportedBreakers == [bench.now + .seconds(30)])
        bench.now = bench.now + .seconds(30)
        #expect(!bench.report(.timer).reportsClosed)
        bench.now = bench.now + LaneThrottle.memory
        #expect(bench.report(.timer).reportsClosed)
        #expect(!bench.report(.timer).reportsClosed, "the closed breaker is reported once")
    }
}

extension [DispatchAction] {
    fileprivate var reportsClosed: Bool {
        contains { if case .lane(_, .report(nil, before: _)) = $0 { true } else { false } }
    }
}
