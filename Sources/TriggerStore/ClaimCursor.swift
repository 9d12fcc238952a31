import Synchronization

/// Where this process's next claim of due rows begins, and how many it takes.
///
/// A round that fails again and again does not stop other apps: the next claim begins with the next app, and takes one
/// row. Each round that succeeds doubles that.
final class ClaimCursor: Sendable {
    /// No run claims more rows.
    private static let limitMax = 1_024

    private let last = Atomic<Int64>(0)
    private let size = Atomic<Int>(ClaimCursor.limitMax)

    /// The app after which the next claim begins.
    var app: Int64 {
        get { last.load(ordering: .relaxed) }
        set { last.store(newValue, ordering: .relaxed) }
    }

    /// The most rows of the next claim.
    var limit: Int { size.load(ordering: .relaxed) }

    func succeeded() { size.store(min(2 * limit, Self.limitMax), ordering: .relaxed) }

    func failed() { size.store(1, ordering: .relaxed) }
}
