import Credentials
import JSON
import Postgres
import Requests
import Store

/// Translates the faults of lower modules for the client, with one exhaustive switch for each.
extension Problem {
    package init(_ fault: CredentialFault, _ repetition: Repetition) {
        func tryAgain(_ code: ProblemCode) -> Problem {
            Problem(code, fault.description, retryAfterSeconds: RetryHint.overloaded)
        }
        self =
            switch fault {
            case .store(let fault): Problem(fault, repetition)
            case .unusable(let fault): Problem(fault)
            case .unknownCredential: Problem(.unknownCredential, fault.description)
            case .hasNoSibling: Problem(.invalidValue, fault.description, at: .root / "environment")
            case .overloaded, .openingTooSlow: tryAgain(.overloaded)
            case .shareUsedUp: tryAgain(.shareUsedUp)
            case .vault: Problem(.vaultFailed, fault.description)
            }
    }
}

/// The effect of a repetition, which a client has to know if the fate of its request is unknown.
package enum Repetition {
    case reads
    /// It has no further effect.
    case isIdempotent
    /// It finds, by its Idempotency-Key, the effect of the first request, if there is one.
    case isKeyed
    /// It may have the effect a second time.
    case mayDouble
}

/// Asks a store, and translates its fault for the client.
func translating<Value>(
    _ repetition: Repetition, _ answer: @autoclosure () async throws(StoreFault) -> Value
) async throws(Problem) -> Value { do { return try await answer() } catch { throw Problem(error, repetition) } }

extension Problem {
    package init(_ fault: StoreFault, _ repetition: Repetition) {
        switch fault {
        case .unavailable:
            self.init(
                .databaseUnavailable, "The database can't be reached. Nothing was changed. Try again.",
                retryAfterSeconds: RetryHint.databaseUnavailable, cause: "unavailable")
        case .impaired(let condition): self.init(condition)
        case .contended:
            self.init(
                .databaseBusy,
                "The database did not answer in time, or another request held a lock for too long. Nothing was changed."
                    + " Try again.",
                retryAfterSeconds: RetryHint.databaseBusy, cause: "contended")
        case .cancelled:
            self.init(
                .databaseUnavailable,
                "The request was cancelled before it took effect. Nothing was changed. Try again.",
                retryAfterSeconds: RetryHint.databaseBusy)
        case .commitUnknown: self = .outcomeUnknown(repetition)
        case .conflict(.slugTaken):
            self.init(.slugTaken, "Another app has this slug; choose another one.", at: .root / "slug")
        case .conflict(.keyNameTaken):
            self.init(
                .keyNameTaken,
                "A key with this name already exists. Choose another name. If the answer with that key was lost, "
                    + "revoke the key and create it again.", at: .root / "name")
        case .conflict(.other(let constraint)):
            self.init(
                .conflict, "Stored data conflicts with the request. Read the stored data, and change the request.",
                cause: "constraint \(constraint)")
        case .invalid(StoreFault.routesPerApp):
            self.init(
                .tooManyTopics,
                "The app already has \(StoreFault.routesPerAppMax) topics. A topic is the bundle id of an app, perhaps "
                    + "with a suffix for its kind of push. Use the existing topics.",
                at: .root / "topic")
        case .invalid(let constraint):
            self.init(
                .invalidValue, "The database can't store one of the values. Check for unusual texts and numbers.",
                cause: "constraint \(constraint)")
        case .unknownApp: self = .unknownApp
        case .unsuited(let statement):
            self.init(
                .internalError,
                "The database refuses this program's statement. The operator finds the reason with carillon doctor.",
                cause: "refused: \(statement)")
        case .damaged(let place):
            self.init(
                .internalError, "Stored data could not be read. The operator finds the place in the log.",
                cause: "damaged: \(place)")
        }
    }

    package init(_ condition: DatabaseCondition) {
        let (code, sentence): (ProblemCode, String) =
            switch condition {
            case .readOnly: (.databaseReadOnly, "The database is read-only.")
            case .full: (.databaseFull, "The database's disk is full.")
            case .failing: (.databaseIOError, "The database's disk fails.")
            }
        self.init(
            code, "\(sentence) Nothing was changed. Try again once the operator has repaired it.",
            retryAfterSeconds: RetryHint.databaseImpaired, cause: condition.name)
    }

    private static func outcomeUnknown(_ repetition: Repetition) -> Problem {
        let advice =
            switch repetition {
            case .reads, .isIdempotent: "Send the request again: that is harmless."
            case .isKeyed: "Send the same request again with the same Idempotency-Key: it takes effect once."
            case .mayDouble:
                "The request may have taken effect, or not. Check before you repeat it: a repetition may take effect a "
                    + "second time. With an Idempotency-Key you could repeat it safely."
            }
        // A client that retries automatically must not cause the effect twice.
        let retryAfterSeconds = repetition == .mayDouble ? nil : RetryHint.databaseUnavailable
        return Problem(
            .outcomeUnknown, "The connection to the database broke before it confirmed. " + advice,
            retryAfterSeconds: retryAfterSeconds, cause: "commit unknown")
    }

    static let unknownApp = Problem(
        .unknownApp, "No app has this slug. GET /v1/apps lists the apps, POST /v1/apps creates one.")
}
