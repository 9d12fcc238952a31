import Store
import Testing
import TriggerStore

@Suite("An app's patterns for triggers")
struct TriggerPatternTests {
    private static let trigger = "Double.parseDouble(${last_price}) > 100.0"

    private static func withPatterns(_ body: (TriggerPatternStore) async throws -> Void) async throws {
        try await withStores { world in try await body(TriggerPatternStore(beside: world.stores)) }
    }

    /// Whether the pattern matches, if PostgreSQL compiles it; nil: it does not, or the pattern is not taken.
    private static func matches(
        _ trigger: String, _ pattern: String, _ store: TriggerPatternStore
    ) async throws -> Bool? {
        guard let whole = WholePattern(pattern), try await store.compile(whole) == .compiled else { return nil }
        return try await store.matches(trigger, [whole])
    }

    @Test("match a trigger as a whole, with the options for case and lines")
    func whole() async throws {
        try await Self.withPatterns { store in
            for (pattern, isMatch) in [
                (#"Double\.parseDouble\(\$\{last_price\}\) > [0-9.]+"#, true), (".*", true), (#".{41}"#, true),
                (#"(?i)DOUBLE.*"#, true), ("(?n)Double.*", true), ("a|Double.*|b", true), ("Double.*?", true),
                (#"(?=Double).*0(?!.)"#, true), (#"^Double.*$"#, true),
                (#"Double\.parseDouble"#, false), ("100.0", false), ("", false), ("DOUBLE.*", false), (".{40}", false),
                ("Double.*|100.0 and more", true), ("Double|100.0", false),
            ] {
                let found = try await Self.matches(Self.trigger, pattern, store)
                #expect(found == isMatch, "\(pattern)")
            }
        }
    }

    @Test("meet a refusal if they are no regular expression alone, or would leave their wrapper")
    func refused() async throws {
        try await Self.withPatterns { store in
            for pattern in [
                "a)|(?:.*", ")|.*|(", "(", "[", "a\\", "*", "a{2,1}", "(?#", ".*(?#", "***=a", "***:a", "(?x)a #",
                "(?q)a", "(?e)a", "(?b)a", "(?i", "(?iz)a", "((a{255}){255}){255}",
            ] {
                let found = try await Self.matches("a", pattern, store)
                #expect(found == nil, "\(pattern)")
            }
        }
    }

    @Test("match no line of a trigger with several lines, even if their anchors mean lines")
    func lines() async throws {
        try await Self.withPatterns { store in
            let trigger = "1 < 2\n|| true"
            for pattern in ["1 < 2", "(?n)^1 < 2$", "(?w)^1 < 2$", "(?n).*", #"(?m)[^\n]*"#] {
                let found = try await Self.matches(trigger, pattern, store)
                #expect(found == false, "\(pattern)")
            }
            #expect(try await Self.matches(trigger, "(?n)^1 < 2$\n.*", store) == true)
        }
    }

    @Test("match in their order, and one that PostgreSQL does not compile matches nothing")
    func several() async throws {
        try await Self.withPatterns { store in
            func whole(_ patterns: [String]) -> [WholePattern] { patterns.compactMap(WholePattern.init) }
            let isSecond = try await store.matches("b", whole(["a", "b", "c"]))
            #expect(isSecond)
            #expect(try await !store.matches("d", whole(["a", "b", "c"])))
            #expect(try await !store.matches("a", []))
            #expect(try await store.matches("a", whole(["a", "("])))
            #expect(try await !store.matches("a", whole(["(", "a"])))
        }
    }
}
