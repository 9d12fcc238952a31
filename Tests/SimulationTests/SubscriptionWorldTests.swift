import Basis
import Model
import Testing
import Worlds

/// Worlds whose phones watch data, with one trouble for two hours.
@Suite("A world with subscriptions")
struct SubscriptionWorldTests {
    private static let outage = SimulatedTime.minutes(120)

    @Test("tells each phone once of what it watches, without any fault", arguments: UInt64(1)...5)
    func calm(seed: UInt64) {
        var world = SimulatedWorld(plan: Self.plan(seed, faultsEnd: .minutes(2)))
        #expect(world.run() == nil)
        #expect(world.wakeUps.told > 10)
        #expect(world.store.subscriptions.count > 15)
    }

    @Test(
        "revokes nothing while a provider is dead, and tells each phone when it is back",
        arguments: [Provider.apns, .fcm], UInt64(1)...2)
    func deadProvider(provider: Provider, seed: UInt64) {
        var world = SimulatedWorld(plan: Self.plan(seed, faultsEnd: Self.outage))
        world.cutOff(provider, until: Self.outage)
        expectAllKept(&world)
    }

    @Test(
        "revokes nothing while a credential is refused, and tells each phone when it is taken",
        arguments: [LanePlace.production, .google], UInt64(1)...2)
    func refusedCredential(place: LanePlace, seed: UInt64) {
        var world = SimulatedWorld(plan: Self.plan(seed, faultsEnd: Self.outage))
        for app in 1...2 {
            let credential = world.credential(inSlot: world.slot(AppID(Int64(app)), place))
            world.weather.refused.append((credential, false, Self.outage))
        }
        expectAllKept(&world)
    }

    private static func plan(_ seed: UInt64, faultsEnd: SimulatedTime) -> WorldPlan {
        var plan = WorldPlan.calm(seed: seed, devicesPerApp: 15)
        (plan.fcmDevices, plan.faultsEnd) = (500, faultsEnd)
        (plan.writes, plan.watchedPaths, plan.subscribed, plan.fanOutMax) = (24, 3, 1_000, 3)
        return plan
    }

    /// Expects that every subscription lives on. The world itself checks that each was told of the last change, and
    /// that its phone knows the data if its push was accepted.
    private func expectAllKept(_ world: inout SimulatedWorld) {
        let before = world.store.subscriptions.map(\.id)
        #expect(before.count > 15)
        #expect(world.run() == nil)
        #expect(world.store.subscriptions.map(\.id) == before)
        #expect(!world.store.feedback.contains { $0.verdict == .retired })
        // Each was told of the write after the outage.
        let told = Set(world.providers.log.filter { $0.answer.kind.isAccepted }.map(\.push.registration))
        #expect(world.store.subscriptions.allSatisfy { told.contains($0.registration) })
    }
}
