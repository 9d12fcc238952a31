import Model
import Synchronization

/// The number of ids that a slice of each costly audience looks at: as many as fit in `aim`, judged by the slice before
/// it. A filter's cost is unknown in advance: it depends on its conditions and on the registrations.
///
/// Each process has its own sizes. A message that it does not know begins with `first`.
package final class SliceSizes: Sendable {
    /// Other messages wait for the planner, and other transactions for the rows that a slice has locked.
    package static let aim: Duration = .milliseconds(200)
    package static let first = 2_000
    package static let least = 100
    /// The largest growth from one slice to the next.
    package static let growthMax = 10
    private static let messagesMax = 1_024

    private let known = Mutex<[MessageID: Int]>([:])  // lookup only

    package init() {}

    package func ids(of message: MessageID) -> Int { known.withLock { $0[message] ?? Self.first } }

    /// Notes how long a slice with so many ids took.
    package func note(_ time: Duration, for ids: Int, of message: MessageID) {
        let times = time > .zero ? Self.aim / time : Double(Self.growthMax)
        store(Int(Double(ids) * min(times, Double(Self.growthMax))), message)
    }

    /// Notes a slice that failed, maybe because of its size.
    package func noteFailed(_ ids: Int, of message: MessageID) { store(ids / 4, message) }

    private func store(_ ids: Int, _ message: MessageID) {
        known.withLock { known in
            if known.count >= Self.messagesMax, known[message] == nil { known = [:] }
            known[message] = max(Self.least, ids)
        }
    }
}
