/// The failure of a conversation with PostgreSQL, and whether its transaction may have committed all the same.
///
/// Holds names and codes only, never a value. The server's messages and DETAIL lines are never read.
package enum PostgresError: Error, Equatable, Sendable {
    /// The server refused a statement. The transaction is rolled back.
    case refused(Refusal)
    /// `statement_timeout` or our own timer fired. The transaction is or will be rolled back: its COMMIT never left.
    case deadlinePassed
    /// The connection broke before a COMMIT left, so the transaction is certainly rolled back.
    case connectionLost
    /// The COMMIT left, and no answer came. Only a read can tell whether it happened.
    case commitUnknown
    /// No server can be reached. Nothing was sent.
    case unavailable(UnavailableReason)
    /// Every connection was busy for too long, or too many callers are waiting. Nothing was sent.
    case poolExhausted
    /// The caller's task was cancelled while it waited for a connection. Nothing was sent.
    case cancelled
    /// The answer doesn't match the statement: another type, a null, data that is short or malformed.
    case unexpectedShape(statement: String, column: Int)
    /// The settings can't be used. The text gives the reason and never quotes them.
    case settingsInvalid(String)
}

package struct Refusal: Equatable, Sendable {
    package let sqlState: SQLState
    /// The statement's name; empty if it has none.
    package let statement: String
    package let constraint: String?
    /// The place in the SQL text, counted in characters from 1.
    package let position: Int?

    package init(sqlState: SQLState, statement: String, constraint: String? = nil, position: Int? = nil) {
        (self.sqlState, self.statement, self.constraint, self.position) = (sqlState, statement, constraint, position)
    }
}

package enum UnavailableReason: Equatable, Sendable {
    /// No server answered in time, or the peer does not speak PostgreSQL's protocol.
    case unreachable
    /// The resolver doesn't know the host.
    case nameUnknown
    /// The server refused the connection: starting up, too many connections, wrong password, no such database.
    case rejected(SQLState)
    /// Our own side is closing.
    case shuttingDown

    /// Whether waiting may help. A wrong password stays wrong.
    package var passes: Bool {
        switch self {
        case .unreachable, .nameUnknown: true
        case .rejected(let state): !state.isOfClass("28") && !state.isOfClass("3D")
        case .shuttingDown: false
        }
    }
}

extension PostgresError {
    package var sqlState: SQLState? {
        switch self {
        case .refused(let refusal): refusal.sqlState
        case .unavailable(.rejected(let state)): state
        case .deadlinePassed, .connectionLost, .commitUnknown, .unavailable, .poolExhausted, .cancelled,
            .unexpectedShape, .settingsInvalid:
            nil
        }
    }

    /// Whether two transactions conflicted. The same one may pass at once.
    package var isConflict: Bool { sqlState == .serializationFailure || sqlState == .deadlockDetected }

    /// Whether the same transaction may pass later, and none of it is committed now.
    package var isTransient: Bool {
        switch self {
        case .refused(let refusal): isConflict || refusal.isOfTheMoment
        case .unavailable(let reason): reason.passes
        case .deadlinePassed, .connectionLost, .poolExhausted: true
        case .commitUnknown, .cancelled, .unexpectedShape, .settingsInvalid: false
        }
    }
}

extension Refusal {
    /// Whether the cause is temporary: resources (53), the operator (57), a lock, a read-only server after a fail-over,
    /// or a plan that a migration made stale.
    fileprivate var isOfTheMoment: Bool {
        sqlState.isOfClass("53") || sqlState.isOfClass("57") || sqlState == .lockNotAvailable
            || sqlState == .readOnlyTransaction || leavesStalePlans
    }

    /// Whether the connection's prepared statements no longer fit the database. It is then closed, and the next one
    /// prepares anew.
    var leavesStalePlans: Bool {
        sqlState == .featureNotSupported || sqlState == .undefinedStatement || sqlState == .duplicateStatement
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let refusal): refusal.description
        case .deadlinePassed: "deadline passed"
        case .connectionLost: "connection lost"
        case .commitUnknown: "commit unknown"
        case .unavailable(let reason): "database unavailable: \(reason.text)"
        case .poolExhausted: "every database connection is busy"
        case .cancelled: "cancelled"
        case .unexpectedShape(let statement, let column): "unexpected shape: statement \(statement), column \(column)"
        case .settingsInvalid(let complaint): "database settings: \(complaint)"
        }
    }
}

extension Refusal: CustomStringConvertible {
    package var description: String {
        var text = "SQLSTATE \(sqlState)"
        if !statement.isEmpty { text += ", statement \(statement)" }
        if let constraint { text += ", constraint \(constraint)" }
        if let position { text += ", at character \(position)" }
        return text
    }
}

extension UnavailableReason {
    package var text: String {
        switch self {
        case .unreachable: "no answer"
        case .nameUnknown: "host name unknown"
        case .rejected(.invalidPassword): "wrong user or password"
        case .rejected(.invalidAuthorization): "this user may not connect"
        case .rejected(.insufficientPrivilege): "this user may not connect to the database"
        case .rejected(.databaseMissing): "no such database"
        case .rejected(.notInPrerequisiteState): "the database accepts no connections"
        case .rejected(.cannotConnectNow): "starting up or shutting down"
        case .rejected(.tooManyConnections): "too many connections"
        case .rejected(let state): "rejected with SQLSTATE \(state)"
        case .shuttingDown: "closing"
        }
    }
}
