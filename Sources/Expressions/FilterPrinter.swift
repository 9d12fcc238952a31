import Calendar
import Model

/// Prints the canonical text of a filter. Parsed again, it has the same meaning and prints the same bytes.
///
/// Parentheses are written only where needed. A list with one value is written as == or !=.
struct FilterPrinter {
    private(set) var text = ""
    /// True if names of users and installations are left out.
    let hidesNames: Bool

    private static let hidden = "…"

    init(hidesNames: Bool) { self.hidesNames = hidesNames }

    mutating func write(_ expression: FilterExpression) {
        switch expression {
        case .any(let members): join(members, " or ") { if case .any = $0 { true } else { false } }
        case .all(let members):
            join(members, " and ") {
                switch $0 {
                case .any, .all: true
                case .not, .condition: false
                }
            }
        case .not(let inner):
            text += "not "
            switch inner {
            case .any, .all: printInParentheses(inner)
            case .not, .condition: write(inner)
            }
        case .condition(let condition): write(condition)
        }
    }

    private mutating func join(
        _ members: [FilterExpression], _ joiner: String, needsParentheses: (FilterExpression) -> Bool
    ) {
        for (place, member) in members.enumerated() {
            if place > 0 { text += joiner }
            needsParentheses(member) ? printInParentheses(member) : write(member)
        }
    }

    private mutating func printInParentheses(_ expression: FilterExpression) {
        text += "("
        write(expression)
        text += ")"
    }

    private mutating func write(_ condition: FilterCondition) {
        switch condition {
        case .text(let field, let test):
            text += field.name
            write(test, isHidden: hidesNames && (field == .profile(.user) || field == .installation))
        case .provider(let isAmong, let providers):
            text += "provider"
            write(among: providers.map { Self.quoted($0.name) }, isAmong)
        case .environment(let isAmong, let environments):
            text += "environment"
            write(among: environments.map { Self.quoted($0.name) }, isAmong)
        case .version(let order, let version):
            text += "\(ProfileField.appVersion.name) \(order.rawValue) \(Self.quoted(version.text))"
        case .instant(let field, let order, let instant):
            text += "\(field.rawValue) \(order.rawValue) \(Self.text(instant))"
        case .tag(let tag): text += "tags has \(Self.quoted(tag))"
        case .attribute(let path, let test):
            text += "attributes"
            for name in path.names {
                text += ExpressionLexer.isIdentifier(name) ? ".\(name)" : "[\(Self.quoted(name))]"
            }
            write(test)
        }
    }

    private mutating func write(_ test: TextTest, isHidden: Bool) {
        func shown(_ texts: [String]) -> [String] { texts.map { Self.quoted(isHidden ? Self.hidden : $0) } }
        switch test {
        case .among(let texts): write(among: shown(texts), true)
        case .notAmong(let texts): write(among: shown(texts), false)
        case .startsWith(let start): text += " starts_with \(shown([start])[0])"
        case .exists: text += " exists"
        case .missing: text += " missing"
        }
    }

    private mutating func write(_ test: AttributeTest) {
        switch test {
        case .among(let scalars): write(among: scalars.map(Self.text), true)
        case .notAmong(let scalars): write(among: scalars.map(Self.text), false)
        case .number(let order, let number): text += " \(order.rawValue) \(number.text)"
        case .text(let order, let literal): text += " \(order.rawValue) \(Self.quoted(literal))"
        case .startsWith(let start): text += " starts_with \(Self.quoted(start))"
        case .has(let scalar): text += " has \(Self.text(scalar))"
        case .exists: text += " exists"
        case .missing: text += " missing"
        }
    }

    private mutating func write(among values: [String], _ isAmong: Bool) {
        if values.count == 1 {
            text += " \(isAmong ? "==" : "!=") \(values[0])"
        } else {
            text += " \(isAmong ? "in" : "not in") [\(values.joined(separator: ", "))]"
        }
    }

    private static func text(_ scalar: FilterScalar) -> String {
        switch scalar {
        case .text(let text): quoted(text)
        case .number(let number): number.text
        case .bool(let claim): claim ? "true" : "false"
        }
    }

    private static func text(_ instant: FilterInstant) -> String {
        switch instant {
        case .fixed(let instant): quoted(RFC3339.format(instant))
        case .fromNow(0, _): "now"
        case .fromNow(let count, let unit): "now \(count < 0 ? "-" : "+") \(count.magnitude)\(unit.rawValue)"
        }
    }

    private static func quoted(_ text: String) -> String {
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension FilterExpression {
    package var text: String { text(hidesNames: false) }

    /// The text without the users and installations that it names, for other readers.
    package var textWithoutNames: String { text(hidesNames: true) }

    private func text(hidesNames: Bool) -> String {
        var printer = FilterPrinter(hidesNames: hidesNames)
        printer.write(self)
        return printer.text
    }
}
