import Basis
import Testing
import Worlds

/// Worlds in which a broadcast fills its lane behind a small project quota.
@Suite("A direct push beside a broadcast that fills its lane")
struct UrgencyTests {
    @Test("takes a lease at once, and the next request that the quota allows", arguments: UInt64(1)...10)
    func next(seed: UInt64) throws {
        var world = Self.world(seed)
        #expect(world.run() == nil)
        let (broadcast, named) = (world.messages[0].id, world.messages[1].id)
        let sent = world.providers.log.map(\.push).sorted { $0.openedAt < $1.openedAt }
        let place = try #require(sent.firstIndex { $0.message == named })
        let acceptedAt = try #require(world.store.message(named)).acceptedAt
        let others = sent.filter { $0.message == broadcast }
        #expect(others.count + 1 == sent.count && others.count == 300)
        #expect(sent[place].leasedAt - acceptedAt < .seconds(4), "planners query every few seconds")
        // These pushes were leased for the full lane before the named push, and sent after it.
        let overtaken = sent[place...].count { $0.message == broadcast && $0.leasedAt < sent[place].leasedAt }
        #expect(overtaken > 0)
        let between = sent[..<place].count { SimulatedWorld.wall(at: $0.openedAt) > sent[place].leasedAt }
        #expect(between <= 1, "one push may leave before the reply to the lease arrives")
    }

    /// A world with one process, one app with 300 devices, and a quota of one push per second. A hundred members, which
    /// are one parcel, fill the lane. They may wait there for as long as their lease allows.
    private static func world(_ seed: UInt64) -> SimulatedWorld {
        var plan = WorldPlan.calm(seed: seed, devicesPerApp: 300)
        (plan.processes, plan.apps, plan.messages) = (1, 1, 2)
        (plan.fcmDevices, plan.requestsPerMinute) = (1_000, 60)
        (plan.idsMax, plan.parcelMembersMax, plan.settings.laneMembersMax) = (100, 100, 100)
        (plan.settings.laneWaitMax, plan.settings.conditionsHoldFor) = (.seconds(60), .seconds(60))
        var world = SimulatedWorld(plan: plan)
        world.replaceMessage(0, .alert, .all, .bulk)
        world.replaceMessage(1, .alert, .installations(["phone-1-7"]), .transactional)
        return world
    }
}
