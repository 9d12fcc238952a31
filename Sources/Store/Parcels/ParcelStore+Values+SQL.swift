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
        let isMember = keys.condition(on: "id", adding: &parameters)
        let columns = fields.map { "left(\(text(of: $0, &parameters)), \(valueCharactersMax))" }
        let statement = Statement(
            unprepared: """
                SELECT id, \(columns.joined(separator: ", ")) FROM registrations WHERE \(isMember) ORDER BY id
                """)
        return Query(statement, parameters)
    }

    private static func text(of field: DeviceField, _ parameters: inout Parameters) -> String {
        switch field {
        case .text(.installation): return "installation"
        case .text(.profile(let field)): return field.column
        // No template has the topic: `DeviceField.texts`. Own values are no column of a registration.
        case .text(.topic), .own: return "NULL::text"
        case .attribute(let path):
            // Only by names: a path of PostgreSQL would take "0" for a place in an array.
            var value = "attributes"
            for name in path.names { value += " -> \(parameters.place { $0.text($1, name) })" }
            return "CASE WHEN jsonb_typeof(\(value)) IN ('string', 'number', 'boolean') THEN (\(value)) #>> '{}' END"
        }
    }
}
