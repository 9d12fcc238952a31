import Postgres
import Synchronization

/// The number of rows that a transaction had claimed together when it failed over one of them. The next try claims half
/// as many, until the bad row is alone.
final class ClaimedBatch: Sendable {
    /// The longest wait for a locked row of a group: the other rows of the group wait as long.
    static let lockTimeout: Duration = .milliseconds(500)
    static let options = TransactionOptions(lockTimeout: lockTimeout)
    /// The lock timeout of the tries after such a wait. They only find out which row is locked.
    static let lockTimeoutThen: Duration = .milliseconds(20)

    private struct Claim {
        var fewer: Int?
        var isUrgent = false
    }

    private let claim = Mutex(Claim())

    func note(_ count: Int, isUrgent: Bool) {
        claim.withLock { $0 = Claim(fewer: count > 1 ? count / 2 : nil, isUrgent: isUrgent) }
    }

    /// Notes that the claimed row at this place, from 0, can't be read. The rows before it can.
    func noteUnreadable(at place: Int) { claim.withLock { $0.fewer = place > 0 ? place : nil } }

    /// The number of rows for the next try; nil: the first row alone.
    var fewer: Int? { claim.withLock { $0.fewer } }

    /// The longest wait for the first row alone; nil: no limit. Others lock a broadcast's rows now and then, and a
    /// broadcast may wait. A transactional message would delay others of its kind.
    var lockTimeout: Duration? { claim.withLock { $0.isUrgent ? Self.lockTimeout : nil } }
}

/// The reason why several rows could not be worked on in one transaction.
struct GroupFault: Error {
    let fault: StoreFault
    /// True: each of the rows alone may pass.
    let isOverARow: Bool

    init(_ error: PostgresError) {
        fault = StoreFault(error)
        isOverARow = fault.isAboutTheRow || error.sqlState == .lockNotAvailable
    }
}

/// Like `translating`, for work on several rows at once.
func translatingGroup<Answer>(
    _ body: () async throws(PostgresError) -> Answer
) async throws(GroupFault) -> Answer {
    do { return try await body() } catch { throw GroupFault(error) }
}
