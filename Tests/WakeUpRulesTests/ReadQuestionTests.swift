import Basis
import Expressions
import JSON
import Testing
import WakeUpRules

@Suite("The question which users may read a path")
struct ReadQuestionTests {
    private static let path = NodePath(stored: "/contacts/u1")

    /// The rules with one expression at the root.
    private static func rules(_ expression: String) throws -> ReadRules {
        try ReadRules.read([".read": .string(expression)])
    }

    private static func user(_ name: String) -> ReadQuestion.Subject {
        ReadQuestion.Subject(path: path, auth: UserClaims(ofToken: ["sub": .string(name)]))
    }

    private static func question(_ subjects: [ReadQuestion.Subject], _ rules: ReadRules) -> ReadQuestion {
        ReadQuestion(subjects, rules, now: WallInstant(microseconds: 1_700_000_000_000_000))
    }

    @Test("names each path that the rules look up once, in their order")
    func paths() throws {
        let rules = try Self.rules("root.members[auth.sub] == true")
        let question = Self.question([Self.user("u2"), Self.user("u1"), Self.user("u2")], rules)
        #expect(question.paths.map(\.text) == ["/members/u1", "/members/u2"])
        #expect(question.answers([.bool(false), .bool(true)]) == [true, false, true])
    }

    @Test("finds nothing at a path that no tree can have")
    func impossiblePath() throws {
        let rules = try Self.rules("root.members[auth.sub] == null")
        let question = Self.question([Self.user("$reserved")], rules)
        #expect(question.paths.isEmpty)
        #expect(question.answers([]) == [true])
    }

    @Test("lets nobody read if an app has no rules")
    func noRules() {
        let question = Self.question([Self.user("u1"), .init(path: Self.path, auth: nil)], ReadRules.none)
        #expect(question.paths.isEmpty)
        #expect(question.answers([]) == [false, false])
    }
}
