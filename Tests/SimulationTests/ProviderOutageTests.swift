import Basis
import Model
import Testing
import Worlds

/// Worlds with devices of both providers, one of which is in trouble all along.
@Suite("A world in which one provider fails")
struct ProviderOutageTests {
    private static let kinds = AnswerKind.allCases.filter { !$0.isAccepted && !$0.reportsUnregistered }

    @Test(
        "delays no push of the other provider, and retires no token, while one refuses pushes",
        arguments: kinds, [UInt64(1), 2, 3])
    func answers(kind: AnswerKind, seed: UInt64) {
        var world = Self.world(seed)
        world.weather.onlyAnswer = kind
        expectIsolation(&world, from: kind.provider)
        #expect(world.providers.log.contains { $0.answer.kind == kind })
        #expect(!world.store.feedback.contains { $0.verdict == .retired })
    }

    @Test(
        "delays no push of the other provider while one is unreachable",
        arguments: [Provider.apns, .fcm], UInt64(1)...5)
    func unreachable(provider: Provider, seed: UInt64) {
        var world = Self.world(seed)
        world.weather.unreachable.append((provider, world.plan.faultsEnd))
        expectIsolation(&world, from: provider)
        #expect(!world.store.feedback.contains { $0.verdict == .retired })
    }

    @Test(
        "delays no push of the other provider while one answers nothing",
        arguments: [Provider.apns, .fcm], UInt64(1)...5)
    func silent(provider: Provider, seed: UInt64) {
        var world = Self.world(seed)
        world.weather.silent = provider
        expectIsolation(&world, from: provider)
    }

    @Test("delays no push of the other provider while access tokens are revoked repeatedly", arguments: UInt64(1)...5)
    func revoked(seed: UInt64) {
        var plan = Self.plan(seed)
        plan.revocationEvery = .seconds(2)
        plan.accessFailed = 500
        var world = Self.world(plan)
        expectIsolation(&world, from: .fcm)
        #expect(world.incidents.accessRenewed > 0)
        #expect(!world.store.feedback.contains { $0.verdict == .retired })
    }

    /// The longest wait for a push of the healthy provider. A lane with room for one parcel may wait for an answer of
    /// its own provider, which takes up to ten seconds. Pushes to the troubled provider wait for minutes.
    private static let timeout: Duration = .seconds(12)

    /// A plan with half of the devices on FCM. Some processes have hardly room for more than one parcel per lane.
    private static func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.calm(seed: seed)
        plan.fcmDevices = 500
        if seed.isMultiple(of: 2) {
            plan.settings.laneMembersMax = 10
            plan.settings.membersMax = 10
            plan.settings.membersReserve = 10
        }
        return plan
    }

    private static func world(_ seed: UInt64) -> SimulatedWorld { world(plan(seed)) }

    private static func world(_ plan: WorldPlan) -> SimulatedWorld {
        var world = SimulatedWorld(plan: plan)
        for number in world.messages.indices { world.replaceMessage(number, .alert, .all) }
        return world
    }

    /// Expects each push of the healthy provider to leave within seconds, although its message is not finished.
    private func expectIsolation(_ world: inout SimulatedWorld, from troubled: Provider) {
        #expect(world.run() == nil)
        var others = 0
        for seen in world.providers.log where seen.push.provider != troubled {
            guard let message = world.store.message(seen.push.message) else { continue }
            let taken = SimulatedWorld.wall(at: seen.push.openedAt) - message.acceptedAt
            #expect(taken < Self.timeout)
            others += 1
        }
        #expect(others > 20)
    }
}
