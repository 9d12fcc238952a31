import Basis
import Model
import QueueRules
import RegistryRules
import Testing

private let origin = RouteID(7)
private let dawn = WallInstant(secondsSince1970: 1_793_448_000)

private func token(_ letter: String) -> DeviceToken { DeviceToken(bytes: Array(letter.utf8)) }

private func input(_ installation: String, token letter: String, asOf: WallInstant? = nil) -> DeviceRegistration {
    DeviceRegistration(
        installation: installation, provider: .apns, topic: "com.example.app", token: token(letter), asOf: asOf)
}

private func incoming(_ registration: DeviceRegistration, route: RouteID = origin) -> IncomingRegistration {
    IncomingRegistration(registration: registration, route: route)
}

private func stored(
    _ installation: String, token letter: String, id: Int64 = 1, state: RegistrationState = .active,
    asOf: WallInstant? = nil
) -> StoredRegistration {
    StoredRegistration(
        id: RegistrationID(id), installation: installation, kind: .alert, route: origin, provider: .apns,
        token: token(letter), state: state, generation: TokenGeneration(4),
        profile: RegistrationProfile(
            [.user: "ada", .locale: "en_GB", .timeZone: "Europe/London", .appVersion: "5.1"], tags: ["news"]),
        asOf: asOf)
}

@Suite("A registration")
struct RegistrationRuleTests {
    @Test("creates an unknown installation as active, in its first generation")
    func created() {
        let decision = TokenLifecycle.register(existing: nil, holder: nil, incoming: incoming(input("a", token: "T")))
        #expect(decision.change == .created)
        #expect(decision.row.id == nil)
        #expect(decision.row.state == .active)
        #expect(decision.row.generation == TokenGeneration(1))
        #expect(decision.formerHolder == nil)
    }

    @Test("changes nothing but its time if it brings nothing new")
    func unchanged() {
        let row = stored("a", token: "T")
        let decision = TokenLifecycle.register(existing: row, holder: nil, incoming: incoming(input("a", token: "T")))
        #expect(decision.change == .unchanged)
        #expect(decision.row == row)
        #expect(!decision.isWideRowChanged)
    }

    @Test("keeps fields that it omits, clears those that it clears, and sets those that it sets")
    func refreshed() {
        var registration = input("a", token: "T")
        registration.profile[.user] = .clear
        registration.profile[.locale] = .set("fr_FR")
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "T"), holder: nil, incoming: incoming(registration))
        #expect(decision.change == .refreshed)
        #expect(decision.isWideRowChanged)
        #expect(decision.row.profile[.user] == nil)
        #expect(decision.row.profile[.locale] == "fr_FR")
        #expect(decision.row.profile.tags == ["news"])
        #expect(decision.row.generation == TokenGeneration(4))
    }

    @Test("writes a name whose bytes changed, even if Unicode holds both for equivalent")
    func otherBytes() {
        var (registration, row) = (input("a", token: "T"), stored("a", token: "T"))
        row.profile[.user] = "Zo\u{eb}"
        registration.profile[.user] = .set("Zoe\u{308}")
        let decision = TokenLifecycle.register(existing: row, holder: nil, incoming: incoming(registration))
        #expect(decision.change == .refreshed && decision.isWideRowChanged)
    }

    @Test("writes the wide row if it has attributes, because only the database can compare them")
    func attributes() {
        var registration = input("a", token: "T")
        registration.profile.attributes = .set(Array("{}".utf8))
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "T"), holder: nil, incoming: incoming(registration))
        #expect(decision.isWideRowChanged)
    }

    @Test("replaces the token in a new generation, and reports the replaced generation")
    func replaced() {
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "T"), holder: nil, incoming: incoming(input("a", token: "U")))
        #expect(decision.change == .replaced)
        #expect(decision.row.token == token("U"))
        #expect(decision.row.generation == TokenGeneration(5))
        #expect(decision.replacedGeneration == TokenGeneration(4))
        #expect(decision.row.profile.tags == ["news"])
    }

    @Test("raises the generation if the route changes")
    func otherRoute() {
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "T"), holder: nil,
            incoming: incoming(input("a", token: "T"), route: RouteID(8))
        )
        #expect(decision.change == .refreshed)
        #expect(decision.row.generation == TokenGeneration(5))
        #expect(decision.replacedGeneration == nil)
    }

    @Test("moves a token from another installation, and retires that installation's registration")
    func moved() throws {
        let holder = stored("b", token: "T", id: 2)
        let decision = TokenLifecycle.register(
            existing: nil, holder: holder, incoming: incoming(input("a", token: "T")))
        #expect(decision.change == .moved)
        let former = try #require(decision.formerHolder)
        #expect(former.id == RegistrationID(2))
        #expect(former.state == .retired)
        #expect(former.generation == TokenGeneration(5))
    }

    @Test("counts as both moved and replaced if it takes a token and loses its own")
    func movedAndReplaced() {
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "S"), holder: stored("b", token: "T", id: 2),
            incoming: incoming(input("a", token: "T")))
        #expect(decision.change == .moved)
        #expect(decision.replacedGeneration == TokenGeneration(4))
        #expect(decision.formerHolder?.id == RegistrationID(2))
    }

    @Test("changes nothing and takes no token if it is older than the stored row")
    func stale() {
        let row = stored("a", token: "S", asOf: dawn)
        let decision = TokenLifecycle.register(
            existing: row, holder: stored("b", token: "T", id: 2),
            incoming: incoming(input("a", token: "T", asOf: dawn + .seconds(-1))))
        #expect(decision.change == .stale)
        #expect(decision.row == row)
        #expect(decision.formerHolder == nil)
    }

    @Test("takes no token if it is older than the registration that holds the token")
    func olderThanHolder() {
        let holder = stored("b", token: "T", id: 2, asOf: dawn)
        let old = incoming(input("a", token: "T", asOf: dawn + .seconds(-1)))
        let alone = TokenLifecycle.register(existing: nil, holder: holder, incoming: old)
        #expect(alone.change == .stale)
        #expect(alone.row == holder)
        #expect(alone.formerHolder == nil)
        let row = stored("a", token: "S", asOf: dawn + .seconds(-2))
        let decision = TokenLifecycle.register(existing: row, holder: holder, incoming: old)
        #expect(decision.change == .stale)
        #expect(decision.row == row)
        #expect(decision.formerHolder == nil)
    }

    @Test("applies if it has no time of its own, whatever time is stored")
    func justNow() {
        let future = dawn + .seconds(300)
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "S", asOf: future), holder: stored("b", token: "T", id: 2, asOf: future),
            incoming: incoming(input("a", token: "T")))
        #expect(decision.change == .moved)
    }

    @Test("applies if it has the same time as the stored row")
    func sameMoment() {
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "S", asOf: dawn), holder: nil,
            incoming: incoming(input("a", token: "T", asOf: dawn)))
        #expect(decision.change == .replaced)
    }

    @Test(
        "revives a suspected or retired token in the same generation",
        arguments: [RegistrationState.suspected, .retired])
    func revived(state: RegistrationState) {
        let decision = TokenLifecycle.register(
            existing: stored("a", token: "T", state: state), holder: nil, incoming: incoming(input("a", token: "T")))
        #expect(decision.change == .refreshed)
        #expect(decision.row.state == .active)
        #expect(decision.row.generation == TokenGeneration(4))
        #expect(decision.liftsSuspicion == (state == .suspected))
    }
}

@Suite("A registration whose token was found in the other environment")
struct FoundTokenTests {
    private func found() -> StoredRegistration {
        var row = stored("a", token: "T")
        row.mistakenRoute = RouteID(origin.value + 1)
        return row
    }

    private func register(_ token: String, on route: RouteID) -> RegistrationDecision {
        TokenLifecycle.register(
            existing: found(), holder: nil,
            incoming: IncomingRegistration(registration: input("a", token: token), route: route))
    }

    @Test("stays in the found environment, however often its app names the other one")
    func stays() {
        let decision = register("T", on: RouteID(origin.value + 1))
        #expect(decision.change == .unchanged)
        #expect(decision.row == found())
    }

    @Test("follows its app to the named environment with a new token")
    func newToken() {
        let decision = register("S", on: RouteID(origin.value + 1))
        #expect(decision.row.route == RouteID(origin.value + 1))
        #expect(decision.row.mistakenRoute == nil)
    }

    @Test("moves to another topic with the same token, and forgets the mistaken route")
    func newTopic() {
        let decision = register("T", on: RouteID(origin.value + 2))
        #expect(decision.row.route == RouteID(origin.value + 2))
        #expect(decision.row.generation == TokenGeneration(5))
        #expect(decision.row.mistakenRoute == nil)
    }
}

@Suite("A verdict")
struct VerdictRuleTests {
    private func judge(
        _ verdict: TokenVerdict, state: RegistrationState = .active, generation: Int32 = 4, asOf: WallInstant = dawn,
        registeredAt: WallInstant = dawn, isBlame: Bool = false, unproven: UnprovenToken? = nil
    ) -> RegistrationState? {
        TokenLifecycle.judge(
            GuardedVerdict(
                registration: RegistrationID(1), generation: TokenGeneration(generation), route: origin,
                verdict: verdict, asOf: asOf, isBlame: isBlame),
            status: TokenStatus(
                state: state, generation: TokenGeneration(4), registeredAt: registeredAt, unproven: unproven))
    }

    @Test("retires an unproven token as its second blame, unless its push left before the first")
    func secondBlame() {
        func blame(_ blamedAt: WallInstant?, isGuarded: Bool = false, isBlame: Bool = true) -> RegistrationState? {
            judge(
                .suspected(reason: "INVALID_ARGUMENT"), state: blamedAt == nil ? .active : .suspected,
                asOf: dawn + .seconds(10), isBlame: isBlame,
                unproven: UnprovenToken(blamedAt: blamedAt, isGuarded: isGuarded))
        }
        #expect(blame(nil) == .suspected)
        #expect(blame(dawn + .seconds(9)) == .retired)
        #expect(blame(dawn + .seconds(10)) == .suspected)
        #expect(blame(dawn + .seconds(9), isGuarded: true) == .suspected)
        #expect(blame(dawn + .seconds(9), isBlame: false) == .suspected)
        #expect(
            judge(.suspected(reason: "INVALID_ARGUMENT"), state: .suspected, isBlame: true) == .suspected,
            "a backend registered it, or it took a push")
        #expect(judge(.cleared, unproven: UnprovenToken(blamedAt: nil, isGuarded: false)) == .active)
    }

    @Test("applies to registrations up to the provider's time, if the provider gives one")
    func timed() {
        let since = dawn + .seconds(10)
        let gone = TokenVerdict.unregistered(since: since, reason: "Unregistered")
        #expect(judge(gone, registeredAt: since) == .retired)
        #expect(judge(gone, registeredAt: since + .microseconds(1)) == nil)
    }

    @Test("applies to registrations up to the lease if the provider gives no time")
    func untimed() {
        let gone = TokenVerdict.unregistered(since: nil, reason: "UNREGISTERED")
        #expect(judge(gone, asOf: dawn, registeredAt: dawn) == .retired)
        #expect(judge(gone, asOf: dawn, registeredAt: dawn + .microseconds(1)) == nil)
    }

    @Test("retires a suspected token, and changes no retired one")
    func states() {
        let gone = TokenVerdict.unregistered(since: nil, reason: "Unregistered")
        #expect(judge(gone, state: .suspected) == .retired)
        #expect(judge(gone, state: .retired) == nil)
    }

    @Test("changes nothing if it is about another generation of the token")
    func otherGeneration() {
        #expect(judge(.unregistered(since: nil, reason: "Unregistered"), generation: 3) == nil)
        #expect(judge(.suspected(reason: "BadDeviceToken"), generation: 5) == nil)
        #expect(judge(.cleared, state: .suspected, generation: 3) == nil)
    }

    @Test("marks an active token as suspected if it is a suspicion, and leaves a retired one alone")
    func suspicions() {
        let suspicion = TokenVerdict.suspected(reason: "BadDeviceToken")
        #expect(judge(suspicion) == .suspected)
        #expect(judge(suspicion, state: .suspected) == .suspected)
        #expect(judge(suspicion, state: .retired) == nil)
        #expect(judge(suspicion, registeredAt: dawn + .microseconds(1)) == nil)
    }

    @Test("suspects a token unknown in both environments, and activates one that is found")
    func environments() {
        let suspicion = TokenVerdict.suspectedInBoth(reason: "BadDeviceToken")
        #expect(judge(suspicion) == .suspected)
        #expect(judge(suspicion, registeredAt: dawn + .microseconds(1)) == nil)
        let found = TokenVerdict.found(on: RouteID(origin.value + 1))
        #expect(judge(found) == .active && judge(found, state: .suspected) == .active)
        #expect(judge(found, registeredAt: dawn + .microseconds(1)) == .active)
        #expect(judge(found, generation: 3) == nil && judge(found, state: .retired) == nil)
    }

    @Test("clears a suspicion, and revives no retired token")
    func clears() {
        #expect(judge(.cleared, state: .suspected) == .active)
        #expect(judge(.cleared, state: .active) == nil)
        #expect(judge(.cleared, state: .retired) == nil)
    }
}

@Suite("A suspicion")
struct SuspicionRuleTests {
    private let rule = SuspicionRule(window: .seconds(3_600), shareMax: 0.1, sampleMin: 100)
    private static let week = SuspicionRule.windowMax

    private func sample(_ answered: Int, _ suspected: Int) -> AnswerSample {
        AnswerSample(answered: answered, suspected: suspected)
    }

    /// - Parameter all: the answers until now; nil: none came after the window.
    private func judge(
        _ window: AnswerSample, all: AnswerSample? = nil, age: Duration = .seconds(3_600), again: Duration? = nil
    ) -> SuspicionDecision {
        rule.judge(PendingSuspicion(age: age, repeatedAfter: again, inWindow: window, sinceThen: all ?? window))
    }

    @Test("waits until its window has passed, whatever was answered")
    func early() {
        #expect(judge(sample(1_000, 1), age: .seconds(3_599)) == .waits(for: .seconds(1)))
        #expect(judge(sample(100, 100), age: .zero) == .waits(for: .seconds(3_600)))
    }

    @Test("becomes confirmed after its window by a small share of a large sample")
    func confirmed() {
        #expect(judge(sample(100, 10)) == .confirmed)
    }

    @Test("ends if too many answers of its window were suspicions too, whatever came later")
    func batch() {
        #expect(judge(sample(100, 11)) == .dropped)
        #expect(judge(sample(100, 11), all: sample(1_000_000, 11), again: .seconds(9_999)) == .dropped)
        #expect(judge(sample(11, 11)) == .dropped, "more suspicions than the smallest sample allows")
        #expect(judge(sample(11, 11), all: sample(1_000_000, 11), again: .seconds(9_999)) == .dropped)
    }

    @Test(
        "counts as one of a batch if too many answers are suspicions, or all of a small audience",
        arguments: [
            (100, 11, true), (100, 10, false), (11, 11, true), (50, 11, true), (10, 10, true), (11, 10, false),
            (9, 9, false), (0, 0, false), (1_000, 101, true),
        ])
    func ofABatch(answered: Int, suspected: Int, isBatch: Bool) {
        #expect(rule.isBatch(sample(answered, suspected)) == isBatch)
    }

    @Test("waits for a larger sample and a second suspicion if there are few answers")
    func small() {
        let pause = SuspicionDecision.waits(for: SuspicionRule.checkAgainAfter)
        let (few, enough) = (sample(1, 1), sample(100, 2))
        #expect(judge(few, all: sample(99, 2), again: .seconds(3_600)) == pause)
        #expect(judge(few, all: enough) == pause)
        #expect(judge(few, all: enough, again: .seconds(3_599)) == pause, "one batch may suspect a token twice")
        #expect(judge(few, all: enough, again: .seconds(3_600)) == .confirmed)
        #expect(judge(few, all: sample(100, 11), again: .seconds(3_600)) == .dropped)
    }

    @Test("ends after a week without a sample or a second suspicion")
    func week() {
        #expect(judge(sample(1, 1), age: Self.week - .microseconds(1)) != .dropped)
        #expect(judge(sample(1, 1), age: Self.week) == .dropped)
        #expect(judge(sample(1, 1), all: sample(500, 1), age: Self.week) == .dropped)
        #expect(judge(sample(1, 1), all: sample(500, 1), age: Self.week, again: .seconds(9_999)) == .confirmed)
    }
}
