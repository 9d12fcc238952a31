import Model
import Postgres

/// The columns of a registration's profile, in the order of `RegistrationProfile.init(_ row:)`.
enum ProfileSQL {
    private static let texts = ProfileField.allCases.map(\.column)
    private static let names = texts + ["tags", "attributes"]

    static let columns = names.joined(separator: ", ")
    static func columns(of row: String) -> String { names.map { row + "." + $0 }.joined(separator: ", ") }

    /// The arrays that `Parameters.profiles` binds, in the order of the columns.
    static let arrays = (ProfileField.allCases.map { ":" + array(of: $0) } + [":tags", ":attributes"])
        .joined(separator: ", ")

    fileprivate static func array(of field: ProfileField) -> String { field.column + "s" }

    /// Sets the columns of `r` to those of `input`. Null attributes stay as they are.
    static let assignments =
        (texts.map { "\($0) = input.\($0)" }
        + ["tags = input.tags::text[]", "attributes = coalesce(input.attributes, r.attributes)"])
        .joined(separator: ", ")

    /// The columns' values of a new row, from `input`.
    static let inserted = (texts + ["tags::text[]", "coalesce(attributes, '{}')"]).joined(separator: ", ")
}

extension RegistrationProfile {
    init(_ row: inout Row) throws(PostgresError) {
        self.init()
        for field in ProfileField.allCases {
            if let text = try row.textOrNil() { self[field] = text }
        }
        (tags, attributes) = (try row.textArray(), try row.json())
    }
}

extension Parameters {
    /// Binds the arrays of `ProfileSQL.arrays`.
    ///
    /// - Parameter attributes: in place of the profiles' own; nil: those that are stored.
    mutating func profiles(_ profiles: [RegistrationProfile], attributes: [[UInt8]?]) {
        for field in ProfileField.allCases {
            array(ProfileSQL.array(of: field), .text, count: profiles.count) {
                if let text = profiles[$0][field] { $1.text(text) } else { $1.null() }
            }
        }
        array("tags", .text, count: profiles.count) { $1.textBytes(ArrayLiteral.encode(profiles[$0].tags)) }
        jsonArray("attributes", attributes)
    }
}
