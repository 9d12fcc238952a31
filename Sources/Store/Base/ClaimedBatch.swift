import Postgres
import Synchronization

/// How many rows a transaction had claimed together when it failed over one of them. What is behind that one goes on with
/// fewer at once, until it is alone.
final class ClaimedBatch: Sendable {
    /// No row of a group is waited for longer: the others would wait as long.
    static let lockTimeout: Duration = .milliseconds(500)
    static let options = TransactionOptions(lockTimeout: lockTimeout)
    /// Once one has been waited for that long, and only it is looked for which it is.
    static let lockTimeoutThen: Duration = .milliseconds(20)

    private struct Claim {
        var fewer: Int?
        var isUrgent = false
    }

    private let claim = Mutex(Claim())

    func note(_ count: Int, isUrgent: Bool) {
        claim.withLock { $0 = Claim(fewer: count > 1 ? count / 2 : nil, isUrgent: isUrgent) }
    }

    /// The claimed row at this place, from 0, can't be read: those before it can.
    func noteUnreadable(at place: Int) { claim.withLock { $0.fewer = place > 0 ? place : nil } }

    /// How many to try at once next; nil: the first by itself.
    var fewer: Int? { claim.withLock { $0.fewer } }

    /// How long the first one is waited for by itself; nil: as long as it takes. A broadcast's rows are held by others now
    /// and then, and it may wait; what is transactional has others of its kind behind it.
    var lockTimeout: Duration? { claim.withLock { $0.isUrgent ? Self.lockTimeout : nil } }
}

/// Why several rows could not be worked on in one transaction.
struct GroupFault: Error {
    let fault: StoreFault
    /// Each of them by itself may pass.
    let isOverARow: Bool

    init(_ error: PostgresError) {
        fault = StoreFault(error)
        isOverARow = fault.isAboutTheRow || error.sqlState == .lockNotAvailable
    }
}

/// As `translating`, of what is done for several rows at once.
func translatingGroup<Answer>(
    _ body: () async throws(PostgresError) -> Answer
) async throws(GroupFault) -> Answer {
    do { return try await body() } catch { throw GroupFault(error) }
}
