import Basis
import CommandLine
import Postgres
import PrivatePostgres
import Store

extension DoctorRules {
    private static let skewMax: Duration = .seconds(2)

    /// The finding if the private PostgreSQL does not run.
    ///
    /// - Parameters:
    ///   - fault: what would keep it from starting.
    ///   - service: the installed one, which may be the gateway that was meant; nil: there is none.
    package static func privateServer(
        fault: PrivateServerError?, in folder: String, service: PackagedService? = nil
    ) -> Finding {
        if let fault {
            return .bad("database", "the private PostgreSQL in \(folder) can't be started", fault.description)
        }
        let start =
            folder == service?.dataFolder
            ? "systemctl start carillon starts it; run the doctor again"
            : "carillon serve starts it; run the doctor beside it"
        let isOther = service.map { $0.dataFolder != folder } ?? false
        return .unchecked(
            "database", "the private PostgreSQL in \(folder) is not running, so it was not checked",
            start + (isOther ? ". The installed service is checked by sudo carillon doctor, in another folder" : ""))
    }

    /// - Parameters:
    ///   - outage: the reason why no connection is made; nil: one is made.
    ///   - error: the end of the first question.
    package static func unusable(
        _ outage: UnavailableReason?, _ error: PostgresError, at place: DatabasePlace
    ) -> Finding {
        .bad(
            "database", DatabaseErrorText.complaint(of: outage, or: "\(error)", at: place),
            DatabaseErrorText.remedy(of: outage, at: place))
    }

    package static func impaired(_ condition: DatabaseCondition) -> Finding {
        .bad("database", "\(condition.sentence): all work waits", DatabaseErrorText.remedy(of: condition))
    }

    /// - Parameter theirs: the database's clock, read between `asked` and `answered`.
    package static func clock(asked: WallInstant, answered: WallInstant, theirs: WallInstant) -> Finding {
        let skew = theirs < asked ? asked - theirs : theirs > answered ? theirs - answered : .zero
        guard skew > skewMax else { return .good("clock", "it agrees with the database's clock") }
        return .bad(
            "clock",
            "it differs from the database's clock by \(skew.components.seconds) s; providers reject tokens signed by a "
                + "wrong clock",
            "synchronise both (timedatectl set-ntp true)")
    }

    package static func schema(migrationsMissing count: Int) -> Finding {
        count == 0
            ? .good("schema", "it is up to date")
            : .note(
                "schema", "\(count) migrations are missing",
                "run carillon migrate, or start the gateway, which applies them")
    }

    /// - Parameter outage: the reason why no connection is made; nil: one is made.
    package static func schema(
        _ fault: MigrationFault, _ outage: UnavailableReason?, at place: DatabasePlace
    ) -> Finding {
        switch fault {
        case .changed, .unknown: .bad("schema", place.complaint(of: fault), place.remedy(of: fault))
        case .refused, .blocked, .store:
            .bad(
                "schema", DatabaseErrorText.complaint(of: outage, or: "\(fault)", at: place),
                DatabaseErrorText.remedy(of: outage, at: place))
        }
    }

    package static func unfit(_ fault: DatabaseFault) -> Finding { .bad("database", fault.sentence, fault.remedy) }

    package static func durability(_ found: DatabaseDurability) -> Finding {
        let raised = "synchronous_commit is \(found.commitLevel) by default; the gateway's sessions set it to on"
        guard found.dangers.isEmpty else {
            let off = found.dangers.map { "\($0) = off" }.joined(separator: ", ")
            return .note(
                "durability",
                "a crash of the database's machine may lose or damage accepted messages: \(off)"
                    + (found.isRaised ? "; \(raised)" : ""),
                "set " + found.dangers.map { "\($0) = on" }.joined(separator: ", ")
                    + " for the server (ALTER SYSTEM), and reload it")
        }
        return .good(
            "durability",
            found.isRaised
                ? raised
                : "an answer follows the disk (synchronous_commit is \(found.commitLevel))")
    }

    /// The parameters are settings of PostgreSQL, as SHOW writes them.
    package static func databaseLog(verbosity: String, parameters: String, parametersOnError: String) -> Finding {
        var loose: [String] = []
        if verbosity != "terse" { loose.append("log_error_verbosity = terse") }
        if parameters != "0" { loose.append("log_parameter_max_length = 0") }
        if parametersOnError != "0" { loose.append("log_parameter_max_length_on_error = 0") }
        guard !loose.isEmpty else { return .good("database's log", "it records neither tokens nor payloads") }
        return .note(
            "database's log", "it may record tokens and payloads with errors or statements",
            "set for the gateway's role: " + loose.joined(separator: ", "))
    }
}
