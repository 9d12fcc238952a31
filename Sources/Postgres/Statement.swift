/// SQL with a name, prepared once per connection. The name otherwise only appears in errors.
package struct Statement: Sendable {
    /// The name. A statement with an empty one is parsed at each use.
    package let name: String
    package let sql: String

    /// - Parameter name: belongs to one SQL text only, because a connection keeps what it prepared under it.
    package init(_ name: String, _ sql: String) {
        precondition(!name.isEmpty)
        self.name = name
        self.sql = sql
    }

    /// Creates a statement that is run once.
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
