import Basis
import LaneRules
import Model
import QueueRules
import Testing

@Suite("A dispatcher that asks its lanes' health")
struct DispatcherHealthTests {
    private static let topicRefused = LaneHealth.Event.topicRefused(
        DispatcherBench.route(3).serviceRoute, for: .seconds(60))
    private static let credentialRefused = LaneHealth.Event.credentialRefused(reason: "Forbidden")

    private static func parcel(_ id: Int64, members: Int) -> LeasedParcel {
        ParcelRunSamples.parcel([MemberStatus](repeating: .present, count: members), id: id)
    }

    @Test("sends a parcel to the destination that its route was resolved to when it was asked for")
    func destination() throws {
        var bench = DispatcherBench()
        let request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.first)
        let elsewhere = LaneTarget(LaneKey(CredentialID(2)), PushTarget(.apns, "com.example.other"))
        bench.report(.resolved(DispatcherBench.route(7).serviceRoute, .leaves(elsewhere)))
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: request))
        let exits = actions.compactMap { if case .submit(_, let exit, _, _) = $0 { exit } else { nil } }
        #expect(exits == [DispatcherBench.exit])
        #expect(actions.leaseRequests.map(\.exit) == [elsewhere])
    }

    @Test("leases nothing for a refused topic, while the lane's other routes go on")
    func refusedTopic() {
        var bench = DispatcherBench()
        bench.report(.lane(DispatcherBench.lane, Self.topicRefused))
        let asked = bench.find([DispatcherBench.route(3), DispatcherBench.route(4)]).leaseRequests
        #expect(asked == [bench.request(3, lane: nil, .expired), bench.request(4)])
        let dispatcher = bench.dispatcher
        #expect(dispatcher.refusesTopic(of: ServiceRoute(RouteID(3)), on: DispatcherBench.lane))
        #expect(!dispatcher.refusesTopic(of: ServiceRoute(RouteID(4)), on: DispatcherBench.lane))
        #expect(!dispatcher.refusesTopic(of: ServiceRoute(RouteID(3)), on: LaneKey(CredentialID(2))))
    }

    @Test("admits no direct messages for a refused topic")
    func admitsNone() {
        var bench = DispatcherBench()
        if let asked = bench.find([DispatcherBench.route(3)]).leaseRequests.first {
            bench.report(.leased([], asked: asked))
        }
        bench.report(.lane(DispatcherBench.lane, Self.topicRefused))
        let demand = CutDemand(ServiceRoute(RouteID(3)), members: 1)
        #expect(bench.dispatcher.admit(CutID(1), [demand], now: bench.now) == [nil])
        bench.now = bench.now + .seconds(60)
        bench.report(.timer)
        #expect(bench.dispatcher.admit(CutID(1), [demand], now: bench.now) == [DispatcherBench.lane])
    }

    @Test("takes pushes without a stream back when their lane's credential is suspected")
    func suspectedCredential() {
        var bench = DispatcherBench()
        bench.lease(Self.parcel(1, members: 3))
        let elsewhere = bench.report(.lane(LaneKey(CredentialID(2)), .credentialSuspected(reason: "expired")))
        #expect(elsewhere.withdrawn.isEmpty)
        let actions = bench.report(.lane(DispatcherBench.lane, .credentialSuspected(reason: "expired")))
        #expect(actions.withdrawn == [DispatcherBench.name])
    }

    @Test("waits while a credential is refused, then tries it with one push")
    func refusedCredential() throws {
        var settings = DispatcherBench.settings
        (settings.laneMembersMax, settings.membersMax) = (100, 120)
        var bench = DispatcherBench(settings: settings)
        let route = DispatcherBench.route(7)
        bench.find([])
        let refused = bench.report(.lane(DispatcherBench.lane, Self.credentialRefused))
        #expect(refused.contains(.lane(DispatcherBench.lane, .announceRefusal(reason: "Forbidden"))))
        bench.report(.planned([route]))
        let waits = bench.report(.resolved(route.serviceRoute, .waits(DispatcherBench.lane, .credentialRefused)))
        #expect(waits.leaseRequests.isEmpty && bench.dispatcher.waits.map(\.wait.cause) == [.credentialRefused])
        bench.now = bench.now + .seconds(60)
        let tries = bench.report(DispatcherBench.resolved(route.serviceRoute, DispatcherBench.lane))
        #expect(tries.contains(.lane(DispatcherBench.lane, .retry)))
        let asked = try #require(tries.leaseRequests.first)
        let sent = bench.report(.leased([ReadParcel(Self.parcel(1, members: 40), .repeatable)], asked: asked))
        #expect(asked.parcelsMax == 1 && sent.submitted == [0] && sent.leaseRequests.isEmpty)
        let next = try #require(bench.accept([0]).leaseRequests.first)
        let more = bench.report(.leased([ReadParcel(Self.parcel(2, members: 40), .repeatable)], asked: next))
        #expect(more.submitted.count == 40, "an accepted push restores the trust")
    }

    @Test("leases nothing while a token or a topic is missing", arguments: [LaneCause.tokenMissing, .topicMissing])
    func missing(_ cause: LaneCause) {
        var bench = DispatcherBench()
        let route = DispatcherBench.route(3)
        bench.report(.planned([route]))
        #expect(bench.report(.resolved(route.serviceRoute, .waits(DispatcherBench.lane, cause))).leaseRequests.isEmpty)
        let asked = bench.report(DispatcherBench.resolved(route.serviceRoute, DispatcherBench.lane)).leaseRequests
        #expect(asked == [bench.request(3)])
    }

    @Test("lists the lanes and routes that wait, until no route uses them")
    func waits() {
        var bench = DispatcherBench()
        let routes = [DispatcherBench.route(3), DispatcherBench.route(4)]
        let other = LaneKey(CredentialID(2))
        bench.report(.timer)
        bench.report(.polled(routes))
        let missing = RouteResolution.waits(DispatcherBench.lane, .topicMissing)
        let begun = bench.report(.resolved(routes[0].serviceRoute, missing))
        #expect(begun.contains(.lane(DispatcherBench.lane, .reportRoutes)))
        bench.report(.resolved(routes[1].serviceRoute, .waits(other, .tokenMissing, reason: "invalid_grant")))
        let waits = bench.dispatcher.waits
        #expect(waits.map(\.lane) == [DispatcherBench.lane, other])
        #expect(waits.map(\.route) == [routes[0].serviceRoute, nil])
        #expect(waits.map(\.wait.reason) == ["", "invalid_grant"])
        // Another credential takes over.
        let next = LaneTarget(LaneKey(CredentialID(3)), DispatcherBench.exit.target)
        for route in routes { bench.report(.resolved(route.serviceRoute, .leaves(next))) }
        bench.now = bench.now + DispatcherBench.settings.pollEvery
        bench.report(.timer)
        let over = bench.report(.polled(routes))
        #expect(over.contains(.lane(DispatcherBench.lane, .reportRoutes)))
        #expect(bench.dispatcher.waits.isEmpty)
    }

    @Test("trusts a lane's proof with the next delivery of answers")
    func proof() {
        var bench = DispatcherBench()
        bench.dispatcher.noteProof(DispatcherBench.lane, accepted: 1, refused: 0, now: bench.now)
        #expect(bench.dispatcher.isProven(DispatcherBench.lane, now: bench.now))
        #expect(!bench.dispatcher.isProven(LaneKey(CredentialID(2)), now: bench.now))
    }
}
