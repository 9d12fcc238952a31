/// The reason why a server that answers can't do its work until an operator repairs it.
package enum DatabaseCondition: String, Equatable, Sendable, CaseIterable {
    /// Nothing can be written: the server is a standby, or `default_transaction_read_only` is on.
    case readOnly = "database_read_only"
    /// The server's disk has no space left.
    case full = "database_full"
    /// The server's disk fails to read or write.
    case failing = "database_io_error"

    /// nil: any other error.
    package init?(_ state: SQLState) {
        switch state {
        case .readOnlyTransaction: self = .readOnly
        case .diskFull: self = .full
        case .ioError: self = .failing
        default: return nil
        }
    }

    /// The stable name in logs and the API's problems.
    package var name: String { rawValue }

    /// A sentence without its capital and full stop.
    package var sentence: String {
        switch self {
        case .readOnly: "the database is read-only"
        case .full: "the database's disk is full"
        case .failing: "the database's disk fails"
        }
    }
}

extension PostgresError {
    package var condition: DatabaseCondition? { sqlState.flatMap { DatabaseCondition($0) } }
}
