import Model
import Synchronization

/// How many ids a slice of each costly audience looks at: as many as the slice before it says can be looked at in the time
/// that `aim` says. What a filter costs, nobody knows before: it depends on what is asked, of which registrations.
///
/// Each process has its own. A message that it knows nothing of begins with few.
package final class SliceSizes: Sendable {
    /// Others wait for the planner, and for the rows that a slice has locked.
    package static let aim: Duration = .milliseconds(200)
    package static let first = 2_000
    package static let least = 100
    /// From one slice to the next.
    package static let growthMax = 10
    private static let messagesMax = 1_024

    private let known = Mutex<[MessageID: Int]>([:])  // lookup only

    package init() {}

    package func ids(of message: MessageID) -> Int { known.withLock { $0[message] ?? Self.first } }

    /// A slice that looked at so many took so long.
    package func note(_ time: Duration, for ids: Int, of message: MessageID) {
        let times = time > .zero ? Self.aim / time : Double(Self.growthMax)
        store(Int(Double(ids) * min(times, Double(Self.growthMax))), message)
    }

    /// It failed, maybe for its size.
    package func noteFailed(_ ids: Int, of message: MessageID) { store(ids / 4, message) }

    private func store(_ ids: Int, _ message: MessageID) {
        known.withLock { known in
            if known.count >= Self.messagesMax, known[message] == nil { known = [:] }
            known[message] = max(Self.least, ids)
        }
    }
}
