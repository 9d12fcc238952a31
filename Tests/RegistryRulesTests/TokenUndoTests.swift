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

    @Test("brings the token back as a new generation, so that no answer from before judges it")
    func revived() { #expect(Self.undo() == .revived(TokenGeneration(4))) }

    @Test("twice does nothing more, whatever became of the token since")
    func twice() {
        let undone = Self.retirement(isUndone: true)
        #expect(Self.undo(undone, state: .active, generation: 4) == .inEffect)
        #expect(Self.undo(undone, generation: 7, isTokenTaken: true) == .inEffect)
    }

    @Test("of a token that registered again since has nothing to do")
    func registeredAgain() { #expect(Self.undo(state: .active) == .inEffect) }

    @Test("is refused where another token took the place")
    func replaced() {
        #expect(Self.undo(state: .active, generation: 4) == .replaced)
        #expect(Self.undo(generation: 4) == .replaced)
    }

    @Test("is refused where the token lives elsewhere")
    func moved() { #expect(Self.undo(isTokenTaken: true) == .moved) }

    @Test(
        "is refused for what retired no token",
        arguments: [FeedbackVerdict.suspected, .replaced, .moved, .undone, .cleared, .environmentChanged]
    )
    func other(verdict: FeedbackVerdict) { #expect(Self.undo(Self.retirement(verdict)) == .notARetirement) }
}
