import Basis
import Model

/// What has to be true of a registration: conditions on its fields and attributes, joined by and, or and not.
///
/// Always two-valued. A condition on a field or attribute that is missing is false, and so is one that compares values of
/// different types, such as a number with a text; `not` of either is true. `!=` and `not in` are conditions of their own:
/// they ask for a value that is there, and another one. Texts are compared by their bytes.
package indirect enum FilterExpression: Equatable, Sendable {
    /// Each is true. Two or more.
    case all([FilterExpression])
    /// One is true. Two or more.
    case any([FilterExpression])
    case not(FilterExpression)
    case condition(FilterCondition)
}

/// One question about one field.
package enum FilterCondition: Equatable, Sendable {
    case text(TextField, TextTest)
    case provider(isAmong: Bool, [Provider])
    case environment(isAmong: Bool, [PushEnvironment])
    /// Of `app_version`, number by number.
    case version(FilterOrder, VersionNumber)
    case instant(InstantField, FilterOrder, FilterInstant)
    /// Has this tag.
    case tag(String)
    case attribute(AttributePath, AttributeTest)
}

/// A field whose value is a text. Any but `installation` may be missing.
package enum TextField: String, CaseIterable, Sendable {
    case installation
    case user
    case locale
    case timeZone = "time_zone"
    case appVersion = "app_version"
    case topic
}

package enum TextTest: Equatable, Sendable {
    /// One of these; one or more.
    case among([String])
    /// There, and none of these; one or more.
    case notAmong([String])
    case startsWith(String)
    case exists
    case missing
}

/// A field whose value is a time. Never missing.
package enum InstantField: String, CaseIterable, Sendable {
    /// When it was registered last, which apps do at each start.
    case registeredAt = "registered_at"
    case createdAt = "created_at"
}

/// Where a value lies in the attributes: names of members, from the outside in; one or more. Arrays have no members.
package struct AttributePath: Hashable, Sendable {
    package let names: [String]

    package init(_ names: [String]) {
        precondition(!names.isEmpty)
        self.names = names
    }
}

/// An attribute that is null is missing.
package enum AttributeTest: Equatable, Sendable {
    /// Equal to one of these; one or more.
    case among([FilterScalar])
    /// There, and equal to none of these; one or more.
    case notAmong([FilterScalar])
    /// A number.
    case number(FilterOrder, DecimalNumber)
    /// A text, ordered by its bytes: good for dates as ISO 8601 writes them.
    case text(FilterOrder, String)
    /// A text that begins so.
    case startsWith(String)
    /// An array with this element.
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

/// A time, as it is written or counted from now.
package enum FilterInstant: Equatable, Sendable {
    case fixed(WallInstant)
    /// So many units after now; negative: before.
    case fromNow(Int64, Unit)

    package enum Unit: String, CaseIterable, Sendable {
        // Not "m", which others read as months.
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

/// How much one expression may ask. What it costs is bounded by these, for each registration that is looked at.
package enum FilterLimits {
    /// In UTF-8.
    package static let textBytesMax = 4_096
    /// Of parentheses and `not` inside each other.
    package static let depthMax = 16
    /// Each reads a value of every registration.
    package static let conditionsMax = 64
    /// Of one list. Longer ones are audiences of their own: `users`, `installations`.
    package static let valuesMax = 256
    /// As deep as attributes may be.
    package static let attributeNamesMax = 8
    /// From now, either way: a hundred years.
    package static let fromNowMax: Duration = .seconds(100 * 366 * 86_400)
    /// As long as one that is kept.
    package static let versionBytesMax = 64
}
