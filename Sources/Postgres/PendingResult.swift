import CPostgres

/// The owner of one PGresult until it is read, or becomes a `ResultSet`.
@safe struct PendingResult: ~Copyable {
    private let result: OpaquePointer

    enum Kind {
        case rows
        case done
        case sync
        /// The command was not executed, because an earlier one of the pipeline was refused.
        case skipped
        case refused
        /// COPY, which this module doesn't speak, or a state that libpq has not had so far.
        case other
    }

    init(adopting result: OpaquePointer) { unsafe self.result = unsafe result }

    deinit { unsafe PQclear(result) }

    consuming func resultSet(of statement: String) -> ResultSet {
        let result = unsafe self.result
        discard self
        return unsafe ResultSet(adopting: result, statement: statement)
    }

    var kind: Kind {
        switch unsafe PQresultStatus(result) {
        case PGRES_TUPLES_OK: .rows
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .done
        case PGRES_PIPELINE_SYNC: .sync
        case PGRES_PIPELINE_ABORTED: .skipped
        case PGRES_FATAL_ERROR: .refused
        default: .other
        }
    }

    var commandTag: String { unsafe String(cString: PQcmdStatus(result)) }

    /// The server's refusal. nil if libpq itself made the error, or if the server ended the connection with it: callers
    /// then report the lost connection.
    func refusal(of statement: String) -> Refusal? {
        guard let code = field(Diagnostic.sqlState), field(Diagnostic.severity) == "ERROR" else { return nil }
        return Refusal(
            sqlState: SQLState(code), statement: statement, constraint: field(Diagnostic.constraint),
            position: field(Diagnostic.position).flatMap { Int($0) })
    }

    private func field(_ code: UInt8) -> String? {
        guard let text = unsafe PQresultErrorField(result, Int32(code)) else { return nil }
        return unsafe String(cString: text)
    }
}

/// The letters of libpq's PG_DIAG_... macros. Source: postgres_ext.h.
private enum Diagnostic {
    static let sqlState = UInt8(ascii: "C")
    static let severity = UInt8(ascii: "V")
    static let constraint = UInt8(ascii: "n")
    static let position = UInt8(ascii: "P")
}
