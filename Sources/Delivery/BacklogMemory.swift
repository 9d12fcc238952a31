import PushModel
import Reactor
import Synchronization

/// How many unfinished messages each app has, as it was counted a moment ago and has been added to since.
///
/// Counting reads a row for each of them, which takes longer than accepting one. What other processes accept meanwhile is
/// overlooked for that moment, and what has finished is not noticed: where there seems to be no room, it is counted again.
package final class BacklogMemory: Sendable {
    package static let countedFor: Duration = .milliseconds(250)
    /// Apps remembered at once.
    private static let appsMax = 4_096

    private struct Count {
        var open: Int
        let until: MonotonicInstant
    }

    private let backlogMax: Int
    private let counts = Mutex<[AppID: Count]>([:])  // lookup only

    package init(backlogMax: Int) {
        precondition(backlogMax > 0)
        self.backlogMax = backlogMax
    }

    /// Whether there is room for so many more, by what is remembered; they have their places then. False: count.
    package func takesIn(_ count: Int, of app: AppID, now: MonotonicInstant) -> Bool {
        counts.withLock { counts in
            guard let known = counts[app], now < known.until, known.open + count <= backlogMax else { return false }
            counts[app]?.open += count
            return true
        }
    }

    /// Others may have counted at the same time, and have taken places by it.
    ///
    /// - Parameters:
    ///   - counted: what there was.
    ///   - added: what comes in addition.
    package func note(_ counted: Int, adding added: Int, of app: AppID, now: MonotonicInstant) {
        counts.withLock { counts in
            if let known = counts[app], now < known.until, known.open + added <= backlogMax {
                counts[app]?.open = max(known.open, counted) + added
                return
            }
            if counts.count >= Self.appsMax { counts = [:] }
            counts[app] = Count(open: counted + added, until: now + Self.countedFor)
        }
    }
}
