/// How a conversation with PostgreSQL failed, and whether its transaction may stand all the same.
///
/// Holds names and codes only, never a value: messages and DETAIL lines of the server are not read at all.
package enum PostgresError: Error, Equatable, Sendable {
    /// The server said no. The transaction is rolled back.
    case refused(Refusal)
    /// `statement_timeout` or our own timer. The transaction is rolled back, or will be: its COMMIT never left.
    case deadlinePassed
    /// The connection broke before a COMMIT left: the transaction is rolled back for certain.
    case connectionLost
    /// The COMMIT left, and no answer came. Only a read can tell what stands.
    case commitUnknown
    /// There is no server to talk to. Nothing was sent.
    case unavailable(UnavailableReason)
    /// Every connection was busy for too long, or too many callers wait already. Nothing was sent.
    case poolExhausted
    /// The caller's task was cancelled while it waited for a connection. Nothing was sent.
    case cancelled
    /// The answer is not what the statement promises: another type, a null, data that is short or malformed.
    case unexpectedShape(statement: String, column: Int)
    /// The settings can't be used. Says what is wrong, not what stands there.
    case settingsInvalid(String)
}

/// A server's refusal of one statement.
package struct Refusal: Equatable, Sendable {
    package let sqlState: SQLState
    /// The statement's name; empty for one without.
    package let statement: String
    /// The constraint that said no, by name.
    package let constraint: String?
    /// Where in the SQL text, counted in characters from 1.
    package let position: Int?

    package init(sqlState: SQLState, statement: String, constraint: String? = nil, position: Int? = nil) {
        self.sqlState = sqlState
        self.statement = statement
        self.constraint = constraint
        self.position = position
    }
}

/// Why there is no connection.
package enum UnavailableReason: Equatable, Sendable {
    /// No server answered in time, or what answered does not speak PostgreSQL's protocol.
    case unreachable
    /// The resolver doesn't know the host.
    case nameUnknown
    /// The server answered and turned us away: starting up, too many connections, wrong password, no such database.
    case rejected(SQLState)
    /// Our own side is closing.
    case shuttingDown

    /// Whether waiting helps. A wrong password stays wrong.
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

    /// Two transactions got into each other's way; the same one may pass at once.
    package var isConflict: Bool { sqlState == .serializationFailure || sqlState == .deadlockDetected }

    package var mayHaveCommitted: Bool { self == .commitUnknown }

    /// Whether the same transaction may pass later, and nothing of it stands now.
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
    /// Resources (53), the operator (57), a lock that was taken, a read-only server after a fail-over, or a plan
    /// that a migration made stale.
    fileprivate var isOfTheMoment: Bool {
        sqlState.isOfClass("53") || sqlState.isOfClass("57") || sqlState == .lockNotAvailable
            || sqlState == .readOnlyTransaction || leavesStalePlans
    }

    /// The connection's prepared statements no longer fit the database: it is closed, and the next one prepares anew.
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
    fileprivate var text: String {
        switch self {
        case .unreachable: "no answer"
        case .nameUnknown: "host name unknown"
        case .rejected(.invalidPassword): "wrong user or password"
        case .rejected(.invalidAuthorization): "this user may not connect"
        case .rejected(.databaseMissing): "no such database"
        case .rejected(.cannotConnectNow): "starting up or shutting down"
        case .rejected(.tooManyConnections): "too many connections"
        case .rejected(let state): "turned away with SQLSTATE \(state)"
        case .shuttingDown: "closing"
        }
    }
}
