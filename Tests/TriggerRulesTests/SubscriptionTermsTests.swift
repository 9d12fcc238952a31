import Basis
import TestSupport
import Testing
import TriggerRules

@Suite("The identity of a subscription")
struct SubscriptionTermsTests {
    private static func terms(
        _ items: [String], _ fields: [String], _ trigger: String?, mode: UpdateMode = .merge, pauseSeconds: Int32? = nil
    ) -> SubscriptionTerms {
        SubscriptionTerms(
            items: items, fields: fields, mode: mode,
            trigger: trigger.map { TriggerTerms(text: $0, thresholds: []) },
            template: TemplateSource(given: [], content: []), pauseSeconds: pauseSeconds)
    }

    @Test("depends on items, fields and trigger alone")
    func others() {
        let one = Self.terms(["item1"], ["last_price"], "1 < 2")
        var other = Self.terms(["item1"], ["last_price"], "1 < 2", mode: .distinct, pauseSeconds: 0)
        other.expiresAt = WallInstant(microseconds: 0)
        #expect(one.identityBytes == other.identityBytes)
        #expect(
            Self.terms(["a"], [], "").identityBytes == [0, 0, 0, 1, 0, 0, 0, 1, 97, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])
    }

    @Test("differs for other items, fields or triggers, their order and their bytes included")
    func different() {
        var random = SeededGenerator(seed: 5)
        let texts = ["", "a", "aa", "b", "\u{e9}", "e\u{301}", "\u{0}\u{0}\u{0}\u{1}a"]
        func drawn() -> [String] {
            (0..<Int.random(in: 0...2, using: &random)).map { _ in texts[Int.random(in: 0..<7, using: &random)] }
        }
        var known: [[UInt8]: [[[UInt8]]]] = [:]
        var seen: Set<[[[UInt8]]]> = []
        var repeated = 0
        for _ in 0..<5_000 {
            let (items, fields, triggers) = (drawn(), drawn(), drawn().prefix(1))
            let identity = Self.terms(items, fields, triggers.first).identityBytes
            let parts = [items, fields, Array(triggers)].map { $0.map { Array($0.utf8) } }
            if let other = known[identity] {
                #expect(other == parts)
                repeated += 1
            } else {
                known[identity] = parts
                let isNew = seen.insert(parts).inserted
                #expect(isNew)
            }
        }
        #expect(repeated > 100 && known.count > 1_000)
    }
}
