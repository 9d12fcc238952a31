import Basis
import Model
import QueueRules
import RegistryRules
import Testing

@Suite("Tokens that the other environment accepted")
struct RouteFindingsTests {
    private static let rule = SuspicionRule(window: .seconds(600), shareMax: 0.2, sampleMin: 50)

    private func letsMove(found: Int, answered: Int, borneOut: Int) -> Bool {
        Self.rule.letsMove(RouteFindings(found: found, answered: answered, borneOut: borneOut))
    }

    @Test("move if they are few among the route's answers")
    func few() {
        #expect(letsMove(found: 200, answered: 1_000, borneOut: 100_000))
        #expect(letsMove(found: 10, answered: 10, borneOut: 100_000), "a few devices are no outage")
    }

    @Test("stay if they are too many and the route used to be right")
    func many() {
        #expect(!letsMove(found: 201, answered: 1_000, borneOut: 100_000))
        #expect(!letsMove(found: 11, answered: 11, borneOut: 1))
        #expect(!letsMove(found: 5_000, answered: 0, borneOut: 100_000), "the answers are settled later")
    }

    @Test("move in any number if the route was never right")
    func never() {
        #expect(letsMove(found: 300, answered: 344, borneOut: 0))
        #expect(letsMove(found: 300, answered: 344, borneOut: -1), "answers that were counted twice prove nothing")
    }

    @Test("move in any number if the operator allows all of them")
    func allowed() {
        let rule = SuspicionRule(window: .seconds(600), shareMax: 1, sampleMin: 50)
        #expect(rule.letsMove(RouteFindings(found: 5_000, answered: 0, borneOut: 100_000)))
    }

    @Test("lose a suspicion if they stay, while other verdicts are unchanged")
    func staying() {
        func input(_ verdict: TokenVerdict) -> GuardedVerdict {
            GuardedVerdict(
                registration: RegistrationID(7), generation: TokenGeneration(3), route: RouteID(1), verdict: verdict,
                asOf: WallInstant(secondsSince1970: 1_800_000_000))
        }
        #expect(input(.found(on: RouteID(2))).staying == input(.cleared))
        for other in [TokenVerdict.suspectedInBoth(reason: "BadDeviceToken"), .cleared] {
            #expect(input(other).staying == input(other))
        }
    }
}
