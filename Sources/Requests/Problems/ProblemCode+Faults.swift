extension ProblemCode {
    static let faults = ProblemChapter(
        "Errors of the gateway",
        [
            databaseUnavailable, databaseReadOnly, databaseFull, databaseIOError, databaseBusy, outcomeUnknown,
            overloaded, notReady, vaultFailed, internalError,
        ])

    package static let databaseUnavailable = ProblemCode(
        "database_unavailable", 503, "The database can't be reached",
        cause: """
            PostgreSQL is down, is starting, or has no free connection. Nothing was changed; of an import only the \
            lines after `resume_after` are missing.
            """,
        remedy: "repeat the request after `Retry-After`.")

    package static let databaseReadOnly = ProblemCode(
        "database_read_only", 503, "The database is read-only",
        cause: """
            PostgreSQL accepts no writes: it is a standby, or `default_transaction_read_only` is on. Nothing was \
            changed; of an import only the lines after `resume_after` are missing.
            """,
        remedy: """
            repeat the request after `Retry-After`. The operator points the gateway at the primary, or turns the \
            setting off.
            """)

    package static let databaseFull = ProblemCode(
        "database_full", 503, "The database's disk is full",
        cause: """
            PostgreSQL has no space left on its disk. Nothing was changed; of an import only the lines after \
            `resume_after` are missing.
            """,
        remedy: "repeat the request after `Retry-After`. The operator frees space or enlarges the disk.")

    package static let databaseIOError = ProblemCode(
        "database_io_error", 503, "The database's disk fails",
        cause: """
            PostgreSQL could not read or write a file. Nothing was changed; of an import only the lines after \
            `resume_after` are missing.
            """,
        remedy: "repeat the request after `Retry-After`. The operator checks the disk of the database server.")

    package static let databaseBusy = ProblemCode(
        "database_busy", 503, "The database is busy",
        cause: """
            PostgreSQL did not answer in time, or a lock was held for too long. Nothing was changed; of an import \
            only the lines after `resume_after` are missing.
            """,
        remedy: "repeat the request after `Retry-After`.")

    package static let outcomeUnknown = ProblemCode(
        "outcome_unknown", 503, "It is unknown whether the request took effect",
        cause: "the connection to the database broke between the commit and its confirmation.",
        remedy: """
            if the answer has `Retry-After`, repeat the same request: it takes effect once. Without it (a POST \
            without an `Idempotency-Key`), first check whether it took effect; a repetition may take effect a second \
            time.
            """)

    package static let overloaded = ProblemCode(
        "overloaded", 503, "Too many requests at once",
        cause: """
            a limit of this process is reached. Request bodies of all apps together use all the memory that is set \
            aside for them (`share_used_up` is the limit of one app), or answers that clients have not read do. Or \
            too many keys or lists are being read at once, or messages are followed 1,024 times.
            """,
        remedy: "repeat the request after `Retry-After`, and send fewer requests at once.")

    package static let notReady = ProblemCode(
        "not_ready", 503, "The process is not ready",
        cause: """
            `/readyz` found that the database is unreachable or not migrated, or that the process is stopping. A \
            database that is read-only or full has a code of its own.
            """,
        remedy: "send requests to another process. The detail says what is missing.")

    package static let vaultFailed = ProblemCode(
        "vault_failed", 500, "A secret can't be decrypted",
        cause: "a secret could not be encrypted or decrypted: the master key is not the one that encrypted it.",
        remedy: "the operator restores the master key.")

    package static let internalError = ProblemCode(
        "internal_error", 500, "Internal error",
        cause: "stored data could not be read, or an internal check failed.",
        remedy: "report the error. The operator finds the cause in the log.")
}
