import DeliveryRules
import PushModel
import Testing

@Suite("A message that has a rate, in a dispatcher's hand")
struct DispatcherRateTests {
    private static let message = ParcelRunSamples.parcel().message

    private func paced(after: Duration, hasOrdinary: Bool = false) -> ReadyRoute {
        let route = DispatcherBench.route(7)
        return ReadyRoute(
            route: route.route, service: route.service, app: route.app, provider: route.provider,
            environment: route.environment, topic: route.topic, hasOrdinary: hasOrdinary, pacedAfter: after)
    }

    private func rated(_ perSecond: Int32) -> DispatchEvent {
        .rated([RatedMessage(message: Self.message, perSecond: perSecond)])
    }

    @Test("is asked for when a share is due, and not before")
    func due() {
        var bench = DispatcherBench()
        #expect(bench.find([paced(after: .milliseconds(80))]).leaseRequests.isEmpty)
        #expect(bench.dispatcher.nextWake() <= bench.now + .milliseconds(80))
        #expect(bench.pass(.milliseconds(79)).leaseRequests.isEmpty)
        #expect(bench.pass(.milliseconds(1)).leaseRequests.map(\.scope) == [.paced])
    }

    @Test("is asked for again when the database says, and no more where nothing waits")
    func again() {
        var bench = DispatcherBench()
        let first = bench.find([paced(after: .zero)]).leaseRequests[0]
        bench.tell(
            .leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: first, again: .milliseconds(100)))
        #expect(bench.dispatcher.nextWake() == bench.now + .milliseconds(100))
        let second = bench.pass(.milliseconds(100)).leaseRequests
        #expect(second.map(\.scope) == [.paced])
        #expect(bench.tell(.leased([], asked: second[0], again: .zero)).leaseRequests.isEmpty, "not in a circle")
        let third = bench.pass(MessagePace.askAgainFloor).leaseRequests
        #expect(third.map(\.scope) == [.paced])
        bench.tell(.leased([], asked: third[0]))
        #expect(bench.pass(.milliseconds(500)).leaseRequests.isEmpty)
    }

    @Test("is asked for again after a moment where the call failed")
    func fails() {
        var bench = DispatcherBench()
        let first = bench.find([paced(after: .zero)]).leaseRequests[0]
        #expect(bench.tell(.leaseFailed(first)).leaseRequests.isEmpty, "not in a circle")
        #expect(bench.pass(.milliseconds(499)).leaseRequests.isEmpty)
        #expect(bench.pass(.milliseconds(1)).leaseRequests.map(\.scope) == [.paced])
    }

    @Test("takes turns with what waits for nothing")
    func turns() {
        var bench = DispatcherBench()
        let first = bench.find([paced(after: .zero, hasOrdinary: true)]).leaseRequests
        #expect(first.map(\.scope) == [.paced])
        let second = bench.tell(.leased([], asked: first[0], again: .zero)).leaseRequests
        #expect(second.map(\.scope) == [.ordinary])
        bench.now = bench.now + .milliseconds(10)
        let third = bench.tell(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: second[0]))
            .leaseRequests
        #expect(third.map(\.scope) == [.paced])
    }

    @Test("has taken back what has no stream yet where it was leased at a higher rate or at none, once")
    func slower() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.tell(rated(500)).withdrawn == [DispatcherBench.name])
        #expect(bench.tell(rated(500)).withdrawn.isEmpty)
        #expect(bench.tell(rated(900)).withdrawn.isEmpty)
        #expect(bench.tell(rated(100)).withdrawn == [DispatcherBench.name])
    }

    @Test("is asked for at once where another lease found it among the ready ones")
    func found() {
        for isTogether in [false, true] {
            var bench = DispatcherBench()
            let first = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
            let found: DispatchEvent =
                isTogether
                ? .leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: first, again: .zero)
                : .leased([], asked: first, again: .zero)
            #expect(bench.tell(found).leaseRequests.map(\.scope) == [.paced])
        }
    }

    @Test("is passed by while a share has no stream here, and asked for as soon as it has")
    func unsent() throws {
        var bench = DispatcherBench()
        let second = try second(&bench, perSecond: 30)
        #expect(second.passing == [Self.message], "3 of 3")
        bench.tell(.leased([], asked: second))
        let name = DispatcherBench.name
        let other = LeaseName(parcel: ParcelID(2), epoch: 1)
        bench.now = bench.now + .milliseconds(100)
        #expect(bench.tell(.answered([sent(other)])).leaseRequests.isEmpty, "nobody's")
        let third = try #require(bench.tell(.answered([sent(name)])).leaseRequests.first)
        #expect(third.scope == .paced && third.passing == [])
        bench.tell(.leased([], asked: third))
        #expect(bench.tell(.answered([sent(name)])).leaseRequests.isEmpty, "it was not passed by")
    }

    @Test("is asked for again when answers leave less than is enough without a stream")
    func answered() throws {
        var bench = DispatcherBench()
        let second = try second(&bench, perSecond: 20)
        #expect(second.passing == [Self.message], "3 of 2")
        bench.tell(.leased([], asked: second))
        #expect(bench.accept([0]).leaseRequests.isEmpty, "2 of 2")
        #expect(bench.accept([1]).leaseRequests.map(\.passing) == [[]], "1 of 2")
    }

    @Test("is asked for again where less of it was under way before the call that passed it by came back")
    func wokenMeanwhile() throws {
        for again in [nil, Duration.seconds(1)] {
            var bench = DispatcherBench()
            let second = try second(&bench, perSecond: 30)
            #expect(bench.tell(.answered([sent(DispatcherBench.name)])).leaseRequests.isEmpty, "one at a time")
            #expect(bench.tell(.leased([], asked: second, again: again)).leaseRequests.isEmpty, "not in a circle")
            #expect(bench.pass(MessagePace.askAgainFloor).leaseRequests.map(\.passing) == [[]])
        }
    }

    @Test("is asked for where its lane is another one by now, or its rate is higher")
    func elsewhere() throws {
        for isRaised in [false, true] {
            var bench = DispatcherBench()
            let second = try second(&bench, perSecond: 30)
            bench.tell(.leased([], asked: second))
            let other = LaneKey(CredentialID(2))
            let event = isRaised ? rated(40) : .resolved(DispatcherBench.route(7).line, other, canSend: true)
            #expect(bench.tell(event).leaseRequests.map(\.passing) == [[]])
        }
    }

    /// The call for a share behind the first one, which brought three pushes.
    private func second(_ bench: inout DispatcherBench, perSecond: Int32) throws -> LeaseRequest {
        let first = try #require(bench.find([paced(after: .zero)]).leaseRequests.first)
        let parcel = ParcelRunSamples.parcel(ratePerSecond: perSecond)
        return try #require(
            bench.tell(.leased([ReadParcel(parcel, .repeatable)], asked: first, again: .zero)).leaseRequests.first)
    }

    private func sent(_ name: LeaseName) -> AnsweredLease {
        AnsweredLease(name, accepted: [], others: [], isSent: true)
    }

    @Test("is passed by while two seconds' worth of it is unanswered here")
    func full() {
        for (rate, passing): (Int32, [MessageID]) in [(2, []), (1, [Self.message])] {
            var bench = DispatcherBench()
            for more in bench.lease().leaseRequests { bench.tell(.leased([], asked: more)) }
            bench.tell(rated(rate))
            #expect(bench.find([paced(after: .zero)]).leaseRequests.map(\.passing) == [passing])
        }
    }
}

@Suite("The pace of a message")
struct MessagePaceTests {
    private static let now = WallInstant(secondsSince1970: 1_800_000_000)

    @Test(
        "leases shares of a tenth of a second, or of one push, and of 500 to a twenty-fifth of a second",
        arguments: [(1, 1), (9, 1), (10, 1), (55, 5), (5_000, 500), (10_000, 500), (12_500, 500), (20_000, 800)])
    func share(perSecond: Int32, expected: Int) {
        #expect(MessagePace.share(of: 100_000, perSecond: perSecond) == expected)
        #expect(MessagePace.share(of: 1, perSecond: perSecond) == 1)
    }

    @Test("moves on by the time that the pushes take, and catches up with little")
    func next() {
        let soon = Self.now + .milliseconds(30)
        #expect(MessagePace.next(after: 5, from: soon, perSecond: 50, now: Self.now) == soon + .milliseconds(100))
        let longAgo = Self.now + .seconds(-60)
        #expect(
            MessagePace.next(after: 5, from: longAgo, perSecond: 50, now: Self.now) == Self.now + .milliseconds(-100))
    }
}
