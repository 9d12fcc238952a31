import Basis
import Expressions
import JSON
import Postgres

/// A filter as a condition on the registration `r`. It is never null, and every value is a parameter.
///
/// The text contains only our own keywords and names, so nothing in a filter can become SQL. The condition must mean
/// what `FilterExpression` means, to the byte; StoreTests compare the two. It is a residual condition: it tests the
/// rows that a scan passes and selects none through an index. The bound on the scan bounds its cost.
struct FilterSQL {
    /// The condition, in parentheses.
    private(set) var condition = ""
    /// The joins that the condition needs. They follow `r` in the FROM clause.
    var joins: String {
        [readsActivity ? Self.activity : "", readsRoute ? Self.route : ""].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private var readsActivity = false
    private var readsRoute = false
    private let now: WallInstant

    private static let activity = """
        LEFT JOIN LATERAL (
            SELECT registered_at FROM registration_pulse WHERE registration_id = r.id LIMIT 1) AS pulse ON true
        """
    private static let route = """
        LEFT JOIN LATERAL (
            SELECT environment, topic FROM routes WHERE id = r.route_id LIMIT 1) AS route ON true
        """

    /// - Parameter parameters: the statement's parameters so far; the filter's are appended.
    init(_ expression: FilterExpression, now: WallInstant, adding parameters: inout Parameters) {
        self.now = now
        condition = "(\(sql(expression, &parameters)))"
    }

    private mutating func sql(_ expression: FilterExpression, _ parameters: inout Parameters) -> String {
        switch expression {
        case .all(let members): joined(members, " AND ", &parameters)
        case .any(let members): joined(members, " OR ", &parameters)
        case .not(let inner): "NOT (\(sql(inner, &parameters)))"
        // A comparison with a missing value is null in SQL, and so is its negation. IS TRUE makes it false.
        case .condition(let condition): "(\(sql(condition, &parameters))) IS TRUE"
        }
    }

    private mutating func joined(
        _ members: [FilterExpression], _ joiner: String, _ parameters: inout Parameters
    ) -> String {
        var parts: [String] = []
        for member in members { parts.append("(\(sql(member, &parameters)))") }
        return parts.joined(separator: joiner)
    }

    private mutating func sql(_ condition: FilterCondition, _ parameters: inout Parameters) -> String {
        switch condition {
        case .text(let field, let test): return sql(column(field), test, &parameters)
        case .provider(let isAmong, let providers):
            return among("r.provider", isAmong, parameters.place { $0.int16Array($1, providers.map(\.rawValue)) })
        case .environment(let isAmong, let environments):
            readsRoute = true
            let asked = parameters.place { $0.int16Array($1, environments.map(\.rawValue)) }
            return among("route.environment", isAmong, asked)
        case .version(let order, let version):
            let asked = parameters.place { $0.textArray($1, version.parts) }
            return "\(Self.version) \(order.rawValue) \(asked)::numeric[]"
        case .instant(let field, let order, let instant):
            let asked = instant.instant(now: now)
            return "\(column(field)) \(order.rawValue) \(parameters.place { $0.instant($1, asked) })"
        case .tag(let tag): return "\(parameters.place { $0.text($1, tag) }) = ANY (r.tags)"
        case .attribute(let path, let test): return sql(Self.value(at: path, &parameters), test, &parameters)
        }
    }

    private mutating func column(_ field: TextField) -> String {
        switch field {
        case .installation: return "r.installation"
        case .profile(let field): return "r.\(field.column)"
        case .topic:
            readsRoute = true
            return "nullif(route.topic, '')"
        }
    }

    private mutating func column(_ field: InstantField) -> String {
        switch field {
        case .createdAt: return "r.created_at"
        case .registeredAt:
            readsActivity = true
            return "pulse.registered_at"
        }
    }

    /// The leading numbers of the version, of any number of digits, without zeros at the end. PostgreSQL compares
    /// arrays number by number; of two that begin alike, the shorter comes first.
    private static let version = """
        string_to_array(
            regexp_replace(substring(r.app_version FROM '^[0-9]+(?:[.][0-9]+)*'), '(?:[.]0+)+$', ''), '.')::numeric[]
        """

    private func sql(_ column: String, _ test: TextTest, _ parameters: inout Parameters) -> String {
        switch test {
        case .among(let texts): among(column, true, parameters.place { $0.textArray($1, texts) })
        case .notAmong(let texts): among(column, false, parameters.place { $0.textArray($1, texts) })
        case .startsWith(let start): "starts_with(\(column), \(parameters.place { $0.text($1, start) }))"
        case .exists: "\(column) IS NOT NULL"
        case .missing: "\(column) IS NULL"
        }
    }

    private func among(_ value: String, _ isAmong: Bool, _ list: String) -> String {
        "\(value) \(isAmong ? "= ANY" : "<> ALL") (\(list))"
    }
}

extension FilterSQL {
    /// The value at names alone: a path of PostgreSQL would take "0" for a place in an array.
    private static func value(at path: AttributePath, _ parameters: inout Parameters) -> String {
        var value = "r.attributes"
        for name in path.names { value += " -> \(parameters.place { $0.text($1, name) })" }
        return "nullif(\(value), 'null')"
    }

    private func sql(_ value: String, _ test: AttributeTest, _ parameters: inout Parameters) -> String {
        switch test {
        case .among(let scalars): return among(value, true, parameters.place { $0.jsonArray($1, scalars.map(\.json)) })
        case .notAmong(let scalars):
            return among(value, false, parameters.place { $0.jsonArray($1, scalars.map(\.json)) })
        case .number(let order, let number):
            let asked = parameters.place { $0.json($1, Array(number.text.utf8)) }
            return "\(isOf("number", value)) AND \(value) \(order.rawValue) \(asked)"
        case .text(let order, let text):
            let asked = parameters.place { $0.text($1, text) }
            return "\(isOf("string", value)) AND (\(value) #>> '{}') COLLATE \"C\" \(order.rawValue) \(asked)"
        case .startsWith(let start):
            let asked = parameters.place { $0.text($1, start) }
            return "\(isOf("string", value)) AND starts_with(\(value) #>> '{}', \(asked))"
        // Arrays only: with `@>` a plain string would contain itself.
        case .has(let scalar):
            return "\(isOf("array", value)) AND \(value) @> \(parameters.place { $0.json($1, scalar.json) })"
        case .exists: return "\(value) IS NOT NULL"
        case .missing: return "\(value) IS NULL"
        }
    }

    private func isOf(_ type: String, _ value: String) -> String { "jsonb_typeof(\(value)) = '\(type)'" }
}

extension FilterScalar {
    fileprivate var json: [UInt8] {
        switch self {
        case .text(let text): JSONValue.string(text).bytes
        case .number(let number): Array(number.text.utf8)
        case .bool(let claim): JSONValue.bool(claim).bytes
        }
    }
}

extension Parameters {
    /// Adds a parameter under a new name and returns its place in the statement, such as `:v7`.
    ///
    /// The number is that of the parameter. Statements name none of their own parameters so.
    mutating func place(_ add: (inout Parameters, _ name: String) -> Void) -> String {
        let name = "v\(count + 1)"
        add(&self, name)
        return ":" + name
    }
}
