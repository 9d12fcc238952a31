import Basis

/// PostgreSQL's error code: five characters, an open space.
/// Source: PostgreSQL 15, appendix A.
package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    /// The five characters as bytes, the first one highest.
    private let packed: UInt64

    /// Any text but five characters from A-Z and 0-9 becomes `unreadable`.
    package init(_ code: String) {
        let code = code.utf8
        let isCode = code.count == 5 && code.allSatisfy { $0.isDigit || $0.isCapital }
        packed = isCode ? code.reduce(0) { $0 << 8 | UInt64($1) } : 0
    }

    package var code: String {
        guard packed != 0 else { return "?????" }
        let bytes = stride(from: UInt64(32), through: 0, by: -8).map { UInt8(truncatingIfNeeded: packed >> $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
    package var description: String { code }

    /// Whether the first two characters, the class, are these.
    package func isOfClass(_ prefix: String) -> Bool { code.hasPrefix(prefix) }
}

extension SQLState {
    /// The text is not a code, so the peer is not PostgreSQL.
    package static let unreadable = SQLState("")

    package static let diskFull = SQLState("53100")
    package static let tooManyConnections = SQLState("53300")
    package static let ioError = SQLState("58030")
    package static let adminShutdown = SQLState("57P01")
    package static let crashShutdown = SQLState("57P02")
    package static let cannotConnectNow = SQLState("57P03")
    package static let queryCanceled = SQLState("57014")
    package static let idleInTransactionTimeout = SQLState("25P03")
    package static let lockNotAvailable = SQLState("55P03")
    package static let invalidPassword = SQLState("28P01")
    package static let invalidAuthorization = SQLState("28000")
    package static let databaseMissing = SQLState("3D000")
    package static let insufficientPrivilege = SQLState("42501")
    /// At a connect: the database accepts no connections.
    package static let notInPrerequisiteState = SQLState("55000")

    package static let serializationFailure = SQLState("40001")
    package static let deadlockDetected = SQLState("40P01")
    package static let inFailedTransaction = SQLState("25P02")
    package static let readOnlyTransaction = SQLState("25006")

    package static let foreignKeyViolation = SQLState("23503")
    package static let uniqueViolation = SQLState("23505")
    package static let exclusionViolation = SQLState("23P01")

    package static let undefinedStatement = SQLState("26000")
    package static let duplicateStatement = SQLState("42P05")
    /// Also "cached plan must not change result type": a migration changed the tables of a prepared statement.
    package static let featureNotSupported = SQLState("0A000")
}
