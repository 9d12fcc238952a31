import Basis
import Expressions
import Model

/// Random filter expressions of every form over few values, so that registrations with these values match about half
/// the time.
package struct RandomFilter {
    package var random: SeededGenerator

    package init(random: SeededGenerator) { self.random = random }

    package static let texts = [
        "ann", "an", "Ann", "ä", "a\u{308}", "4.2", "10", "", "de-AT", "x'; DROP TABLE apps; --", "\\\"", "€",
    ]
    package static let versionTexts = [
        "4", "4.2", "4.2.0", "4.10", "4.9.1", "0", "0.0.1", "12345678901234567890", "04.2",
    ]
    package static let versions = versionTexts.compactMap { VersionNumber($0) }
    /// App versions as devices report them; most are not valid.
    package static let otherVersionTexts = [
        "4.2-beta", "4.2.1 (77)", "v4", "beta", "4.", "4..2", ".4", "４", "99999999999999999999999999999999.1",
    ]
    package static let numberTexts = [
        "0", "1", "1.5", "-1.5", "10", "9007199254740993", "0.1", "100", "12345678901234567890.25",
    ]
    package static let numbers = numberTexts.compactMap { DecimalNumber($0) }
    package static let names = ["plan", "a b", "0", "ä", "deep", "\"", "null"]
    package static let tags = ["news", "beta", "ä", "a\u{308}", "x' OR true --"]

    package mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    package mutating func list<Value>(_ make: (inout RandomFilter) -> Value) -> [Value] {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in make(&self) }
    }

    package mutating func expression(depth: Int = 3) -> FilterExpression {
        guard depth > 0 else { return .condition(condition()) }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return .not(expression(depth: depth - 1))
        case 1: return .all((0...Int.random(in: 1...2, using: &random)).map { _ in expression(depth: depth - 1) })
        case 2: return .any((0...Int.random(in: 1...2, using: &random)).map { _ in expression(depth: depth - 1) })
        default: return .condition(condition())
        }
    }

    package mutating func condition() -> FilterCondition {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: return .text(pick(TextField.allCases), textTest())
        case 2:
            return .provider(isAmong: Bool.random(using: &random), list { $0.pick(Provider.allCases) })
        case 3:
            return .environment(isAmong: Bool.random(using: &random), list { $0.pick(PushEnvironment.allCases) })
        case 4: return .version(pick(FilterOrder.allCases), pick(Self.versions))
        case 5: return .instant(pick(InstantField.allCases), pick(FilterOrder.allCases), instant())
        case 6: return .tag(pick(Self.tags))
        default:
            return .attribute(AttributePath(list { $0.pick(Self.names) }), attributeTest())
        }
    }

    private mutating func textTest() -> TextTest {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: .among(list { $0.pick(Self.texts) })
        case 1: .notAmong(list { $0.pick(Self.texts) })
        case 2: .startsWith(pick(Self.texts))
        case 3: .exists
        default: .missing
        }
    }

    private mutating func attributeTest() -> AttributeTest {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .among(list { $0.scalar() })
        case 1: .notAmong(list { $0.scalar() })
        case 2: .number(pick(FilterOrder.allCases), pick(Self.numbers))
        case 3: .text(pick(FilterOrder.allCases), pick(Self.texts))
        case 4: .startsWith(pick(Self.texts))
        case 5: .has(scalar())
        case 6: .exists
        default: .missing
        }
    }

    private mutating func scalar() -> FilterScalar {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: .text(pick(Self.texts))
        case 1: .number(pick(Self.numbers))
        default: .bool(Bool.random(using: &random))
        }
    }

    private mutating func instant() -> FilterInstant {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: .fixed(pick(Self.instants))
        case 1: .now
        default:
            .fromNow(pick([-30, -1, 1, 30]), pick(FilterInstant.Unit.allCases))
        }
    }

    package static let now = WallInstant(secondsSince1970: 1_796_000_000)
    package static let instants =
        [-2_592_000, -86_400, -3_600, -60, 0, 60, 3_600].map { now + .seconds($0) } + [now + .microseconds(-1)]
}
