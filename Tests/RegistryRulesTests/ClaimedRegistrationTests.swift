import Model
import QueueRules
import RegistryRules
import Testing

private func token(_ letter: String) -> DeviceToken { DeviceToken(bytes: Array(letter.utf8)) }

private func stored(
    _ installation: String, token letter: String, user: String? = "ada", state: RegistrationState = .active
) -> StoredRegistration {
    var profile = RegistrationProfile()
    profile[.user] = user
    return StoredRegistration(
        id: RegistrationID(installation == "a" ? 1 : 2), installation: installation, kind: .alert, route: RouteID(7),
        provider: .fcm, token: token(letter), state: state, generation: TokenGeneration(4), profile: profile, asOf: nil)
}

@Suite("A user's own registration")
struct ClaimedRegistrationTests {
    /// The user registers installation "a" with the token "T".
    private func claim(
        by user: String, existing: StoredRegistration? = nil, holder: StoredRegistration? = nil
    ) -> RegistrationDecision {
        var registration = DeviceRegistration(installation: "a", provider: .fcm, token: token("T"))
        registration.profile[.user] = .set(user)
        registration.claimant = user
        return TokenLifecycle.register(
            existing: existing, holder: holder,
            incoming: IncomingRegistration(registration: registration, route: RouteID(7)))
    }

    @Test("changes nothing if the installation or the token's holder is another user's, or nobody's")
    func ofOther() {
        let cases: [(existing: StoredRegistration?, holder: StoredRegistration?)] = [
            (stored("a", token: "S"), nil), (stored("a", token: "T", state: .retired), nil),
            (stored("a", token: "T", user: nil), nil), (nil, stored("b", token: "T")),
            (nil, stored("b", token: "T", user: nil)), (stored("a", token: "S", user: "bob"), stored("b", token: "T")),
        ]
        for (existing, holder) in cases {
            let decision = claim(by: "bob", existing: existing, holder: holder)
            #expect(decision.change == .stale)
            #expect(decision.row == existing ?? holder)
            #expect(decision.formerHolder == nil)
        }
    }

    @Test("creates an unknown installation, and changes the user's own")
    func ofOwner() {
        #expect(claim(by: "ada").change == .created)
        #expect(claim(by: "ada").row.profile[.user] == "ada")
        #expect(claim(by: "ada", existing: stored("a", token: "S")).change == .replaced)
        #expect(claim(by: "ada", existing: stored("a", token: "T")).change == .unchanged)
        #expect(claim(by: "ada", holder: stored("b", token: "T")).change == .moved)
    }

    @Test("compares users by their bytes")
    func otherBytes() {
        let row = stored("a", token: "T", user: "Zo\u{eb}")
        #expect(claim(by: "Zo\u{eb}", existing: row).change == .unchanged)
        #expect(claim(by: "Zoe\u{308}", existing: row).change == .stale)
    }

    @Test("makes no backend's device, and leaves a backend's to it")
    func whose() {
        let claimed = claim(by: "ada")
        #expect(!claimed.row.isBackends)
        #expect(claim(by: "ada", existing: stored("a", token: "S")).row.isBackends)
        var own = claimed.row
        own.id = RegistrationID(1)
        #expect(claim(by: "ada", existing: own).row == own)
        #expect(claim(by: "ada", existing: own).change == .unchanged)
        var registration = DeviceRegistration(installation: "a", provider: .fcm, token: token("T"))
        registration.profile[.user] = .set("ada")
        let decision = TokenLifecycle.register(
            existing: own, holder: nil,
            incoming: IncomingRegistration(registration: registration, route: RouteID(7)))
        #expect(decision.row.isBackends && decision.change == .refreshed && decision.isWideRowChanged)
    }

    @Test("takes a token that only subscriptions to a data tree have named")
    func ofWakeUps() {
        var holder = stored("wakeup-1", token: "T", user: nil)
        holder.kind = .wakeUp
        #expect(claim(by: "ada", holder: holder).change == .moved)
    }
}
