import Postgres

/// The reason why the store did not do what it was asked. It says whether a retry is wise, and never holds a value.
package enum StoreFault: Error, Equatable, Sendable {
    /// No database, every connection busy, or the connection broke before the commit. Nothing is written; retry later.
    case unavailable
    /// The database answers, and can't be written to or read until an operator repairs it. Nothing is written; retry
    /// later.
    case impaired(DatabaseCondition)
    /// A lock was held for too long, transactions conflicted again and again, or the statement exceeded its deadline.
    /// Nothing is written; retry soon.
    case contended
    /// The COMMIT was sent and no answer came. Read again, or repeat what is a compare-and-set.
    case commitUnknown
    /// Stored data forbids it. A retry is useless.
    case conflict(StoreConflict)
    /// A constraint or a type refused the values: validation should have. A retry is useless.
    case invalid(constraint: String)
    /// The app is gone.
    case unknownApp
    /// Stored data has no meaning for this program. The text names the statement or column, and the message or parcel,
    /// never what they hold.
    case damaged(String)
    /// PostgreSQL refuses the program's statement itself: the role lacks a right, a pooler lends sessions to others, or
    /// somebody changed the tables. Nothing is written; retry once the operator has repaired it. The text names the
    /// statement and its SQLSTATE.
    case unsuited(String)
    /// The caller's task was cancelled while it waited for a connection. Nothing is written.
    case cancelled
}

package enum StoreConflict: Equatable, Sendable {
    case slugTaken
    case keyNameTaken
    case other(constraint: String)
}

extension StoreConflict {
    fileprivate init(constraint: String) {
        self =
            switch constraint {
            case "apps_slug_key": .slugTaken
            case "api_keys_name": .keyNameTaken
            default: .other(constraint: constraint)
            }
    }
}

extension StoreFault: CustomStringConvertible {
    /// The text for the log.
    package var description: String {
        switch self {
        case .unavailable: "the database can't be reached"
        case .impaired(let condition): condition.sentence
        case .contended: "the database did not answer in time, or another session holds a lock"
        case .commitUnknown: "the connection was lost before the database confirmed the commit"
        case .conflict(.slugTaken): "the slug is taken"
        case .conflict(.keyNameTaken): "the key's name is taken"
        case .conflict(.other(let constraint)): "it conflicts with stored data (\(constraint))"
        case .invalid(let constraint): "the database refuses the values (\(constraint))"
        case .unknownApp: "the app no longer exists"
        case .damaged(let place): "stored data is damaged: \(place)"
        case .unsuited(let statement):
            "PostgreSQL refuses a statement (\(statement)): a right is missing, or a pooler is in between"
        case .cancelled: "cancelled before it was carried out"
        }
    }
}

extension StoreFault {
    /// The constraint that bounds an app's routes, as `.invalid` names it: the app has too many topics.
    package static let routesPerApp = "routes_per_app"
    /// Far more topics than an app has, and few enough that a poll of the routes takes milliseconds.
    package static let routesPerAppMax = 1_000

    /// Whether the same call may pass later, with nothing of it written now.
    package var isTransient: Bool {
        switch self {
        case .unavailable, .impaired, .contended, .unsuited: true
        case .commitUnknown, .conflict, .invalid, .unknownApp, .damaged, .cancelled: false
        }
    }

    /// Whether the database can do no work at all now. Another statement would fail too.
    var isOutage: Bool {
        switch self {
        case .unavailable, .impaired: true
        case .contended, .commitUnknown, .conflict, .invalid, .unknownApp, .damaged, .unsuited, .cancelled: false
        }
    }

    init(_ error: PostgresError) {
        if let condition = error.condition {
            self = .impaired(condition)
            return
        }
        switch error {
        case .connectionLost, .unavailable, .poolExhausted, .settingsInvalid: self = .unavailable
        case .deadlinePassed: self = .contended
        case .commitUnknown: self = .commitUnknown
        case .cancelled: self = .cancelled
        case .unexpectedShape(let statement, let column): self = .damaged("\(statement), column \(column)")
        case .refused(let refusal): self.init(refusal)
        }
    }

    /// Not supported, an unknown or a double prepared statement, and syntax, rights or names.
    private static let classesOfStatement = ["0A", "26", "42"]

    private init(_ refusal: Refusal) {
        let constraint = refusal.constraint ?? refusal.sqlState.code
        switch refusal.sqlState {
        case .serializationFailure, .deadlockDetected, .lockNotAvailable, .queryCanceled, .idleInTransactionTimeout:
            self = .contended
        case .tooManyConnections, .adminShutdown, .crashShutdown, .cannotConnectNow: self = .unavailable
        case .uniqueViolation, .exclusionViolation: self = .conflict(StoreConflict(constraint: constraint))
        case .foreignKeyViolation:
            // Every foreign key of ours that a caller's value can violate leads to the app, directly or by its routes.
            self = .unknownApp
        case let state where state.isOfClass("53") || state.isOfClass("58"):
            // Out of memory or another resource: the operator repairs it, and the work waits.
            self = .unavailable
        case let state where state.isOfClass("22") || state.isOfClass("23"): self = .invalid(constraint: constraint)
        case let state where Self.classesOfStatement.contains(where: state.isOfClass):
            self = .unsuited("\(refusal.statement), SQLSTATE \(state.code)")
        case let state: self = .damaged("\(refusal.statement), SQLSTATE \(state.code)")
        }
    }
}

/// Returns the answer of one call to PostgreSQL, whose error it translates to `StoreFault`.
package func translated<Answer>(
    _ answer: @autoclosure () async throws(PostgresError) -> Answer
) async throws(StoreFault) -> Answer {
    do { return try await answer() } catch { throw StoreFault(error) }
}

/// Runs several calls to PostgreSQL and translates their errors to `StoreFault`.
package func translating<Answer>(_ body: () async throws(PostgresError) -> Answer) async throws(StoreFault) -> Answer {
    do { return try await body() } catch { throw StoreFault(error) }
}

/// Returns the value, or throws `.damaged` for a stored number that has none.
func meaning<Value>(_ value: Value?, _ name: StaticString) throws(StoreFault) -> Value {
    guard let value else { throw .damaged("\(name)") }
    return value
}
