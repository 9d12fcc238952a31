/// The seconds after which a retry is wise (`Problem.retryAfterSeconds`).
package enum RetryHint {
    /// A restart of PostgreSQL takes about so long.
    package static let databaseUnavailable = 5
    /// A person has to act first.
    package static let databaseImpaired = 30
    package static let databaseBusy = 1
    package static let overloaded = 1
    /// Many portions of a node are removed in this time.
    package static let nodeRemoval = 2
    /// Some of a thousand messages finish in this time.
    package static let backlogFull = 10
    /// A followed message may finish in this time.
    package static let streams = 10
}
