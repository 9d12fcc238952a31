import Encodings
import Model
import QueueRules
import Testing
import Worlds

/// Worlds in which installations have tokens of several kinds.
@Suite("Installations with tokens of several kinds")
struct KindTests {
    @Test("get each message once, at the token of its kind", arguments: SimulatedContent.allCases)
    func rightToken(content: SimulatedContent) {
        var world = Self.world(content, .all)
        #expect(world.run() == nil)
        let owed = world.store.registrations.filter { $0.app == AppID(1) && $0.stored.kind == content.kind }.map(\.id)
        #expect(!owed.isEmpty)
        #expect(world.providers.log.map(\.push.registration).sorted() == owed)
    }

    @Test("get calls through the call certificate if their app has one, in both environments", arguments: [0, 500])
    func ownCalls(mistaken: Int) {
        for content in [SimulatedContent.voip, .alert] {
            var plan = WorldPlan.calm(seed: 6)
            plan.apps = 1
            plan.messages = 1
            plan.manyKinds = 1_000
            plan.mistaken = mistaken
            plan.hasOwnCalls = true
            var world = SimulatedWorld(plan: plan)
            world.replaceMessage(0, content, .all)
            #expect(world.run() == nil)
            let lanes = world.providers.log.filter { $0.push.provider == .apns }.map { world.place(of: $0.push.lane) }
            #expect(!lanes.isEmpty && lanes.allSatisfy { $0.isForCalls == (content == .voip) })
            #expect(world.providers.log.contains { $0.push.isElsewhere } == (mistaken > 0))
        }
    }

    @Test(
        "count as having no registration of the kind if they lack a token for the message",
        arguments: SimulatedContent.allCases)
    func unknownKind(content: SimulatedContent) {
        let names = (0..<40).map { "phone-1-\($0)" }
        var world = Self.world(content, .installations(names))
        let known = world.store.registrations.filter { $0.app == AppID(1) && $0.stored.kind == content.kind }.count
        #expect(world.run() == nil)
        let account = world.store.account(world.messages[0].id)
        #expect(account?.audience == 40)
        #expect(account?.count(.accepted) == Int64(known))
        let none =
            account?.reasons.first { $0.terminalStatus.reason == TerminalReason.noRegistrationOfKind }?.count ?? 0
        #expect(none == Int64(40 - known))
    }

    @Test(
        "get a call only once if its answer is lost, while other pushes are repeated",
        arguments: SimulatedContent.allCases)
    func lostAnswer(content: SimulatedContent) {
        var world = Self.world(content, .all)
        world.weather.silent = .apns
        #expect(world.run() == nil)
        for pair in world.ledger.pairs {
            let shown = world.providers.seen(pair).count
            if content.isSeenTwice { #expect(shown == 1) } else { #expect(shown > 1) }
        }
        let gaveUp = world.store.account(world.messages[0].id)?.count(.gaveUp) ?? 0
        #expect(gaveUp == (content.isSeenTwice ? Int64(world.ledger.pairs.count) : 0))
    }

    /// A world with one message to Apple's phones, which have tokens of many kinds.
    private static func world(_ content: SimulatedContent, _ audience: Audience) -> SimulatedWorld {
        var plan = WorldPlan.calm(seed: 5)
        plan.apps = 1
        plan.messages = 1
        plan.manyKinds = 1_000
        var world = SimulatedWorld(plan: plan)
        world.replaceMessage(0, content, audience)
        return world
    }
}
