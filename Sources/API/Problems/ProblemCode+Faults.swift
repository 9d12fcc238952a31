// Failures for which the request is not at fault.
extension ProblemCode {
    static let faults = ProblemChapter(
        "Not the request's fault",
        [databaseUnavailable, databaseBusy, outcomeUnknown, overloaded, notReady, vaultFailed, internalError])

    package static let databaseUnavailable = ProblemCode(
        "database_unavailable", 503, "The database can't be reached",
        cause: """
            PostgreSQL is down, starting, or has no connection free. Nothing was changed; of an import, only \
            what follows `resume_after` is missing.
            """,
        remedy: "repeat the request after `Retry-After`.")

    package static let databaseBusy = ProblemCode(
        "database_busy", 503, "The database is busy",
        cause: """
            PostgreSQL did not answer in time (it has too much to do, or stands still), or a lock was held for \
            too long. Nothing was changed; of an import, only what follows `resume_after` is missing.
            """,
        remedy: "repeat the request after `Retry-After`.")

    package static let outcomeUnknown = ProblemCode(
        "outcome_unknown", 503, "Whether it took effect is unknown",
        cause: "the connection to the database broke between the commit and its confirmation.",
        remedy: """
            where `Retry-After` stands, repeat the request as it was: twice does no harm. Without it (a POST \
            without an `Idempotency-Key`), look first; a repetition may take effect a second time.
            """)

    package static let overloaded = ProblemCode(
        "overloaded", 503, "Too many requests at once",
        cause: """
            as many request bodies of all apps together are held as memory is set aside for (what one app \
            holds alone is `share_used_up`), as many keys or lists are being read as may be at \
            once, or messages are followed 1,024 times on this process.
            """,
        remedy: "repeat the request after `Retry-After`; send fewer at once.")

    package static let notReady = ProblemCode(
        "not_ready", 503, "Not ready to serve",
        cause: "`/readyz` found the database unreachable or not migrated, or the process is stopping.",
        remedy: "send requests to another process; see the detail.")

    package static let vaultFailed = ProblemCode(
        "vault_failed", 500, "The vault does not open",
        cause: "a secret could not be sealed or opened: the master key is not the one that sealed it.",
        remedy: "the operator restores the master key.")

    package static let internalError = ProblemCode(
        "internal_error", 500, "Something is wrong on our side",
        cause: "something stored could not be understood, or a rule of ours was broken.",
        remedy: "the operator finds the cause in the log; please report it.")
}
