import Basis
import Model
import QueueRules
import Testing

@Suite("A rate-limited message that a dispatcher sends")
struct DispatcherRateTests {
    private static let message = ParcelRunSamples.parcel().message

    private func rateLimited(after: Duration, hasOrdinary: Bool = false) -> ReadyRoute {
        let route = DispatcherBench.route(7)
        return ReadyRoute(
            route: route.route, service: route.service, app: route.app, provider: route.provider,
            environment: route.environment, topic: route.topic, hasOrdinary: hasOrdinary, quantumAfter: after)
    }

    private func rated(_ perSecond: Int32) -> DispatchEvent {
        .rated([RatedMessage(message: Self.message, perSecond: perSecond)])
    }

    @Test("requests a quantum when it is due and no earlier")
    func due() {
        var bench = DispatcherBench()
        #expect(bench.find([rateLimited(after: .milliseconds(80))]).leaseRequests.isEmpty)
        #expect(bench.dispatcher.nextWake() <= bench.now + .milliseconds(80))
        #expect(bench.pass(.milliseconds(79)).leaseRequests.isEmpty)
        #expect(bench.pass(.milliseconds(1)).leaseRequests.map(\.scope) == [.rateLimited])
    }

    @Test("requests the next quantum when the database says, and stops when none waits")
    func again() {
        var bench = DispatcherBench()
        let first = bench.find([rateLimited(after: .zero)]).leaseRequests[0]
        bench.report(
            .leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: first, again: .milliseconds(100)))
        #expect(bench.dispatcher.nextWake() == bench.now + .milliseconds(100))
        let second = bench.pass(.milliseconds(100)).leaseRequests
        #expect(second.map(\.scope) == [.rateLimited])
        #expect(
            bench.report(.leased([], asked: second[0], again: .zero)).leaseRequests.isEmpty,
            "the request is not repeated at once")
        let third = bench.pass(MessagePace.askAgainFloor).leaseRequests
        #expect(third.map(\.scope) == [.rateLimited])
        bench.report(.leased([], asked: third[0]))
        #expect(bench.pass(.milliseconds(500)).leaseRequests.isEmpty)
    }

    @Test("repeats a lease request after a pause if the call failed")
    func fails() {
        var bench = DispatcherBench()
        let first = bench.find([rateLimited(after: .zero)]).leaseRequests[0]
        #expect(bench.report(.leaseFailed(first)).leaseRequests.isEmpty, "the request is not repeated at once")
        #expect(bench.pass(.milliseconds(499)).leaseRequests.isEmpty)
        #expect(bench.pass(.milliseconds(1)).leaseRequests.map(\.scope) == [.rateLimited])
    }

    @Test("alternates with messages that have no rate limit")
    func alternates() {
        var bench = DispatcherBench()
        let first = bench.find([rateLimited(after: .zero, hasOrdinary: true)]).leaseRequests
        #expect(first.map(\.scope) == [.rateLimited])
        let second = bench.report(.leased([], asked: first[0], again: .zero)).leaseRequests
        #expect(second.map(\.scope) == [.ordinary])
        bench.now = bench.now + .milliseconds(10)
        let third = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: second[0]))
            .leaseRequests
        #expect(third.map(\.scope) == [.rateLimited])
    }

    @Test("withdraws unsent pushes, once, if they were leased at a higher rate or without one")
    func slower() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.report(rated(500)).withdrawn == [DispatcherBench.name])
        #expect(bench.report(rated(500)).withdrawn.isEmpty)
        #expect(bench.report(rated(900)).withdrawn.isEmpty)
        #expect(bench.report(rated(100)).withdrawn == [DispatcherBench.name])
    }

    @Test("requests a quantum at once if another lease found that one is due")
    func found() {
        for isTogether in [false, true] {
            var bench = DispatcherBench()
            let first = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
            let found: DispatchEvent =
                isTogether
                ? .leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: first, again: .zero)
                : .leased([], asked: first, again: .zero)
            #expect(bench.report(found).leaseRequests.map(\.scope) == [.rateLimited])
        }
    }

    @Test("stays excluded from requests while a quantum has no stream, and returns once it has one")
    func unsent() throws {
        var bench = DispatcherBench()
        let second = try second(&bench, perSecond: 30)
        #expect(second.passing == [Self.message], "3 pushes have no stream, and 3 are allowed")
        bench.report(.leased([], asked: second))
        let name = DispatcherBench.name
        let other = LeaseName(parcel: ParcelID(2), epoch: 1)
        bench.now = bench.now + .milliseconds(100)
        #expect(
            bench.report(.answered([sent(other)])).leaseRequests.isEmpty,
            "the answer belongs to no lease of this message")
        let third = try #require(bench.report(.answered([sent(name)])).leaseRequests.first)
        #expect(third.scope == .rateLimited && third.passing == [])
        bench.report(.leased([], asked: third))
        #expect(bench.report(.answered([sent(name)])).leaseRequests.isEmpty, "the request did not exclude the message")
    }

    @Test("returns to lease requests when answers leave few enough pushes without a stream")
    func answered() throws {
        var bench = DispatcherBench()
        let second = try second(&bench, perSecond: 20)
        #expect(second.passing == [Self.message], "3 pushes have no stream, and 2 are allowed")
        bench.report(.leased([], asked: second))
        #expect(bench.accept([0]).leaseRequests.isEmpty, "2 pushes have no stream, and 2 are allowed")
        #expect(bench.accept([1]).leaseRequests.map(\.passing) == [[]], "1 push has no stream, and 2 are allowed")
    }

    @Test("returns to lease requests if its backlog shrank while an excluding call was in progress")
    func wokenMeanwhile() throws {
        for again in [nil, Duration.seconds(1)] {
            var bench = DispatcherBench()
            let second = try second(&bench, perSecond: 30)
            #expect(
                bench.report(.answered([sent(DispatcherBench.name)])).leaseRequests.isEmpty,
                "one lease request is in progress at a time")
            #expect(
                bench.report(.leased([], asked: second, again: again)).leaseRequests.isEmpty,
                "the request is not repeated at once")
            #expect(bench.pass(MessagePace.askAgainFloor).leaseRequests.map(\.passing) == [[]])
        }
    }

    @Test("returns to lease requests if its lane changes or its rate rises")
    func elsewhere() throws {
        for isRaised in [false, true] {
            var bench = DispatcherBench()
            let second = try second(&bench, perSecond: 30)
            bench.report(.leased([], asked: second))
            let other = LaneKey(CredentialID(2))
            let event = isRaised ? rated(40) : DispatcherBench.resolved(DispatcherBench.route(7).serviceRoute, other)
            #expect(bench.report(event).leaseRequests.map(\.passing) == [[]])
        }
    }

    /// Returns the lease request for the second quantum, after the first one brought three pushes.
    private func second(_ bench: inout DispatcherBench, perSecond: Int32) throws -> LeaseRequest {
        let first = try #require(bench.find([rateLimited(after: .zero)]).leaseRequests.first)
        let parcel = ParcelRunSamples.parcel(ratePerSecond: perSecond)
        return try #require(
            bench.report(.leased([ReadParcel(parcel, .repeatable)], asked: first, again: .zero)).leaseRequests.first)
    }

    private func sent(_ name: LeaseName) -> AnsweredLease {
        AnsweredLease(name, accepted: [], others: [], isSent: true)
    }

    @Test("stays excluded from requests while two seconds' worth of pushes is unanswered")
    func full() {
        for (rate, passing): (Int32, [MessageID]) in [(2, []), (1, [Self.message])] {
            var bench = DispatcherBench()
            for more in bench.lease().leaseRequests { bench.report(.leased([], asked: more)) }
            bench.report(rated(rate))
            #expect(bench.find([rateLimited(after: .zero)]).leaseRequests.map(\.passing) == [passing])
        }
    }
}

@Suite("The pace of a message")
struct MessagePaceTests {
    private static let now = WallInstant(secondsSince1970: 1_800_000_000)

    @Test(
        "leases a tenth of a second's pushes: at least one, at most 500 or a 25th of a second's",
        arguments: [(1, 1), (9, 1), (10, 1), (55, 5), (5_000, 500), (10_000, 500), (12_500, 500), (20_000, 800)])
    func quantum(perSecond: Int32, expected: Int) {
        #expect(MessagePace.quantum(of: 100_000, perSecond: perSecond) == expected)
        #expect(MessagePace.quantum(of: 1, perSecond: perSecond) == 1)
    }

    @Test("advances by the time that its pushes take, and catches up only a little")
    func next() {
        let soon = Self.now + .milliseconds(30)
        #expect(MessagePace.next(after: 5, from: soon, perSecond: 50, now: Self.now) == soon + .milliseconds(100))
        let longAgo = Self.now + .seconds(-60)
        #expect(
            MessagePace.next(after: 5, from: longAgo, perSecond: 50, now: Self.now) == Self.now + .milliseconds(-100))
    }
}
