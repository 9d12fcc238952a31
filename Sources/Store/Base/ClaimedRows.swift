import Postgres
import Synchronization

/// The rows that a transaction had claimed when it failed over one of them.
///
/// The next try claims half as many, until the faulty row is alone. It is then put aside: otherwise it would stay first
/// in its queue and block everything behind it.
final class ClaimedRows<ID: Sendable>: Sendable {
    private struct Claim {
        var first: ID?
        var fewer: Int?
        var isUrgent = false
    }

    private let claim = Mutex(Claim())

    /// - Parameters:
    ///   - first: the row that comes first in its queue.
    ///   - isUrgent: all of them are transactional.
    func note(_ first: ID, of count: Int = 1, isUrgent: Bool) {
        claim.withLock { $0 = Claim(first: first, fewer: count > 1 ? count / 2 : nil, isUrgent: isUrgent) }
    }

    /// Notes that the claimed row at this place, from 0, can't be read. The rows before it can.
    func noteUnreadable(at place: Int) { claim.withLock { $0.fewer = place > 0 ? place : nil } }

    /// The number of rows for the next try; nil: the first row failed alone.
    var fewer: Int? { claim.withLock { $0.fewer } }

    /// nil: nothing is claimed.
    var first: ID? { claim.withLock { $0.first } }

    /// Whether a locked row is put aside and not waited for any longer. Others lock a broadcast's rows now and then, and
    /// a broadcast may wait. A transactional message would delay others of its kind.
    var isUrgent: Bool { claim.withLock { $0.isUrgent } }
}

/// The longest waits for a row that others have locked. Without one, a statement waits as long as it may run.
enum LockTimeout {
    /// For rows that share a transaction: the others wait as long.
    static let brief: Duration = .milliseconds(500)
    /// For the tries after such a wait. They only find out which row is locked.
    static let afterBrief: Duration = .milliseconds(20)
}

/// The reason why a transaction over several rows failed.
package struct GroupFault: Error {
    package let fault: StoreFault
    /// True: each of the rows alone may pass.
    package let isOverARow: Bool

    init(_ error: PostgresError) {
        fault = StoreFault(error)
        isOverARow = fault.isAboutTheRow || error.sqlState == .lockNotAvailable
    }

    /// Another transaction has locked a row for longer than this one waited.
    var isLocked: Bool { isOverARow && fault == .contended }

    /// The time for which the row that failed alone is put aside.
    var putAsideFor: Duration { isLocked ? .seconds(1) : .seconds(60) }
}

/// Like `translating`, for work on several rows at once. The fault says whether each of them alone may pass.
package func translatingGroup<Answer>(
    _ body: () async throws(PostgresError) -> Answer
) async throws(GroupFault) -> Answer {
    do { return try await body() } catch { throw GroupFault(error) }
}

extension StoreFault {
    var isAboutTheRow: Bool {
        switch self {
        case .conflict, .invalid, .damaged: true
        case .unavailable, .impaired, .contended, .commitUnknown, .unknownApp, .unsuited, .cancelled: false
        }
    }

    /// The same fault with the row's name in it, for the operator.
    func about(_ row: String) -> StoreFault {
        switch self {
        case .damaged(let place): .damaged("\(row): \(place)")
        case .invalid(let constraint), .conflict(.other(let constraint)): .damaged("\(row): constraint \(constraint)")
        case .conflict(.slugTaken), .conflict(.keyNameTaken), .unavailable, .impaired, .contended, .commitUnknown,
            .unknownApp, .unsuited, .cancelled:
            self
        }
    }
}
