import Model
import RegistryRules
import Testing

@Suite("The undo of a retirement")
struct TokenUndoTests {
    private static func retirement(
        _ verdict: FeedbackVerdict = .retired, generation: Int32 = 3, isUndone: Bool = false
    ) -> Retirement {
        Retirement(verdict: verdict, generation: TokenGeneration(generation), isUndone: isUndone)
    }

    private static func undo(
        _ retirement: Retirement = retirement(), state: RegistrationState = .retired, generation: Int32 = 3,
        isTokenTaken: Bool = false
    ) -> UndoDecision {
        TokenLifecycle.undo(
            retirement, state: state, generation: TokenGeneration(generation), isTokenTaken: isTokenTaken)
    }

    @Test("revives the token in a new generation, so that no earlier answer judges it")
    func revived() { #expect(Self.undo() == .revived(TokenGeneration(4))) }

    @Test("changes nothing the second time, whatever happened to the token since")
    func twice() {
        let undone = Self.retirement(isUndone: true)
        #expect(Self.undo(undone, state: .active, generation: 4) == .inEffect)
        #expect(Self.undo(undone, generation: 7, isTokenTaken: true) == .inEffect)
    }

    @Test("changes nothing if the token registered again since")
    func registeredAgain() { #expect(Self.undo(state: .active) == .inEffect) }

    @Test("fails if another token replaced the retired one")
    func replaced() {
        #expect(Self.undo(state: .active, generation: 4) == .replaced)
        #expect(Self.undo(generation: 4) == .replaced)
    }

    @Test("fails if another registration holds the token")
    func moved() { #expect(Self.undo(isTokenTaken: true) == .moved) }

    @Test(
        "fails for feedback that retired no token",
        arguments: [FeedbackVerdict.suspected, .replaced, .moved, .undone, .cleared, .environmentChanged]
    )
    func other(verdict: FeedbackVerdict) { #expect(Self.undo(Self.retirement(verdict)) == .notARetirement) }
}
