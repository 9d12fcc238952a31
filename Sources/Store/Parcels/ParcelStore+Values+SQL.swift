import Content
import Model
import Postgres

/// The registrations' own values as texts: a column for each field of a message's template.
///
/// The statement's text is ours alone, so that nothing in a template can become SQL.
enum ValueSQL {
    /// Rows of the members that exist, by rising id. It is not prepared, because there are as many statements as
    /// templates.
    ///
    /// - Parameter valueCharactersMax: longer values are cut, at a length that no payload could take.
    static func query(_ keys: MemberKeys, _ fields: [DeviceField], valueCharactersMax: Int) -> Query {
        var parameters = Parameters()
        let member: String
        switch keys {
        case .range(let first, let last):
            parameters.int64(first)
            parameters.int64(last)
            member = "id BETWEEN $1 AND $2"
        case .walk(let first, let last, let wanted):
            parameters.int64(first)
            parameters.int64(last)
            parameters.bytes(wanted)
            member = "id BETWEEN $1 AND $2 AND get_bit($3, id - $1) = 1"
        case .each(let ids):
            parameters.int64Array(ids)
            member = "id = ANY ($1)"
        }
        var columns: [String] = []
        for field in fields { columns.append("left(\(text(of: field, &parameters)), \(valueCharactersMax))") }
        let statement = Statement(
            unprepared: """
                SELECT id, \(columns.joined(separator: ", ")) FROM registrations WHERE \(member) ORDER BY id
                """)
        return Query(statement, parameters)
    }

    private static func text(of field: DeviceField, _ parameters: inout Parameters) -> String {
        switch field {
        case .text(.installation): return "installation"
        case .text(.profile(let field)): return field.column
        // No template has it: `DeviceField.texts`.
        case .text(.topic): return "NULL::text"
        case .attribute(let path):
            // Only by names: a path of PostgreSQL would take "0" for a place in an array.
            var value = "attributes"
            for name in path.names {
                parameters.text(name)
                value += " -> $\(parameters.count)"
            }
            return "CASE WHEN jsonb_typeof(\(value)) IN ('string', 'number', 'boolean') THEN (\(value)) #>> '{}' END"
        }
    }
}
