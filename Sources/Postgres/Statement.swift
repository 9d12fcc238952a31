/// SQL with a name. Prepared once per connection; the name stands in errors and in nothing else.
package struct Statement: Sendable {
    /// Empty: parsed at each use.
    package let name: String
    package let sql: String

    /// - Parameter name: one name, one SQL text: a connection keeps what it prepared under it.
    package init(_ name: String, _ sql: String) {
        precondition(!name.isEmpty)
        self.name = name
        self.sql = sql
    }

    /// For what runs once.
    package init(unprepared sql: String) {
        name = ""
        self.sql = sql
    }
}

/// A statement with its values.
package struct Query: Sendable {
    package let statement: Statement
    package let parameters: Parameters

    package init(_ statement: Statement, _ parameters: Parameters = Parameters()) {
        self.statement = statement
        self.parameters = parameters
    }

    package init(_ statement: Statement, _ build: (inout Parameters) -> Void) {
        var parameters = Parameters()
        build(&parameters)
        self.init(statement, parameters)
    }
}
