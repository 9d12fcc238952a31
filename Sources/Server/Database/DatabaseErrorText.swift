import Foundation
import Postgres
import Store

/// The database as an operator knows it.
package enum DatabasePlace: Sendable {
    case folder(String)
    case named(PostgresSettings)

    /// Without the password.
    var name: String {
        switch self {
        case .folder(let path): "in \(Self.absolute(path))"
        case .named(let settings): settings.urlWithoutPassword
        }
    }

    func complaint(of fault: MigrationFault) -> String {
        "the database \(name) was made by another version of Carillon (\(fault))"
    }

    /// Proposes nothing that deletes data if a newer version made the database.
    func remedy(of fault: MigrationFault) -> String {
        let version = "start the version that made it"
        guard case .changed = fault else { return version + ", or a newer one" }
        return switch self {
        case .folder(let path):
            "\(version), or, if nothing in it is needed, remove the folder \(Self.absolute(path)) and start again"
        case .named: "\(version), or, if nothing in it is needed, drop it, create it again and start again"
        }
    }

    private static func absolute(_ path: String) -> String {
        URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    }
}

/// Why a database can't be used, and what to do, for `serve`, `migrate` and the doctor.
enum DatabaseErrorText {
    static func of(_ error: PostgresError) -> String {
        switch error {
        case .settingsInvalid(let text): text
        case .unavailable(let reason): cause(of: reason)
        default: "\(error)"
        }
    }

    /// - Parameter outage: the reason why the last attempt to connect failed; nil: it succeeded.
    static func of(_ fault: MigrationFault, _ outage: UnavailableReason?, at place: DatabasePlace) -> String {
        switch fault {
        case .changed, .unknown: "\(place.complaint(of: fault)): \(place.remedy(of: fault))"
        case .refused(let statement, let state):
            DatabaseCondition(state).map { "\(complaint(of: $0, at: place)): \(remedy(of: $0))" }
                ?? "PostgreSQL refused a migration (\(statement), SQLSTATE \(state.code))"
        case .blocked(let wait):
            "the migration \(wait.name) could not lock its tables in \(wait.tries) tries: \(wait.whoHolds). "
                + "Nothing was changed: start again when they are free"
        case .store(let fault): "\(complaint(of: outage, or: "\(fault)", at: place)): \(remedy(of: outage, at: place))"
        }
    }

    static func complaint(of outage: UnavailableReason?, or error: String, at place: DatabasePlace) -> String {
        "the database \(place.name) can't be used: \(outage.map(cause) ?? error)"
    }

    static func remedy(of outage: UnavailableReason?, at place: DatabasePlace) -> String {
        guard case .named(let settings) = place else { return "read postgres.log in that folder" }
        func role() -> String { DatabaseFault.quoted(settings.login.role) }
        func database() -> String { DatabaseFault.quoted(settings.login.database) }
        return switch outage {
        case .rejected(.databaseMissing):
            "create it (createdb), or correct the database's name in CARILLON_DATABASE_URL"
        case .rejected(.invalidPassword): "correct the user and the password in CARILLON_DATABASE_URL"
        case .rejected(.invalidAuthorization):
            "create the role (createuser), let it log in (ALTER ROLE \(role()) LOGIN), correct CARILLON_DATABASE_URL, "
                + "or add a line for the role to pg_hba.conf"
        case .rejected(.insufficientPrivilege): "as a superuser: GRANT CONNECT ON DATABASE \(database()) TO \(role())"
        case .rejected(.notInPrerequisiteState): "as a superuser: ALTER DATABASE \(database()) ALLOW_CONNECTIONS true"
        case .rejected(.tooManyConnections):
            "raise max_connections or the role's CONNECTION LIMIT, or end other sessions"
        case .nameUnknown: "correct the host in CARILLON_DATABASE_URL, or check the name server (/etc/resolv.conf)"
        case .rejected, .unreachable, .shuttingDown, nil: "start it, and check CARILLON_DATABASE_URL"
        }
    }

    private static func cause(of reason: UnavailableReason) -> String {
        switch reason {
        case .unreachable: "no PostgreSQL server answers at this address"
        case .nameUnknown: "the host's name is not known"
        case .rejected(.databaseMissing): "PostgreSQL has no database of this name"
        case .rejected(.invalidPassword): "PostgreSQL refuses the user or the password"
        case .rejected(.invalidAuthorization):
            "PostgreSQL has no such role, or its pg_hba.conf does not let the role in"
        case .rejected(.insufficientPrivilege): "the role may not connect to the database"
        case .rejected(.notInPrerequisiteState): "the database accepts no connections"
        case .rejected(.tooManyConnections): "PostgreSQL has no free connection"
        case .rejected(.cannotConnectNow): "PostgreSQL is starting or stopping"
        case .rejected(let state): "PostgreSQL rejects the connection (SQLSTATE \(state.code))"
        case .shuttingDown: "it is shutting down"
        }
    }

    private static func complaint(of condition: DatabaseCondition, at place: DatabasePlace) -> String {
        "\(condition.sentence), and can't be migrated (\(place.name))"
    }

    static func remedy(of condition: DatabaseCondition) -> String {
        switch condition {
        case .readOnly: "let CARILLON_DATABASE_URL name the primary server, or turn default_transaction_read_only off"
        case .full: "free space on the disk of the database server, or enlarge it"
        case .failing: "look at the logs of PostgreSQL and of its machine's kernel (dmesg), and replace the disk"
        }
    }
}
