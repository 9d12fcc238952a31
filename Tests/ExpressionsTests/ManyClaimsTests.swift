import Expressions
import JSON
import TestSupport
import Testing

@Suite("Rules that name thousands of claims")
struct ManyClaimsTests {
    private static func rules(_ count: Int) -> JSONValue {
        let members = (0..<count / 100).map { node in
            let names = (0..<100).map { "auth.c\(node * 100 + $0)" }.joined(separator: "||")
            return JSONMember("n\(node)", [".read": .string(names)])
        }
        return .object(JSONObject(members))
    }

    @Test("list each of them")
    func all() throws {
        let rules = try ReadRules.read(Self.rules(5_000))
        for claim in ["c0", "c4999"] { #expect(rules.claims.contains(claim)) }
        #expect(!rules.claims.contains("c5000"))
        #expect(rules.claims == .only((0..<5_000).map { "c\($0)" }))
    }

    /// Eight times the claims took more than fifty times as long while each was compared with all others. A measurement
    /// may be disturbed, so one that is not is enough.
    @Test("take a time that grows with their number, not with its square")
    func linear() throws {
        let (few, many) = (Self.rules(600), Self.rules(4_800))
        let clock = ContinuousClock()
        func time(_ rules: JSONValue) throws -> Duration { try clock.measure { _ = try ReadRules.read(rules) } }
        func isLinear() throws -> Bool {
            let short = try (0..<5).map { _ in try time(few) }.min() ?? .zero
            return try time(many) < short * 30
        }
        #expect(try (0..<100).contains { _ in try isLinear() })
    }
}
