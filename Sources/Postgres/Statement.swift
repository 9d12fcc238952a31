/// SQL with a name, prepared once per connection. The name otherwise only appears in errors.
///
/// Parameters stand in the text by name, such as `:app`, as often as needed. `::text` is a cast.
package struct Statement: Sendable {
    /// The name. A statement with an empty one is parsed at each use.
    package let name: String
    /// The text as the server gets it, with `$1` for the first parameter.
    package let sql: String
    /// The names of the parameters: `$1`, `$2` and so on.
    let parameterNames: [String]

    /// - Parameter name: belongs to one SQL text only, because a connection keeps what it prepared under it.
    package init(_ name: String, _ text: String) {
        precondition(!name.isEmpty)
        self.init(name: name, text)
    }

    package init(unprepared text: String) { self.init(name: "", text) }

    private init(name: String, _ text: String) {
        var numbering = ParameterNumbering(text)
        numbering.run()
        self.name = name
        sql = String(decoding: numbering.output, as: UTF8.self)
        parameterNames = numbering.names
    }
}

package struct Query: Sendable {
    package let statement: Statement
    package let parameters: Parameters

    /// - Parameter parameters: one value for each name in the statement. Another set of names is a programming error.
    package init(_ statement: Statement, _ parameters: Parameters = Parameters()) {
        self.statement = statement
        self.parameters = parameters.ordered(for: statement)
    }

    package init(_ statement: Statement, _ build: (inout Parameters) -> Void) {
        var parameters = Parameters()
        build(&parameters)
        self.init(statement, parameters)
    }
}
