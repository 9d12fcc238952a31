import Calendar
import Model

extension FilterParser {
    mutating func parseCondition() throws(FilterFault) -> FilterCondition {
        let start = token
        guard case .identifier(let name) = start.kind, !Self.reserved.contains(name) else { throw unexpected(.field) }
        advance()
        if let field = TextField(name: name) { return try parseText(field) }
        if let field = InstantField(rawValue: name) { return try parseInstant(field) }
        switch name {
        case "provider": return try parseNames(name, FilterCondition.provider)
        case "environment": return try parseNames(name, FilterCondition.environment)
        case "tags":
            _ = try takeOperator(of: name, [.has])
            return .tag(try takeText())
        case "attributes": return try parseAttribute()
        default: throw fault(.unknownField(name), at: start)
        }
    }

    private static let reserved = [
        "and", "or", "not", "in", "has", "starts_with", "exists", "missing", "true", "false",
    ]

    /// Takes the next test, which must be one that the field supports.
    private mutating func takeOperator(
        of field: String, _ allowed: [FilterOperator]
    ) throws(FilterFault) -> FilterOperator {
        let start = token
        let found: FilterOperator
        switch start.kind {
        case .identifier("not"):
            advance()
            guard token.kind == .identifier("in") else { throw unexpected(.in) }
            found = .notAmong
        case .identifier(let identifier), .symbol(let identifier):
            guard let known = FilterOperator(rawValue: identifier) else { throw unexpected(.test) }
            found = known
        case .variable, .text, .number, .quantity, .character, .end: throw unexpected(.test)
        }
        guard allowed.contains(found) else {
            throw fault(.notForField(found, field: field, allowed: allowed), at: start)
        }
        advance()
        return found
    }

    private mutating func parseText(_ field: TextField) throws(FilterFault) -> FilterCondition {
        let orders: [FilterOperator] = field == .profile(.appVersion) ? FilterOperator.orders : []
        let asked = try takeOperator(of: field.name, FilterOperator.texts + orders)
        if let order = asked.order { return .version(order, try takeVersion()) }
        switch asked {
        case .exists: return .text(field, .exists)
        case .missing: return .text(field, .missing)
        case .startsWith: return .text(field, .startsWith(try takeText()))
        case .notEqual: return .text(field, .notAmong([try takeText()]))
        case .among: return .text(field, .among(try takeList { (parser) throws(FilterFault) in try parser.takeText() }))
        case .notAmong:
            return .text(field, .notAmong(try takeList { (parser) throws(FilterFault) in try parser.takeText() }))
        case .equal, .less, .atMost, .more, .atLeast, .has: return .text(field, .among([try takeText()]))
        }
    }

    private mutating func takeVersion() throws(FilterFault) -> VersionNumber {
        let start = token
        let text = try takeText(.version)
        guard text.utf8.count <= FilterLimits.versionBytesMax, let version = VersionNumber(text) else {
            throw fault(.notAVersion, at: start)
        }
        return version
    }

    private mutating func parseNames<Value: NamedCase>(
        _ field: String, _ condition: (_ isAmong: Bool, [Value]) -> FilterCondition
    ) throws(FilterFault) -> FilterCondition {
        let asked = try takeOperator(of: field, [.equal, .notEqual, .among, .notAmong])
        func take(_ parser: inout FilterParser) throws(FilterFault) -> Value {
            let start = parser.token
            guard let value = Value(name: try parser.takeText()) else {
                throw parser.fault(.unknownName(field: field, names: Value.allCases.map(\.name)), at: start)
            }
            return value
        }
        let isList = asked == .among || asked == .notAmong
        return condition(asked == .equal || asked == .among, isList ? try takeList(take) : [try take(&self)])
    }

    private mutating func takeList<Value>(
        _ take: (inout FilterParser) throws(FilterFault) -> Value
    ) throws(FilterFault) -> [Value] {
        guard takeSymbol("[") else { throw unexpected(.openingBracket) }
        var values: [Value] = []
        repeat {
            guard values.count < FilterLimits.valuesMax else { throw fault(.tooManyValues, at: token) }
            values.append(try take(&self))
        } while takeSymbol(",")
        guard takeSymbol("]") else { throw unexpected(.comma, .closingBracket) }
        return values
    }
}

extension FilterParser {
    private mutating func parseInstant(_ field: InstantField) throws(FilterFault) -> FilterCondition {
        let asked = try takeOperator(of: field.rawValue, FilterOperator.orders)
        guard let order = asked.order else { throw unexpected(.test) }
        return .instant(field, order, try takeInstant())
    }

    private mutating func takeInstant() throws(FilterFault) -> FilterInstant {
        let start = token
        if takeIdentifier("now") { return try takeDistance() }
        let text = try takeText(.instant)
        // A date without a time is its first moment, in UTC.
        guard let instant = RFC3339.parse(text) ?? RFC3339.parse(text + "T00:00:00Z") else {
            throw fault(.notAnInstant, at: start)
        }
        return .fixed(instant)
    }

    private mutating func takeDistance() throws(FilterFault) -> FilterInstant {
        let isBefore = token.kind == .symbol("-")
        guard isBefore || token.kind == .symbol("+") else { return .now }
        advance()
        let start = token
        guard case .quantity(let digits, let name) = start.kind, let unit = FilterInstant.Unit(rawValue: name) else {
            throw unexpected(.quantity)
        }
        guard let count = Int64(digits), count <= unit.countMax else { throw fault(.tooFarFromNow, at: start) }
        advance()
        return count == 0 ? .now : .fromNow(isBefore ? -count : count, unit)
    }
}

extension FilterParser {
    private mutating func parseAttribute() throws(FilterFault) -> FilterCondition {
        let path = try takePath()
        let asked = try takeOperator(of: "attributes", FilterOperator.allCases)
        return .attribute(path, try parseTest(asked))
    }

    private mutating func takePath() throws(FilterFault) -> AttributePath {
        var names: [String] = []
        while true {
            let start = token
            if takeSymbol(".") {
                guard case .identifier(let name) = token.kind else { throw unexpected(.attributeName) }
                names.append(name)
                advance()
            } else if takeSymbol("[") {
                names.append(try takeText(.attributeName))
                guard takeSymbol("]") else { throw unexpected(.closingBracket) }
            } else if names.isEmpty {
                throw unexpected(.attributeName)
            } else {
                return AttributePath(names)
            }
            guard names.count <= FilterLimits.attributeNamesMax else { throw fault(.tooManyNames, at: start) }
        }
    }

    private mutating func parseTest(_ asked: FilterOperator) throws(FilterFault) -> AttributeTest {
        switch asked {
        case .exists: return .exists
        case .missing: return .missing
        case .startsWith: return .startsWith(try takeText())
        case .has: return .has(try takeScalar())
        case .equal: return .among([try takeScalar()])
        case .notEqual: return .notAmong([try takeScalar()])
        case .among: return .among(try takeList { (parser) throws(FilterFault) in try parser.takeScalar() })
        case .notAmong: return .notAmong(try takeList { (parser) throws(FilterFault) in try parser.takeScalar() })
        case .less, .atMost, .more, .atLeast:
            let start = token
            guard let order = asked.order else { throw unexpected(.test) }
            switch try takeScalar(.numberOrText) {
            case .number(let number): return .number(order, number)
            case .text(let text): return .text(order, text)
            case .bool: throw fault(.unexpected(start.piece, expected: [.numberOrText]), at: start)
            }
        }
    }

    private mutating func takeScalar(_ expected: FilterExpectation = .value) throws(FilterFault) -> FilterScalar {
        let isNegative = takeSymbol("-")
        switch token.kind {
        case .number(let digits):
            guard let number = DecimalNumber(isNegative ? "-" + digits : digits) else { throw unexpected(expected) }
            advance()
            return .number(number)
        case .text(let text) where !isNegative:
            advance()
            return .text(text)
        case .identifier("true") where !isNegative, .identifier("false") where !isNegative:
            defer { advance() }
            return .bool(token.kind == .identifier("true"))
        case .text, .identifier, .variable, .quantity, .symbol, .character, .end: throw unexpected(expected)
        }
    }
}

extension FilterOperator {
    fileprivate static let orders: [FilterOperator] = [.less, .atMost, .more, .atLeast]
    fileprivate static let texts: [FilterOperator] = [
        .equal, .notEqual, .among, .notAmong, .startsWith, .exists, .missing,
    ]
}

extension FilterExpression {
    /// The names that a condition can begin with.
    package static let fields =
        TextField.allCases.map(\.name) + ["provider", "environment", "tags"]
        + InstantField.allCases.map(\.rawValue) + ["attributes"]
}

extension FilterInstant {
    package static let now = FilterInstant.fromNow(0, .days)
}

extension FilterInstant.Unit {
    fileprivate var countMax: Int64 { FilterLimits.fromNowMax.components.seconds / duration.components.seconds }
}
