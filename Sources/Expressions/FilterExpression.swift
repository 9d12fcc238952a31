import Basis
import Model

/// A condition on a registration's fields and attributes, joined by and, or and not.
///
/// Always two-valued. A condition on a missing field or attribute is false, and so is one that compares different
/// types, such as a number with a text; `not` of either is true. `!=` and `not in` are conditions of their own: they
/// require a value that is present and different. Texts are compared by their bytes.
package indirect enum FilterExpression: Equatable, Sendable {
    /// True if every member is true. Two or more.
    case all([FilterExpression])
    /// True if any member is true. Two or more.
    case any([FilterExpression])
    case not(FilterExpression)
    case condition(FilterCondition)
}

package enum FilterCondition: Equatable, Sendable {
    case text(TextField, TextTest)
    case provider(isAmong: Bool, [Provider])
    case environment(isAmong: Bool, [PushEnvironment])
    /// Compares `app_version`, number by number.
    case version(FilterOrder, VersionNumber)
    case instant(InstantField, FilterOrder, FilterInstant)
    case tag(String)
    case attribute(AttributePath, AttributeTest)
}

/// A field whose value is a text. Each but `installation` may be missing.
package enum TextField: Hashable, Sendable, NamedCase {
    case installation
    case profile(ProfileField)
    case topic

    package static let allCases = [installation] + ProfileField.allCases.map { profile($0) } + [topic]

    package var name: String {
        switch self {
        case .installation: "installation"
        case .profile(let field): field.name
        case .topic: "topic"
        }
    }
}

package enum TextTest: Equatable, Sendable {
    /// Equal to one of these; one or more.
    case among([String])
    /// Present, and equal to none of these; one or more.
    case notAmong([String])
    case startsWith(String)
    case exists
    case missing
}

/// A field whose value is a time. Never missing.
package enum InstantField: String, CaseIterable, Sendable {
    /// The last registration, which apps repeat at each start.
    case registeredAt = "registered_at"
    case createdAt = "created_at"
}

/// The path to a value in the attributes: member names, from the outside in; one or more. Arrays have no members.
package struct AttributePath: Hashable, Sendable {
    package let names: [String]

    package init(_ names: [String]) {
        precondition(!names.isEmpty)
        self.names = names
    }
}

/// A null attribute counts as missing.
package enum AttributeTest: Equatable, Sendable {
    /// Equal to one of these; one or more.
    case among([FilterScalar])
    /// Present, and equal to none of these; one or more.
    case notAmong([FilterScalar])
    case number(FilterOrder, DecimalNumber)
    /// Compares a text by its bytes: correct for dates in ISO 8601.
    case text(FilterOrder, String)
    case startsWith(String)
    case has(FilterScalar)
    case exists
    case missing
}

package enum FilterScalar: Equatable, Sendable {
    case text(String)
    case number(DecimalNumber)
    case bool(Bool)
}

package enum FilterOrder: String, CaseIterable, Sendable {
    case less = "<"
    case atMost = "<="
    case more = ">"
    case atLeast = ">="
}

/// A time, absolute or relative to now.
package enum FilterInstant: Equatable, Sendable {
    case fixed(WallInstant)
    /// This many units after now; negative: before.
    case fromNow(Int64, Unit)

    package enum Unit: String, CaseIterable, Sendable {
        // Not "m", which some read as months.
        case minutes = "min"
        case hours = "h"
        case days = "d"
        case weeks = "w"

        var duration: Duration {
            switch self {
            case .minutes: .seconds(60)
            case .hours: .seconds(3_600)
            case .days: .seconds(86_400)
            case .weeks: .seconds(604_800)
            }
        }
    }

    package func instant(now: WallInstant) -> WallInstant {
        switch self {
        case .fixed(let instant): instant
        case .fromNow(let count, let unit): now + unit.duration * Int(count)
        }
    }
}

/// The limits of one expression. They bound its cost per registration.
package enum FilterLimits {
    package static let textBytesMax = 4_096
    /// The nesting of parentheses and `not`.
    package static let depthMax = 16
    /// Each condition reads a value of every registration.
    package static let conditionsMax = 64
    /// Values in one list. Longer lists are audiences of their own: `users`, `installations`.
    package static let valuesMax = 256
    /// Equal to the depth that attributes may have.
    package static let attributeNamesMax = 8
    /// The distance from now, either way: a hundred years.
    package static let fromNowMax: Duration = .seconds(100 * 366 * 86_400)
    /// Equal to the longest version that is stored.
    package static let versionBytesMax = 64
}
