import RegistryRules
import Testing
import Worlds

/// Worlds in which half of the phones name the wrong APNs environment, and nothing else goes wrong.
@Suite("Phones that name the wrong environment")
struct EnvironmentTests {
    @Test(
        "get each message once from an app in both environments, and move to the right one",
        arguments: UInt64(1)...6)
    func found(seed: UInt64) {
        var world = Self.world(seed)
        let mistaken = world.devices.filter(\.isMistaken)
        #expect(!mistaken.isEmpty)
        #expect(world.run() == nil)
        for pair in world.ledger.pairs {
            #expect(world.providers.seen(pair).count { $0.answer.kind.isAccepted } == 1)
        }
        let accounts = world.store.messages.compactMap { world.store.account($0.id) }
        #expect(accounts.allSatisfy { $0.audience == $0.count(.accepted) })
        for row in world.store.registrations where world.providers.log.contains(where: { $0.isOf(row) }) {
            let token = world.providers[.apns, row.stored.token]
            #expect(world.store.route(row.stored.route)?.environment == token.environment)
        }
        // Each mistaken phone is reported once, whatever environment its app names later.
        let reported = world.store.feedback.filter { $0.verdict == .environmentChanged }
        #expect(reported.count == world.store.feedback.count && reported.count == world.incidents.found)
        #expect(!reported.isEmpty && reported.allSatisfy { $0.environments.map { $0.to == $0.from.other } == true })
    }

    @Test(
        "mostly keep their environment if APNs suddenly rejects every token that it knew",
        arguments: UInt64(1)...6)
    func insideOut(seed: UInt64) {
        var plan = WorldPlan.calm(seed: seed)
        (plan.apps, plan.messages) = (1, 20)
        plan.suspicion = SuspicionRule(window: .seconds(1), shareMax: 0.2, sampleMin: 5)
        // The minute before the change is over by then.
        plan.insideOutFrom = .seconds(61)
        var world = SimulatedWorld(plan: plan)
        for number in world.messages.indices { world.replaceMessage(number, .alert, .all) }
        let before = world.store.registrations.map(\.stored.route)
        #expect(world.run() == nil)
        // All of them got their pushes.
        for pair in world.ledger.pairs {
            #expect(world.providers.seen(pair).count { $0.answer.kind.isAccepted } == 1)
        }
        #expect(world.incidents.suspectRoutes > 30)
        #expect(!world.store.feedback.contains { $0.verdict == .retired })
        let moved = zip(before, world.store.registrations).count { $0 != $1.stored.route }
        // `shareMax` allows a fifth of that minute's answers, and few of these came before the change.
        #expect(moved <= before.count / 4)
    }

    @Test("keep the environment found for them although they name the wrong one again", arguments: UInt64(1)...3)
    func stubborn(seed: UInt64) {
        var world = Self.world(seed)
        #expect(world.run() == nil)
        let before = world.store.registrations.map(\.stored.route)
        for device in world.devices.indices { world.register(device) }
        #expect(world.store.registrations.map(\.stored.route) == before)
    }

    @Test("cause at most two pushes elsewhere if their tokens are bad in both environments", arguments: UInt64(1)...6)
    func badInBoth(seed: UInt64) {
        var plan = Self.plan(seed)
        plan.badTokens = 100
        var world = SimulatedWorld(plan: plan)
        // The messages follow each other: two at once may both try the other environment.
        for number in world.messages.indices { world.replaceMessage(number, .alert, .all) }
        #expect(world.run() == nil)
        for row in world.store.registrations where world.providers[.apns, row.stored.token].flaw != nil {
            let tries = world.providers.log.filter { $0.push.isElsewhere && $0.isOf(row) }
            #expect(Set(tries.map(\.push.message)).count == tries.count)
            #expect(tries.count <= 2)
        }
        #expect(world.incidents.refusedInBoth > 0)
    }

    @Test("become suspected, and get no push elsewhere, if their app has one environment only")
    func oneEnvironment() {
        var plan = Self.plan(3)
        plan.hasSandbox = false
        var world = SimulatedWorld(plan: plan)
        for number in world.messages.indices { world.replaceMessage(number, .alert, .all) }
        #expect(world.run() == nil)
        #expect(!world.providers.log.contains { $0.push.isElsewhere })
        #expect(world.store.feedback.contains { $0.verdict == .suspected })
    }

    private static func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.calm(seed: seed)
        plan.mistaken = 500
        return plan
    }

    private static func world(_ seed: UInt64) -> SimulatedWorld {
        var world = SimulatedWorld(plan: plan(seed))
        for number in world.messages.indices { world.replaceMessage(number, .alert, .all) }
        return world
    }
}

extension SeenPush {
    fileprivate func isOf(_ row: RegistrationRow) -> Bool { push.registration == row.id }
}
